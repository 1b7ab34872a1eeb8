"""K-means: a series has weight 1 in the mean that it is nearest to."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

from warplearn._kernels.simd.threads import limits_blas
from warplearn.averaging.methods import check_has_mean, minimize, resolve_method, stepper
from warplearn.averaging.objective import Array, Objective, scaled
from warplearn.averaging.spaces import check_rows, to_kernel, to_public
from warplearn.base import (
    check_fitted_array,
    check_fitted_count,
    check_not_negative,
    check_series,
    check_weights,
)
from warplearn.cluster.centres import (
    Centres,
    check_cluster_count,
    common_length,
    costs_of,
    nearest,
    stacked,
)
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import Band, BandLike, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.registry import choose
from warplearn.series.chunks import mapped, shuffled
from warplearn.series.collection import SeriesCollection
from warplearn.series.symbols import Alphabet, is_symbolic


class _Run(NamedTuple):
    """The result of one run: its centres, and the inertia before each iteration or pass."""

    centres: Array
    n_iter: int
    history: list[float]


@with_parameters_of(Centres)
@dataclass(repr=False, eq=False)
class ElasticKMeans(Centres):
    """K-means under dynamic time warping, or in the paper's matrix space.

    Parameters
    ----------
    n_clusters : int, default=3
        The number of clusters.
    init : {"k-means++", "random"} or series collection, default="k-means++"
        How to choose the first centres: series drawn with a probability that grows with the
        summed costs to those already drawn, series drawn at random, or the given ones.
    n_init : int, default=1
        Runs from different starts, of which the best is kept.
    max_iter : int, default=50
        Assignments of all series, or passes over the batches.
    tol : float, default=1e-6
        Stop when the relative decrease of the inertia is no greater.
    method : {"auto", "dba", "descent", "gradient", "stochastic"} or a method, default="auto"
        How means are found (see `ElasticMean`).
    mean_iter : int, default=30
        The most sweeps of the method between two assignments.
    batch_size : int, optional
        Learn from batches of this many series, as `partial_fit` does, instead of all at once.
    random_state : int, RandomState or None
        For the first centres, the order of batches and that of "stochastic".
    verbose : int, default=0
        Print the inertia of each iteration.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, m) or (n_clusters, channels, m)
        In the matrix space (n_clusters, n, m) or (n_clusters, n, m, channels).
    labels_ : array of shape (cases,)
        The nearest centre of each training series.
    inertia_ : float
        Weighted sum of the summed costs of aligning each series with its nearest centre: with the
        squared cost, and all others whose distance is a root, of squared distances, else of
        distances.
    history_ : list of one array
        The inertia before each iteration of the best run or, with a `batch_size`, in each pass.
    n_iter_ : int
        Iterations of the best run.
    n_steps_ : int
        Batches seen by `partial_fit`, or by the last run with a `batch_size`.

    Notes
    -----
    A cluster that loses its last series gets the series farthest from its own centre.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [5.0, 5.0, 4.0], [5.0, 4.0, 4.0]]
    >>> model = ElasticKMeans(2, random_state=0).fit(X)
    >>> model.predict([[0.0, 1.0], [5.0, 4.0]]) == model.labels_[[0, 2]]
    array([ True,  True])
    """

    n_clusters: int = 3
    _: KW_ONLY
    cost: Any = "squared"
    init: Any = "k-means++"
    n_init: int = 1
    max_iter: int = 50
    tol: float = 1e-6
    method: Any = "auto"
    mean_iter: int = 30
    space: str = "series"
    length: int | None = None
    batch_size: int | None = None
    band: BandLike = None
    alphabet: Alphabet | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @limits_blas
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticKMeans:
        """Find the clusters.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        collection = check_series(self, X, reset=True)
        check_cluster_count("n_clusters", self.n_clusters, collection)
        check_scalar(self.n_init, "n_init", (int, np.integer), min_val=1)
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=1)
        check_scalar(self.mean_iter, "mean_iter", (int, np.integer), min_val=0)
        check_not_negative(self, "tol")
        local = self._cost()
        weights = check_weights(collection, sample_weight)
        rng = check_random_state(self.random_state)
        run = self._lloyd if self.batch_size is None else self._batches
        self.n_steps_ = 0
        best = np.inf
        for _ in range(self.n_init):
            centres = self._first_centres(collection, weights, rng)
            result = run(collection, weights, centres, rng)
            band = self._band(collection, result.centres)
            labels, costs = nearest(collection, result.centres, local, band, self.n_jobs)
            inertia = float(weights @ costs)
            if inertia < best or not np.isfinite(best):
                best = inertia
                self.labels_, self.inertia_, self.n_iter_ = labels, inertia, result.n_iter
                self.history_ = [np.array(result.history)]
                self.cluster_centers_ = np.stack([to_public(Y) for Y in result.centres])
        # To `partial_fit` each cell is the mean of as many elements as its cluster has weight.
        sizes = np.bincount(self.labels_, weights, minlength=self.n_clusters)
        self._visits = (np.ones_like(centres[..., :1]).T * sizes).T.astype(centres.dtype)
        return self

    @limits_blas
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticKMeans:
        """Learn from one more batch.

        With the squared cost each cell of a centre stays the mean of all elements that were ever
        aligned with it.  With others it moves by a step whose size falls as one over the weight
        that passed through the cell.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        first = not hasattr(self, "cluster_centers_")
        collection = check_series(self, X, reset=first)
        self._cost()
        weights = check_weights(collection, sample_weight)
        if first:
            check_cluster_count("n_clusters", self.n_clusters, collection)
            rng = check_random_state(self.random_state)
            centres = self._first_centres(collection, weights, rng)
            self._visits, self.n_steps_ = np.zeros_like(centres[..., :1]), 0
        else:
            centres = to_kernel(self.cluster_centers_, self.space, self.n_channels_in_)
            check_rows(collection, self.space, centres.shape[1])
        centres, labels, costs = self._batch(
            collection.astype(centres.dtype), weights, centres, self._visits
        )
        self.n_steps_ += 1
        self.labels_, self.inertia_ = labels, float(weights @ costs)
        self.cluster_centers_ = np.stack([to_public(Y) for Y in centres])
        return self

    def _check_state(self, whole: bool = False) -> None:
        super()._check_state(whole)
        if whole:
            centres = to_kernel(self.cluster_centers_, self.space, self.n_channels_in_)
            visits = check_fitted_array(self, "_visits", centres[..., :1].shape)
            if visits.dtype != centres.dtype or (visits < 0).any():
                raise ValueError("the weights that centres have seen must be at least 0")
            check_fitted_count(self, "n_steps_", 0)

    def _cost(self) -> Any:
        """The local score; one that has means."""
        local, _ = resolve_distance(self.cost)
        check_has_mean(local)
        return local

    def _band(self, X: SeriesCollection, centres: Array) -> Band | None:
        return resolve_band(self.band, X.lengths, np.array([centres.shape[-2]]))

    def _report(self, what: str, number: int, inertia: float) -> None:
        if self.verbose:
            print(f"ElasticKMeans: {what} {number}, inertia {inertia:.6g}", flush=True)

    def _first_centres(
        self, X: SeriesCollection, weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Array:
        length, rows = common_length(X, self.length), X.max_length
        if isinstance(self.init, str):
            seeds = choose(SEEDINGS, self.init, "init")(self, X, weights, rng)
            return stacked(X, seeds, self.space, length, rows)
        alphabet = self.alphabet_ if is_symbolic(self.init) and hasattr(self, "alphabet_") else None
        given = SeriesCollection.of(self.init, name="init", alphabet=alphabet).astype(X.dtype)
        if len(given) != self.n_clusters or given.n_channels != X.n_channels:
            raise ValueError(
                f"init must hold n_clusters={self.n_clusters} series of {X.n_channels} channel(s), "
                f"got {len(given)} of {given.n_channels}"
            )
        length = given.max_length if self.length is None and not given.is_ragged else length
        return stacked(given, range(len(given)), self.space, length, rows)

    def _lloyd(
        self,
        X: SeriesCollection,
        weights: NDArray[np.float64],
        centres: Array,
        rng: np.random.RandomState,
    ) -> _Run:
        """Assign all series, move all centres, and repeat."""
        local = self._cost()
        method = resolve_method(self.method, local)
        band = self._band(X, centres)
        whole = Objective.of(X, weights, local, band, self.n_jobs)
        history: list[float] = []
        for number in range(self.max_iter):
            labels, costs = nearest(X, centres, local, band, self.n_jobs)
            history.append(float(weights @ costs))
            self._report("iteration", number, history[-1])
            # Labels that stay the same do not end it: the means may still have some way to go.
            if self._has_settled(history):
                return _Run(centres, number, history)
            self._fill_empty(labels, weights * costs)
            centres = minimize(
                whole.split(labels, np.eye(self.n_clusters)), centres, method,
                max_iter=self.mean_iter, tol=self.tol, rng=rng,
            ).Y  # fmt: skip
        return _Run(centres, self.max_iter, history)

    def _has_settled(self, history: list[float]) -> bool:
        """Whether the last iteration lowered the inertia by no more than `tol`."""
        return len(history) > 1 and history[-2] - history[-1] <= self.tol * history[-1]

    def _fill_empty(self, labels: NDArray[np.intp], costs: NDArray[np.float64]) -> None:
        """Give each empty cluster the worst placed series of another with more than one."""
        sizes = np.bincount(labels, minlength=self.n_clusters)
        for empty in np.flatnonzero(sizes == 0):
            case = int(np.where(sizes[labels] > 1, costs, -1.0).argmax())
            sizes[labels[case]] -= 1
            sizes[empty] = 1
            labels[case], costs[case] = empty, 0

    def _batch(
        self, X: SeriesCollection, weights: NDArray[np.float64], centres: Array, visits: Array
    ) -> tuple[Array, NDArray[np.intp], Array]:
        """Centres after one batch; `visits`, the weight ever seen by each cell, is added to."""
        local = self._cost()
        band = self._band(X, centres)
        labels, costs = nearest(X, centres, local, band, self.n_jobs)
        objective = Objective.of(X, weights, local, band, self.n_jobs)
        objective = objective.split(labels, np.eye(self.n_clusters))
        at = objective.values_and_forces(centres)
        visits += at.visits
        sizes = stepper(local).sizes(objective, centres, at)
        centres = centres + scaled(at._replace(visits=visits).step(), sizes)
        return centres, labels, costs

    def _batches(
        self,
        X: SeriesCollection,
        weights: NDArray[np.float64],
        centres: Array,
        rng: np.random.RandomState,
    ) -> _Run:
        """Learn from batches in a new order each pass."""
        assert self.batch_size is not None
        check_scalar(self.batch_size, "batch_size", (int, np.integer), min_val=1)
        visits, self.n_steps_ = np.zeros_like(centres[..., :1]), 0
        history: list[float] = []
        for number in range(self.max_iter):
            order, inertia = shuffled(X, np.arange(len(X)), rng), 0.0
            for start in range(0, len(X), self.batch_size):
                batch = np.sort(order[start : start + self.batch_size])
                centres, _, costs = self._batch(X[batch], weights[batch], centres, visits)
                inertia += float(weights[batch] @ costs)
                self.n_steps_ += 1
            history.append(inertia)
            self._report("pass", number, inertia)
            if self._has_settled(history):
                return _Run(centres, number + 1, history)
        return _Run(centres, self.max_iter, history)


def _plus_plus(
    model: ElasticKMeans,
    X: SeriesCollection,
    weights: NDArray[np.float64],
    rng: np.random.RandomState,
) -> list[int]:
    """K-means++: of several candidates, drawn in proportion to their costs, the most useful."""
    local, _ = resolve_distance(model.cost)
    band = resolve_band(model.band, X.lengths, X.lengths)

    def costs_to(cases: Any) -> Array:
        """Summed costs of some series and all of them, in one pass."""
        drawn = X[np.asarray(cases)]
        centres = [drawn.elements(case)[None] for case in range(len(drawn))]
        options = {"cost": local, "band": band, "n_jobs": model.n_jobs}
        return mapped(partial(_costs_to_each, centres=centres, **options), X).T

    trials = 2 + int(np.log(model.n_clusters))
    seeds = [int(rng.choice(len(X), p=weights / weights.sum()))]
    costs = costs_to(seeds)[0]
    while len(seeds) < model.n_clusters:
        mass = np.cumsum(weights * costs)
        if mass[-1] > 0:
            drawn = np.searchsorted(mass, rng.uniform(size=trials) * mass[-1], side="right")
        else:  # every series equals a seed
            drawn = np.setdiff1d(np.arange(len(X)), seeds)[:1]
        candidates = np.minimum(costs_to(drawn), costs)
        best = int((candidates @ weights).argmin())
        seeds.append(int(drawn[best]))
        costs = candidates[best]
    return seeds


def _costs_to_each(some: SeriesCollection, centres: list[Array], **options: Any) -> Array:
    """Summed costs of aligning some series with centres of any lengths."""
    return np.concatenate([costs_of(some, z, **options) for z in centres], axis=1)


def _at_random(
    model: ElasticKMeans,
    X: SeriesCollection,
    weights: NDArray[np.float64],
    rng: np.random.RandomState,
) -> list[int]:
    shares = weights / weights.sum()
    possible = np.count_nonzero(shares) >= model.n_clusters
    drawn = rng.choice(len(X), model.n_clusters, replace=False, p=shares if possible else None)
    return [int(case) for case in drawn]


SEEDINGS = {"k-means++": _plus_plus, "random": _at_random}
