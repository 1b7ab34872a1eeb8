"""The variation of series around a mean, and the direction in which it falls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn.elastic.bands import Band
from warplearn.series.chunks import chunks
from warplearn.series.collection import SeriesCollection

Array: TypeAlias = NDArray[Any]


class ValueAndForce(NamedTuple):
    """The variation at Y, and the direction in which it falls.

    Attributes
    ----------
    variation : float
    force : array of the shape of Y
        Minus half the generalized gradient of the variation; with the squared cost, the sum of
        `w_i (X_i - Y)` over the embedded series X_i.
    visits : array like Y, with one channel
        The weight of the paths through each cell.
    """

    variation: float
    force: Array
    visits: Array

    def step(self) -> Array:
        """The force for each unit of weight, 0 where no path passes.

        With the squared cost, `Y + step` is the mean of the elements aligned with each cell.
        """
        nothing = np.zeros_like(self.force)
        return np.divide(self.force, self.visits, out=nothing, where=self.visits > 0)


class Objective(NamedTuple):
    """The variation of weighted series, as a function of Y in the kernels' form.

    Y has shape (m, channels) or (n, m, channels).  Series of weight 0 take no time.

    Attributes
    ----------
    X : SeriesCollection
    weights : array (cases,)
    cost : local score
    band : Band or None
    n_jobs : int or None
    """

    X: SeriesCollection
    weights: NDArray[np.float64]
    cost: Any
    band: Band | None = None
    n_jobs: int | None = None

    def value(self, Y: Array) -> float:
        """The variation."""
        return sum(
            -float(self.weights[cases] @ self._evaluate(cases, Y).values[:, 0])
            for cases in self._chunks()
        )

    def value_and_force(self, Y: Array) -> ValueAndForce:
        """The variation, and the direction in which it falls."""
        variation, force, visits = 0.0, np.zeros_like(Y), np.zeros_like(Y[..., :1])
        for cases in self._chunks():
            weights = self.weights[cases]
            result = self._evaluate(
                cases, Y, upstream=weights[:, None], want_matrix=True, want_visits=True
            )
            assert result.matrix_gradient is not None
            assert result.visits is not None
            variation -= float(weights @ result.values[:, 0])
            force += result.matrix_gradient[0] / 2  # of -(x - y)^2 the derivative is 2 (x - y)
            visits += result.visits[0][..., None]
        return ValueAndForce(variation, force, visits)

    def _chunks(self) -> Iterator[Any]:
        return chunks(self.X, np.flatnonzero(self.weights))

    def _evaluate(self, cases: Any, Y: Array, **wanted: Any) -> Any:
        some = self.X[cases]
        return evaluate(
            self.cost, some.values, some.lengths, Y[None],
            band=self.band, n_jobs=self.n_jobs, **wanted,
        )  # fmt: skip
