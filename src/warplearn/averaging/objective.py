"""The variation of series around a mean, and the direction in which it falls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn.elastic.bands import Band
from warplearn.series.chunks import total
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
        evaluated = self._evaluation()

        def variation(some: SeriesCollection, weights: NDArray[np.float64]) -> float:
            return -float(weights @ evaluated(some, Y).values[:, 0])

        return self._total(variation, 0.0)

    def value_and_force(self, Y: Array) -> ValueAndForce:
        """The variation, and the direction in which it falls."""
        evaluated = self._evaluation()

        def of(some: SeriesCollection, weights: NDArray[np.float64]) -> ValueAndForce:
            result = evaluated(
                some, Y, upstream=weights[:, None], want_matrix=True, want_visits=True
            )
            return ValueAndForce(
                -float(weights @ result.values[:, 0]),
                result.matrix_gradient[0] / 2,  # of -(x - y)^2 the derivative is 2 (x - y)
                result.visits[0][..., None],
            )

        return self._total(of, ValueAndForce(0.0, np.zeros_like(Y), np.zeros_like(Y[..., :1])))

    def _total(self, function: Callable[..., Any], nothing: Any) -> Any:
        """The sum of a function of series and weights, over the series whose weight is not 0."""
        cases = np.flatnonzero(self.weights)
        return total(function, self.X, self.weights, cases=cases) if len(cases) else nothing

    def _evaluation(self) -> Callable[..., Any]:
        """A function of some series and of Y; it travels without the series and weights."""
        cost, band, n_jobs = self.cost, self.band, self.n_jobs

        def evaluated(some: SeriesCollection, Y: Array, **wanted: Any) -> Any:
            values = some.astype(Y.dtype).values
            return evaluate(cost, values, some.lengths, Y[None], band=band, n_jobs=n_jobs, **wanted)

        return evaluated
