"""Clusters and maps of series: k-means, self-organizing maps, agglomerative clustering.

All three are built on the weighted mean (`warplearn.mean`), as section 3.5 of the paper says they
should be: k-means gives a series weight 1 in the mean it is nearest to, a self-organizing map
also some in the neighbours of that, and agglomerative clustering takes means of what it merged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drive import evaluate
from warplearn._kernels.local import Squared
from warplearn.bands import Band, check_band
from warplearn.base import check_series, check_weights
from warplearn.mean import (
    METHODS,
    SPACES,
    Array,
    Objective,
    averaged,
    check_rows,
    chunks,
    first_mean,
    hidden,
    minimize,
    named,
    resampled,
    shown,
)
from warplearn.series import SeriesCollection
from warplearn.warping import pairwise_dtw

__all__ = ["ElasticAgglomerative", "ElasticKMeans", "ElasticSOM"]


# Series and centres.  Centres are stacked in the kernels' form: (u, m, channels) or, in the matrix
# space, (u, n, m, channels).


def squared_distances(
    X: SeriesCollection, centres: Array, radius: float | None, n_jobs: int | None
) -> Array:
    """Squared elastic distances of all series to all centres."""
    found = np.empty((len(X), len(centres)), X.dtype)
    for cases in chunks(X):
        part = X[cases]
        scores = evaluate(
            Squared(), part.values, part.lengths, centres, radius=radius, n_jobs=n_jobs
        ).values
        np.negative(scores, out=found[cases])
    return found


def nearest(
    X: SeriesCollection, centres: Array, radius: float | None, n_jobs: int | None
) -> tuple[NDArray[np.intp], Array]:
    """The nearest centre of each series, the first of equals, and the squared distance to it."""
    labels, costs = np.empty(len(X), np.intp), np.empty(len(X), X.dtype)
    for cases in chunks(X):
        to_all = squared_distances(X[cases], centres, radius, n_jobs)
        labels[cases] = to_all.argmin(axis=1)
        costs[cases] = to_all[np.arange(len(to_all)), labels[cases]]
    return labels, costs


def common_length(X: SeriesCollection, length: int | None) -> int:
    """The length of centres: as given, else the mean length of the series, rounded."""
    if length is None:
        return round(float(X.lengths.mean()))
    check_scalar(length, "length", (int, np.integer), min_val=1)
    return int(length)


def _stacked(series: list[Array], X: SeriesCollection, space: str, length: int) -> Array:
    """Series made centres of one length."""
    lift = named(SPACES, space, "space")
    return np.stack([lift(resampled(z, length), X.max_length) for z in series])


def check_count(name: str, wanted: int, X: SeriesCollection) -> None:
    """There are no more clusters than series."""
    check_scalar(wanted, name, (int, np.integer), min_val=1)
    if wanted > len(X):
        raise ValueError(f"{name} must be at most n_samples={len(X)}, got {wanted}")


def centres_and_series(
    estimator: Any, centres: Array, X: Any
) -> tuple[Array, SeriesCollection, float | None]:
    """The centres of a fitted estimator and new series in the kernels' form, and its radius."""
    collection = check_series(estimator, X, reset=False)
    centres = hidden(centres, estimator.space, estimator.n_channels_in_)
    check_rows(collection, estimator.space, centres.shape[1])
    radius = check_band(estimator.band, collection.lengths, np.array([centres.shape[-2]]))
    return centres, collection.astype(centres.dtype), radius


class _Centres(ClusterMixin, TransformerMixin, BaseEstimator):
    """What fitted centres are good for; subclasses set `cluster_centers_` in `fit`."""

    cluster_centers_: Array
    n_jobs: int | None

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The nearest centre of each series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        check_is_fitted(self)
        centres, collection, radius = centres_and_series(self, self.cluster_centers_, X)
        return nearest(collection, centres, radius, self.n_jobs)[0]

    def transform(self, X: Any) -> Array:
        """Elastic distances of each series to all centres.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, centres)
        """
        check_is_fitted(self)
        centres, collection, radius = centres_and_series(self, self.cluster_centers_, X)
        found = squared_distances(collection, centres, radius, self.n_jobs)
        return np.sqrt(found, out=found)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


class ElasticKMeans(_Centres):
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
        band: Band = None,
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
            radius = self._radius(collection, centres)
            labels, costs = nearest(collection, centres, radius, self.n_jobs)
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

    def _radius(self, X: SeriesCollection, centres: Array) -> float | None:
        return check_band(self.band, X.lengths, np.array([centres.shape[-2]]))

    def _report(self, what: str, number: int, inertia: float) -> None:
        if self.verbose:
            print(f"ElasticKMeans: {what} {number}, inertia {inertia:.6g}", flush=True)

    def _first_centres(
        self, X: SeriesCollection, weights: NDArray[np.float64], rng: np.random.RandomState
    ) -> Array:
        length = common_length(X, self.length)
        if isinstance(self.init, str):
            seeds = named(SEEDINGS, self.init, "init")(self, X, weights, rng)
            return _stacked([X[case] for case in seeds], X, self.space, length)
        given = SeriesCollection.of(self.init, name="init").astype(X.dtype)
        if len(given) != self.n_clusters or given.n_channels != X.n_channels:
            raise ValueError(
                f"init must hold n_clusters={self.n_clusters} series of {X.n_channels} channel(s), "
                f"got {len(given)} of {given.n_channels}"
            )
        length = given.max_length if self.length is None and not given.is_ragged else length
        return _stacked(list(given), X, self.space, length)

    def _lloyd(
        self,
        X: SeriesCollection,
        weights: NDArray[np.float64],
        centres: Array,
        rng: np.random.RandomState,
    ) -> tuple[Array, int]:
        method = named(METHODS, self.method, "method", "sweep")
        radius = self._radius(X, centres)
        before = np.inf
        for number in range(self.max_iter):
            labels, costs = nearest(X, centres, radius, self.n_jobs)
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
                        Objective(X, weights * (labels == c), radius, self.n_jobs), Y, method,
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
        radius = self._radius(X, centres)
        labels, costs = nearest(X, centres, radius, self.n_jobs)
        centres = centres.copy()
        for c in np.unique(labels):
            found = Objective(X, weights * (labels == c), radius, self.n_jobs).pull(centres[c])
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
    radius = check_band(model.band, X.lengths, X.lengths)
    trials = 2 + int(np.log(model.n_clusters))
    seeds = [int(rng.choice(len(X), p=weights / weights.sum()))]
    costs = _costs_to(X, seeds, radius, model.n_jobs)[0]
    while len(seeds) < model.n_clusters:
        mass = np.cumsum(weights * costs)
        if mass[-1] > 0:
            drawn = np.searchsorted(mass, rng.uniform(size=trials) * mass[-1], side="right")
        else:  # every series equals a seed
            drawn = np.setdiff1d(np.arange(len(X)), seeds)[:1]
        candidates = np.minimum(_costs_to(X, list(drawn), radius, model.n_jobs), costs)
        best = int((candidates @ weights).argmin())
        seeds.append(int(drawn[best]))
        costs = candidates[best]
    return seeds


def _costs_to(
    X: SeriesCollection, cases: list[int], radius: float | None, n_jobs: int | None
) -> Array:
    """Squared distances of all series to some of them; of any lengths, so one at a time."""
    return np.stack([squared_distances(X, X[case][None], radius, n_jobs)[:, 0] for case in cases])


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


class ElasticSOM(_Centres):
    """Self-organizing map under dynamic time warping: batch learning on a rectangular grid.

    Each unit becomes the mean of all series, weighted by how near the unit is, on the grid, to
    the unit that fits the series best.  The neighbourhood is a Gaussian whose width shrinks
    geometrically from `width` to `final_width` over the epochs.

    Parameters
    ----------
    grid : pair of int, default=(3, 3)
        Rows and columns of units.
    max_iter : int, default=10
        Epochs.
    width : float, optional
        Of the neighbourhood at the start; by default half the longer side of the grid.
    final_width : float, default=0.3
        Of the neighbourhood at the end.
    space, length, band, random_state, n_jobs, verbose
        As for `ElasticKMeans`.

    Attributes
    ----------
    cluster_centers_ : array of shape (units, m) or (units, channels, m)
        Units row by row.
    labels_ : array of shape (cases,)
        The best unit of each training series.
    quantization_error_ : float
        Mean distance to the best unit.
    topographic_error_ : float
        Share of the series whose best and second best unit are no neighbours, diagonals included.
    n_iter_ : int
    """

    def __init__(
        self,
        grid: tuple[int, int] = (3, 3),
        *,
        max_iter: int = 10,
        width: float | None = None,
        final_width: float = 0.3,
        space: str = "series",
        length: int | None = None,
        band: Band = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.grid = grid
        self.max_iter = max_iter
        self.width = width
        self.final_width = final_width
        self.space = space
        self.length = length
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticSOM:
        """Learn the map.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        collection = check_series(self, X, reset=True)
        weights = check_weights(collection, sample_weight)
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=1)
        number = (int, float)
        check_scalar(self.final_width, "final_width", number, min_val=1e-3)
        apart = self._apart()
        width = max(self.grid) / 2 if self.width is None else self.width
        check_scalar(width, "width", number, min_val=self.final_width)
        rng = check_random_state(self.random_state)
        length = common_length(collection, self.length)
        seeds = rng.choice(len(collection), len(apart), p=weights / weights.sum())
        centres = _stacked([collection[case] for case in seeds], collection, self.space, length)
        radius = check_band(self.band, collection.lengths, np.array([length]))
        whole = Objective(collection, weights, radius, self.n_jobs)
        for epoch in range(self.max_iter):
            best, costs = nearest(collection, centres, radius, self.n_jobs)
            if self.verbose:
                error = np.sqrt(costs).mean()
                print(f"ElasticSOM: epoch {epoch}, quantization error {error:.6g}", flush=True)
            shrunk = width * (self.final_width / width) ** (epoch / max(1, self.max_iter - 1))
            near = np.exp(-(apart**2).sum(axis=2) / (2 * shrunk**2))
            near[near < 1e-3] = 0  # a series without weight costs nothing
            centres = np.stack(
                [
                    Y + averaged(whole._replace(weights=weights * h[best]).pull(Y))
                    for Y, h in zip(centres, near, strict=True)
                ]
            )
        self.cluster_centers_ = np.stack([shown(Y) for Y in centres])
        self.n_iter_ = self.max_iter
        self.labels_, costs = nearest(collection, centres, radius, self.n_jobs)
        self.quantization_error_ = float(np.sqrt(costs).mean())
        self.topographic_error_ = self.topographic_error(collection)
        return self

    def topographic_error(self, X: Any) -> float:
        """Share of series whose best and second best unit are no neighbours on the grid."""
        two = np.argsort(self.transform(X), axis=1, kind="stable")[:, :2]
        if two.shape[1] < 2:
            return 0.0
        steps = np.abs(self._apart()[two[:, 0], two[:, 1]]).max(axis=1)
        return float((steps > 1).mean())

    def _apart(self) -> NDArray[np.int64]:
        """Steps between any two units, along rows and along columns."""
        if np.shape(self.grid) != (2,) or min(self.grid) < 1:
            raise ValueError(f"grid must be two positive integers, got {self.grid!r}")
        places = np.argwhere(np.ones(self.grid, bool))
        return places[:, None] - places[None]


class ElasticAgglomerative(_Centres):
    """Agglomerative clustering on elastic distances, with means as prototypes: the paper's AHC.

    Parameters
    ----------
    n_clusters : int, default=2
    linkage : str, default="ward"
        Any method of `scipy.cluster.hierarchy.linkage`.
    method, space, length, band, random_state, n_jobs, verbose
        As for `ElasticKMeans`.
    max_iter : int, default=30
        Sweeps for each mean.

    Attributes
    ----------
    labels_ : array of shape (cases,)
        Clusters in the order of their first series.
    cluster_centers_ : array
        The mean of each cluster, started from its medoid.
    linkage_matrix_ : array of shape (cases - 1, 4)
        As SciPy returns it, for instance for its `dendrogram`.
    n_iter_ : int
        The most sweeps of any mean.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        linkage: str = "ward",
        method: Any = "dba",
        max_iter: int = 30,
        space: str = "series",
        length: int | None = None,
        band: Band = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.method = method
        self.max_iter = max_iter
        self.space = space
        self.length = length
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ElasticAgglomerative:
        """Merge the series, cut the tree, and take the means.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        collection = check_series(self, X, reset=True)
        check_count("n_clusters", self.n_clusters, collection)
        method = named(METHODS, self.method, "method", "sweep")
        rng = check_random_state(self.random_state)
        distances = pairwise_dtw(collection, band=self.band, n_jobs=self.n_jobs)
        self._say(f"{len(collection)} x {len(collection)} distances")
        condensed = squareform(distances.astype(np.float64), checks=False)
        self.linkage_matrix_, self.labels_ = np.empty((0, 4)), np.zeros(len(collection), np.intp)
        if len(collection) > 1:
            self.linkage_matrix_ = linkage(condensed, self.linkage)
            self.labels_ = cut_tree(self.linkage_matrix_, self.n_clusters)[:, 0].astype(np.intp)
        length = common_length(collection, self.length)
        radius = check_band(self.band, collection.lengths, np.array([length]))
        centres: list[Array] = []
        self.n_iter_ = 0
        for c in range(self.n_clusters):
            members = (self.labels_ == c).astype(np.float64)
            objective = Objective(collection, members, radius, self.n_jobs)
            Y = first_mean(objective._replace(radius=None), "medoid", self.space, length, rng)
            found = minimize(objective, Y, method, max_iter=self.max_iter, tol=1e-6, rng=rng)
            self._say(f"cluster {c}, {int(members.sum())} series, variation {found.variation:.6g}")
            centres.append(shown(found.Y))
            self.n_iter_ = max(self.n_iter_, len(found.history) - 1)
        self.cluster_centers_ = np.stack(centres)
        return self

    def _say(self, what: str) -> None:
        if self.verbose:
            print(f"ElasticAgglomerative: {what}", flush=True)
