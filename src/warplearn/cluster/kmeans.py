"""K-means: a series has weight 1 in the mean that it is nearest to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, check_scalar

from warplearn.base import check_series, check_weights
from warplearn.cluster.centres import (
    Centres,
    check_count,
    common_length,
    nearest,
    squared_distances,
    stacked,
)
from warplearn.elastic.bands import Band, BandLike, resolve_band
from warplearn.mean import (
    METHODS,
    Array,
    Objective,
    averaged,
    check_rows,
    hidden,
    minimize,
    named,
    shown,
)
from warplearn.series.collection import SeriesCollection


class ElasticKMeans(Centres):
    """K-means under dynamic time warping, or in the paper's matrix space.

    Parameters
    ----------
    n_clusters : int, default=3
    init : {"k-means++", "random"} or series collection, default="k-means++"
        How to choose the first centres: series drawn with a probability that grows with the
        squared distance to those already drawn, series drawn at random, or the given ones.
    n_init : int, default=1
        Runs from different starts, of which the best is kept.
    max_iter : int, default=50
        Assignments of all series, or passes over the batches.
    tol : float, default=1e-6
        Stop when the inertia falls by no more than this part of it.
    method : {"dba", "gradient", "stochastic"} or a method, default="dba"
        How means are found (see `elastic_mean`).
    mean_iter : int, default=30
        The most sweeps of the method between two assignments.
    space : {"series", "matrix"}, default="series"
    length : int, optional
        Length of the centres; by default the mean length of the training series.
    batch_size : int, optional
        Learn from batches of this many series, as `partial_fit` does, instead of all at once.
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.
    verbose : int, default=0
        Print the inertia of each iteration.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, m) or (n_clusters, channels, m)
        In the matrix space (n_clusters, n, m) or (n_clusters, n, m, channels).
    labels_ : array of shape (cases,)
    inertia_ : float
        Weighted sum of squared distances to the nearest centre.
    n_iter_ : int
    n_steps_ : int
        Batches seen by `partial_fit`, or by the last run with a `batch_size`.

    Notes
    -----
    A cluster that loses its last series gets the series farthest from its own centre.
    """

    def __init__(
        self,
        n_clusters: int = 3,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 50,
        tol: float = 1e-6,
        method: Any = "dba",
        mean_iter: int = 30,
        space: str = "series",
        length: int | None = None,
        batch_size: int | None = None,
        band: BandLike = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.method = method
        self.mean_iter = mean_iter
        self.space = space
        self.length = length
        self.batch_size = batch_size
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticKMeans:
        """Find the clusters.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        collection = check_series(self, X, reset=True)
        check_count("n_clusters", self.n_clusters, collection)
        check_scalar(self.n_init, "n_init", (int, np.integer), min_val=1)
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=1)
        weights = check_weights(collection, sample_weight)
        rng = check_random_state(self.random_state)
        run = self._lloyd if self.batch_size is None else self._batches
        self.n_steps_ = 0
        best = np.inf
        for _ in range(self.n_init):
            centres = self._first_centres(collection, weights, rng)
            centres, n_iter = run(collection, weights, centres, rng)
            band = self._band(collection, centres)
            labels, costs = nearest(collection, centres, band, self.n_jobs)
            inertia = float(weights @ costs)
            if inertia < best or not np.isfinite(best):
                best = inertia
                self.labels_, self.inertia_, self.n_iter_ = labels, inertia, n_iter
                self.cluster_centers_ = np.stack([shown(Y) for Y in centres])
        # To `partial_fit` each cell is the mean of as many elements as its cluster has weight.
        sizes = np.bincount(self.labels_, weights, minlength=self.n_clusters)
        self._visits = (np.ones_like(centres[..., :1]).T * sizes).T.astype(centres.dtype)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticKMeans:
        """Learn from one more batch.

        Each cell of a centre stays the mean of everything that was ever aligned with it.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        first = not hasattr(self, "cluster_centers_")
        collection = check_series(self, X, reset=first)
        weights = check_weights(collection, sample_weight)
        if first:
            check_count("n_clusters", self.n_clusters, collection)
            rng = check_random_state(self.random_state)
            centres = self._first_centres(collection, weights, rng)
            self._visits, self.n_steps_ = np.zeros_like(centres[..., :1]), 0
        else:
            centres = hidden(self.cluster_centers_, self.space, self.n_channels_in_)
            check_rows(collection, self.space, centres.shape[1])
        centres, labels, costs = self._batch(
            collection.astype(centres.dtype), weights, centres, self._visits
        )
        self.n_steps_ += 1
        self.labels_, self.inertia_ = labels, float(weights @ costs)
        self.cluster_centers_ = np.stack([shown(Y) for Y in centres])
        return self

    def _band(self, X: SeriesCollection, centres: Array) -> Band | None:
        return resolve_band(self.band, X.lengths, np.array([centres.shape[-2]]))

    def _report(self, what: str, number: int, inertia: float) -> None:
        if self.verbose:
            print(f"ElasticKMeans: {what} {number}, inertia {inertia:.6g}", flush=True)

    def _first_centres(
        self, X: SeriesCollection, weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Array:
        length = common_length(X, self.length)
        if isinstance(self.init, str):
            seeds = named(SEEDINGS, self.init, "init")(self, X, weights, rng)
            return stacked([X[case] for case in seeds], X, self.space, length)
        given = SeriesCollection.of(self.init, name="init").astype(X.dtype)
        if len(given) != self.n_clusters or given.n_channels != X.n_channels:
            raise ValueError(
                f"init must hold n_clusters={self.n_clusters} series of {X.n_channels} channel(s), "
                f"got {len(given)} of {given.n_channels}"
            )
        length = given.max_length if self.length is None and not given.is_ragged else length
        return stacked(list(given), X, self.space, length)

    def _lloyd(
        self,
        X: SeriesCollection,
        weights: NDArray[np.float64],
        centres: Array,
        rng: np.random.RandomState,
    ) -> tuple[Array, int]:
        method = named(METHODS, self.method, "method", "sweep")
        band = self._band(X, centres)
        before = np.inf
        for number in range(self.max_iter):
            labels, costs = nearest(X, centres, band, self.n_jobs)
            inertia = float(weights @ costs)
            self._report("iteration", number, inertia)
            # Labels that stay the same do not end it: the means may still have some way to go.
            if before - inertia <= self.tol * inertia:
                return centres, number
            before = inertia
            self._fill_empty(labels, weights * costs)
            centres = np.stack(
                [
                    minimize(
                        Objective(X, weights * (labels == c), band, self.n_jobs), Y, method,
                        max_iter=self.mean_iter, tol=self.tol, rng=rng,
                    ).Y
                    for c, Y in enumerate(centres)
                ]
            )  # fmt: skip
        return centres, self.max_iter

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
        band = self._band(X, centres)
        labels, costs = nearest(X, centres, band, self.n_jobs)
        centres = centres.copy()
        for c in np.unique(labels):
            found = Objective(X, weights * (labels == c), band, self.n_jobs).pull(centres[c])
            visits[c] += found.visits
            centres[c] += averaged(found._replace(visits=visits[c]))
        return centres, labels, costs

    def _batches(
        self,
        X: SeriesCollection,
        weights: NDArray[np.float64],
        centres: Array,
        rng: np.random.RandomState,
    ) -> tuple[Array, int]:
        assert self.batch_size is not None
        check_scalar(self.batch_size, "batch_size", (int, np.integer), min_val=1)
        visits, self.n_steps_ = np.zeros_like(centres[..., :1]), 0
        before = np.inf
        for number in range(self.max_iter):
            order, inertia = rng.permutation(len(X)), 0.0
            for start in range(0, len(X), self.batch_size):
                batch = np.sort(order[start : start + self.batch_size])
                centres, _, costs = self._batch(X[batch], weights[batch], centres, visits)
                inertia += float(weights[batch] @ costs)
                self.n_steps_ += 1
            self._report("pass", number, inertia)
            if before - inertia <= self.tol * inertia:
                return centres, number + 1
            before = inertia
        return centres, self.max_iter


def _plus_plus(
    model: ElasticKMeans,
    X: SeriesCollection,
    weights: NDArray[np.float64],
    rng: np.random.RandomState,
) -> list[int]:
    """K-means++: of several candidates, drawn in proportion to what they cost, the most useful."""
    band = resolve_band(model.band, X.lengths, X.lengths)
    trials = 2 + int(np.log(model.n_clusters))
    seeds = [int(rng.choice(len(X), p=weights / weights.sum()))]
    costs = _costs_to(X, seeds, band, model.n_jobs)[0]
    while len(seeds) < model.n_clusters:
        mass = np.cumsum(weights * costs)
        if mass[-1] > 0:
            drawn = np.searchsorted(mass, rng.uniform(size=trials) * mass[-1], side="right")
        else:  # every series equals a seed
            drawn = np.setdiff1d(np.arange(len(X)), seeds)[:1]
        candidates = np.minimum(_costs_to(X, list(drawn), band, model.n_jobs), costs)
        best = int((candidates @ weights).argmin())
        seeds.append(int(drawn[best]))
        costs = candidates[best]
    return seeds


def _costs_to(
    X: SeriesCollection, cases: list[int], band: Band | None, n_jobs: int | None
) -> Array:
    """Squared distances of all series to some of them; of any lengths, so one at a time."""
    return np.stack([squared_distances(X, X[case][None], band, n_jobs)[:, 0] for case in cases])


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
