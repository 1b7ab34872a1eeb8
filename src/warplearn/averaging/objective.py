"""The variations of series around means, and the directions in which they fall."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import Evaluation, evaluate
from warplearn.elastic.bands import Band
from warplearn.series.chunks import placed, total
from warplearn.series.collection import SeriesCollection

Array: TypeAlias = NDArray[Any]
Weights: TypeAlias = NDArray[np.float64]


def scaled(arrays: Array, factors: Array) -> Array:
    """Each of some stacked arrays times its factor, in their dtype."""
    return arrays * factors.astype(arrays.dtype).reshape(-1, *(1,) * (arrays.ndim - 1))


class ValueAndForce(NamedTuple):
    """The variation at each of the stacked means Y, and the direction in which it falls.

    Attributes
    ----------
    variations : array (means,)
    force : array of the shape of Y
        Minus half the generalized gradient of the variation; with the squared cost, the sum of
        `w_i (X_i - Y)` over the embedded series X_i.
    visits : array like Y, with one channel
        The weight of the paths through each cell.
    """

    variations: NDArray[np.float64]
    force: Array
    visits: Array

    @classmethod
    def nothing(cls, Y: Array) -> ValueAndForce:
        """That of no series."""
        return cls(np.zeros(len(Y)), np.zeros_like(Y), np.zeros_like(Y[..., :1]))

    def step(self) -> Array:
        """The force for each unit of weight, 0 where no path passes.

        With the squared cost, `Y + step` is the mean of the elements aligned with each cell.
        """
        nothing = np.zeros_like(self.force)
        return np.divide(self.force, self.visits, out=nothing, where=self.visits > 0)


class _Around(NamedTuple):
    """Functions of some series, their weights and labels; they travel without all the others."""

    Y: Array
    shares: Weights
    cost: Any
    band: Band | None
    n_jobs: int | None

    def values(self, some: SeriesCollection, weights: Weights, labels: Array) -> Weights:
        variations = np.zeros(len(self.Y))
        for mean, own, series in self._of_each(some, weights, labels):
            variations[mean] = -float(own @ self._evaluate(mean, series).values[:, 0])
        return variations

    def forces(self, some: SeriesCollection, weights: Weights, labels: Array) -> ValueAndForce:
        at = ValueAndForce.nothing(self.Y)
        for mean, own, series in self._of_each(some, weights, labels):
            result = self._evaluate(
                mean, series, upstream=own[:, None], want_matrix=True, want_visits=True
            )
            at.variations[mean] = -float(own @ result.values[:, 0])
            at.force[mean] = result.matrix_gradient[0] / 2  # -(x - y)^2 has derivative 2 (x - y)
            at.visits[mean] = result.visits[0][..., None]
        return at

    def _of_each(
        self, some: SeriesCollection, weights: Weights, labels: Array
    ) -> Iterator[tuple[int, Weights, SeriesCollection]]:
        """The means that have weight here, with the series that give it."""
        for mean, shares in enumerate(self.shares):
            own = weights * shares[labels]
            count = np.count_nonzero(own)
            if count == len(own) > 0:
                yield mean, own, some
            elif count:
                cases = np.flatnonzero(own)
                yield mean, own[cases], some[cases]

    def _evaluate(self, mean: int, some: SeriesCollection, **wanted: Any) -> Evaluation:
        Y, cost, band, n_jobs = self.Y[mean, None], self.cost, self.band, self.n_jobs
        values = some.astype(Y.dtype).values
        return evaluate(cost, values, some.lengths, Y, band=band, n_jobs=n_jobs, **wanted)


class Objective(NamedTuple):
    """The variations of weighted series, as functions of stacked means Y in the kernels' form.

    Y has shape (means, m, channels) or (means, n, m, channels).  A series i has the weight
    `weights[i] * shares[u, labels[i]]` in mean u.  One pass over the series serves all means;
    series without weight take no time.

    Attributes
    ----------
    X : SeriesCollection
    weights : array (cases,)
    labels : array of int (cases,)
    shares : array (means, labels)
    columns : tuple
        Weights and labels, as passes over the series take them.
    cost : local score
    band : Band or None
    n_jobs : int or None
    """

    X: SeriesCollection
    weights: Weights
    labels: Array
    shares: Weights
    columns: tuple[Any, Any]
    cost: Any
    band: Band | None
    n_jobs: int | None

    @classmethod
    def of(
        cls,
        X: SeriesCollection,
        weights: Weights,
        cost: Any,
        band: Band | None = None,
        n_jobs: int | None = None,
    ) -> Objective:
        """That of a single mean of all series."""
        labels = np.zeros(len(X), np.uint8)
        columns = placed(X, weights), placed(X, labels)
        return cls(X, weights, labels, np.ones((1, 1)), columns, cost, band, n_jobs)

    def split(self, labels: NDArray[np.intp], shares: Weights) -> Objective:
        """That of several means, in each of which a label has a share."""
        labels = labels.astype(np.min_scalar_type(shares.shape[1]))
        columns = self.columns[0], placed(self.X, labels)
        return self._replace(labels=labels, shares=shares, columns=columns)

    def among(self, means: Array) -> Objective:
        """That of some of the means only."""
        return self._replace(shares=self.shares[means])

    def weights_in(self, mean: int) -> Weights:
        """The weights of all series in one of the means."""
        return self.weights * self.shares[mean, self.labels]

    def sums(self) -> Weights:
        """The sum of the weights in each mean."""
        of_labels = np.bincount(self.labels, self.weights, minlength=self.shares.shape[1])
        return np.asarray(self.shares @ of_labels)

    def values(self, Y: Array) -> Weights:
        """The variation at each mean."""
        found: Weights = self._total(self._around(Y).values)
        return found

    def values_and_forces(self, Y: Array) -> ValueAndForce:
        """The variation at each mean, and the direction in which it falls."""
        found: ValueAndForce = self._total(self._around(Y).forces)
        return found

    def _around(self, Y: Array) -> _Around:
        return _Around(Y, self.shares, self.cost, self.band, self.n_jobs)

    def _total(self, function: Callable[..., Any]) -> Any:
        """The sum of a function of series, weights and labels, over the series with weight."""
        if self.X.engine is not None:  # workers see for themselves which series have weight
            return total(function, self.X, *self.columns)
        if len(self.X) == 1:  # as in stochastic steps, of which there are many
            return function(self.X, self.weights, self.labels)
        used: NDArray[np.bool_] = np.any(self.shares, axis=0)
        cases = np.flatnonzero(self.weights * used[self.labels])
        if self.X.in_memory and len(used) > 1:  # a chunk then has the series of few means
            cases = cases[np.argsort(self.labels[cases], kind="stable")]
        if not len(cases):
            return function(self.X[:0], self.weights[:0], self.labels[:0])
        return total(function, self.X, *self.columns, cases=cases)
