"""Nearest neighbours under dynamic time warping: exact, most distances never computed.

With the squared cost, a kernel (`_kernels.drivers.nearest`) sorts candidates by a lower bound,
computes them in lanes, and abandons a block of lanes once none of them can be among the nearest any
more.  With other costs all distances are computed, a few queries at a time.  In both cases results
are those of all distances sorted; of equal distances, the smaller index comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_scalar
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from warplearn._kernels.drivers.nearest import nearest
from warplearn._kernels.recursion.local import Squared
from warplearn.averaging.objective import Array
from warplearn.base import check_labels, check_series
from warplearn.elastic.bands import Band, BandLike, cells_of_grids, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.elastic.warping import pairwise_dtw_blocks
from warplearn.registry import choose
from warplearn.series.chunks import chunks
from warplearn.series.collection import SeriesCollection, common_dtype
from warplearn.series.symbols import Alphabet

__all__ = [
    "DTWNeighborsClassifier",
    "DTWNeighborsRegressor",
    "NearestNeighbors",
    "nearest_neighbors",
]

Bands: TypeAlias = BandLike | Sequence[BandLike]


class NearestNeighbors(NamedTuple):
    """Neighbours, and how many cells were computed to find them.

    Attributes
    ----------
    distances, indices : arrays of shape (queries, k)
        The nearest first; of equals, the one with the smaller index.
    cells_computed, cells_avoided : int
        Cells of the grids of all pairs (inside the band) that were computed, and that were not.
    """

    distances: Array
    indices: NDArray[np.int64]
    cells_computed: int
    cells_avoided: int


def nearest_neighbors(
    X: Any,
    queries: Any = None,
    n_neighbors: int = 1,
    band: BandLike = None,
    *,
    cost: Any = "squared",
    alphabet: Alphabet | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> NearestNeighbors:
    """The nearest of the series X to each query, by dynamic time warping.

    Parameters
    ----------
    X : series collection
        Anything `SeriesCollection.of` takes.
    queries : series collection, optional
        By default X itself, where no series is a neighbour of its own.
    n_neighbors : int, default=1
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
    cost : str or local score, default="squared"
        The cost of aligning an element of a query with one of a series of X (see
        `warplearn.elastic.costs`).  With "squared" most distances need not be computed.
    alphabet : Alphabet, optional
        Encodes series of symbols.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int, default=0
        Print how far the search is.

    Returns
    -------
    NearestNeighbors

    Examples
    --------
    >>> result = nearest_neighbors([[0.0, 1.0], [5.0, 5.0]], [[0.0, 0.0, 2.0]])
    >>> result.indices, result.distances
    (array([[0]]), array([[1.]]))
    """
    local, _ = resolve_distance(cost)
    among = SeriesCollection.of(X, alphabet=alphabet)
    asked = among
    if queries is not None:
        asked = SeriesCollection.of(queries, name="queries", alphabet=alphabet)
    if asked.n_channels != among.n_channels:
        raise ValueError(
            f"queries must have {among.n_channels} channel(s), as X has, got {asked.n_channels}"
        )
    check_scalar(n_neighbors, "n_neighbors", (int, np.integer), min_val=1)
    candidates = len(among) - (queries is None)
    if n_neighbors > candidates:
        raise ValueError(
            f"Expected n_neighbors <= n_samples_fit, the {candidates} series there are to choose "
            f"from, but n_neighbors = {n_neighbors}, n_samples_fit = {len(among)}"
        )
    resolved = resolve_band(band, among.lengths, asked.lengths)
    skip = np.arange(len(asked)) if queries is None else np.full(len(asked), -1)
    search = _Search(among, asked, skip, n_neighbors, verbose)
    if isinstance(local, Squared):
        return search.by_bounds(resolved, n_jobs)
    return search.by_all_distances(band, cost, n_jobs)


class _Search(NamedTuple):
    """A search for the nearest of some series to each query.

    Attributes
    ----------
    among, asked : SeriesCollection
        The candidates and the queries.
    skip : array (queries,)
        A series that is no candidate for the query, or -1.
    n_neighbors, verbose : int
    """

    among: SeriesCollection
    asked: SeriesCollection
    skip: NDArray[np.int64]
    n_neighbors: int
    verbose: int

    def by_bounds(self, band: Band | None, n_jobs: int | None) -> NearestNeighbors:
        """With the squared cost: sort candidates by a lower bound, and stop early."""
        dtype = common_dtype(self.among, self.asked)
        among, asked = self.among.astype(dtype), self.asked.astype(dtype)
        blocks, done = [], 0
        for cases in chunks(asked):
            some = asked[cases]
            block = nearest(
                among.values, among.lengths, some.values, some.lengths, self.n_neighbors,
                band=band, skip=self.skip[cases], n_jobs=n_jobs,
            )  # fmt: skip
            blocks.append(block)
            done += len(some)
            self._report(done, block.computed / block.total)
        computed, total = sum(b.computed for b in blocks), sum(b.total for b in blocks)
        return NearestNeighbors(
            np.sqrt(np.concatenate([b.costs for b in blocks])),
            np.concatenate([b.indices for b in blocks]),
            computed,
            total - computed,
        )

    def by_all_distances(self, band: BandLike, cost: Any, n_jobs: int | None) -> NearestNeighbors:
        """With any cost: compute all distances, a few queries at a time, and sort them."""
        distances, indices = [], []
        for rows, block in pairwise_dtw_blocks(self.asked, self.among, band, cost, n_jobs=n_jobs):
            skip = self.skip[rows]
            own = np.flatnonzero(skip >= 0)
            block[own, skip[own]] = np.inf
            order = block.argsort(axis=1, kind="stable")[:, : self.n_neighbors]
            distances.append(np.take_along_axis(block, order, axis=1))
            indices.append(order.astype(np.int64))
            self._report(rows.stop, 1.0)
        resolved = resolve_band(band, self.among.lengths, self.asked.lengths)
        cells = cells_of_grids(self.among.lengths, self.asked.lengths, resolved)
        return NearestNeighbors(np.concatenate(distances), np.concatenate(indices), cells, 0)

    def _report(self, done: int, share: float) -> None:
        if self.verbose:
            of = len(self.asked)
            print(f"nearest_neighbors: {done} of {of} queries, {share:.1%} of the cells")


# Votes


def _uniform(distances: Array) -> Array:
    return np.ones_like(distances)


def _by_distance(distances: Array) -> Array:
    """One over the distance; where some are 0, these alone count."""
    exact = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(exact.any(axis=1, keepdims=True), exact, 1 / distances)


WEIGHTS: dict[str, Callable[[Array], Array]] = {"uniform": _uniform, "distance": _by_distance}


@dataclass(repr=False, eq=False)
class _DTWNeighbors(BaseEstimator):
    """The search and the choice of the band, for both estimators.

    Subclasses say what a vote decides (`_decide`) and how good decisions are (`_quality`).
    """

    n_neighbors: int = 1
    _: KW_ONLY
    cost: Any = "squared"
    weights: Any = "uniform"
    band: Bands = None
    alphabet: Alphabet | None = None
    n_jobs: int | None = None
    verbose: int = 0

    def _decide(self, targets: Array, votes: Array) -> Array:
        raise NotImplementedError

    def _quality(self, targets: Array, decided: Array) -> float:
        raise NotImplementedError

    def _remember(self, X: SeriesCollection, targets: Array) -> None:
        """Keep copies of the series, and choose the band."""
        resolve_distance(self.cost)
        self._values, self._lengths = np.array(X.values), np.array(X.lengths)
        self._targets = targets
        if not isinstance(self.band, (Sequence, np.ndarray)) or isinstance(self.band, str):
            self.band_ = self.band
            return
        if not len(self.band):
            raise ValueError("band must name at least one band to choose from, got none")
        self.loo_scores_ = np.array([self._leave_one_out(band) for band in self.band])
        self.band_ = self.band[int(self.loo_scores_.argmax())]

    def _leave_one_out(self, band: BandLike) -> float:
        self.band_ = band
        decided = self._vote(self.search())
        quality = self._quality(self._targets, decided)
        if self.verbose:
            print(f"{type(self).__name__}: band={band!r}, leave-one-out score {quality:.4f}")
        return quality

    def search(self, X: Any = None, n_neighbors: int | None = None) -> NearestNeighbors:
        """Neighbours of each series, and how many cells were computed to find them.

        Parameters
        ----------
        X : series collection, optional
            By default the training series, where no series is a neighbour of its own.
        n_neighbors : int, optional
            By default that of the estimator.

        Returns
        -------
        NearestNeighbors
        """
        check_is_fitted(self)
        return nearest_neighbors(
            SeriesCollection(self._values, self._lengths),
            None if X is None else check_series(self, X, reset=False),
            self.n_neighbors if n_neighbors is None else n_neighbors,
            self.band_,
            cost=self.cost,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Neighbours of each series.

        Parameters
        ----------
        X, n_neighbors
            As for `search`.
        return_distance : bool, default=True

        Returns
        -------
        (distances, indices), or indices
            Arrays of shape (cases, n_neighbors).
        """
        result = self.search(X, n_neighbors)
        return (result.distances, result.indices) if return_distance else result.indices

    def _votes(self, distances: Array) -> Array:
        if callable(self.weights):
            return np.asarray(self.weights(distances))
        return choose(WEIGHTS, self.weights, "weights")(distances)

    def _vote(self, neighbors: NearestNeighbors) -> Array:
        """The decision for each query."""
        return self._decide(self._targets[neighbors.indices], self._votes(neighbors.distances))


@dataclass(repr=False, eq=False)
class DTWNeighborsClassifier(ClassifierMixin, _DTWNeighbors):
    """Vote of the nearest neighbours; with the defaults the paper's NN+ALL.

    Parameters
    ----------
    n_neighbors : int, default=1
        The number of neighbours that vote.
    cost : str or local score, default="squared"
        The cost of aligning an element of a query with one of a training series (see
        `warplearn.elastic.costs`).  With "squared" most distances need not be computed.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What the vote of a neighbour counts: the same, one over the distance, or whatever a
        function makes of an array of distances.
    band : int, float, str, None, or a sequence of these
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
        Of several, `fit` takes the one with the best leave-one-out score, the first of equals.
    alphabet : Alphabet, optional
        Encodes series of symbols; by default the symbols that `fit` sees, one-hot.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int, default=0
        Print how far a search is.

    Attributes
    ----------
    band_ : int, float, str or None
        The band in use.
    loo_scores_ : array
        Leave-one-out scores of the bands, if there was a choice.
    classes_ : array
        The classes; of classes with as many votes, the first is predicted.
    alphabet_ : Alphabet
        The alphabet in use, if the series are symbols.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [5.0, 5.0, 4.0]]
    >>> DTWNeighborsClassifier().fit(X, ["low", "high"]).predict([[0.0, 1.0, 1.0, 1.0]])
    array(['low'], dtype='<U4')
    """

    def fit(self, X: Any, y: Any) -> DTWNeighborsClassifier:
        """Remember the training series.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        collection = check_series(self, X, reset=True)
        self.classes_, codes = np.unique(check_labels(collection, y), return_inverse=True)
        self._remember(collection, codes)
        return self

    def _shares(self, targets: Array, votes: Array) -> Array:
        counts = np.stack([(votes * (targets == c)).sum(1) for c in range(len(self.classes_))], 1)
        shares: Array = counts / counts.sum(axis=1, keepdims=True)
        return shares

    def _decide(self, targets: Array, votes: Array) -> Array:
        codes: Array = self._shares(targets, votes).argmax(axis=1)
        return codes

    def _quality(self, targets: Array, decided: Array) -> float:
        return float((targets == decided).mean())

    def predict(self, X: Any) -> Array:
        """The class of each series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        labels: Array = self.classes_[self._vote(self.search(X))]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Shares of the votes.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, classes)
        """
        neighbors = self.search(X)
        return self._shares(self._targets[neighbors.indices], self._votes(neighbors.distances))


@dataclass(repr=False, eq=False)
class DTWNeighborsRegressor(RegressorMixin, _DTWNeighbors):
    """Weighted mean of the targets of the nearest neighbours.

    Parameters
    ----------
    n_neighbors : int, default=1
        The number of neighbours that vote.
    cost : str or local score, default="squared"
        The cost of aligning an element of a query with one of a training series (see
        `warplearn.elastic.costs`).  With "squared" most distances need not be computed.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What the vote of a neighbour counts: the same, one over the distance, or whatever a
        function makes of an array of distances.
    band : int, float, str, None, or a sequence of these
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
        Of several, `fit` takes the one with the best leave-one-out score, the first of equals; the
        score is R^2.
    alphabet : Alphabet, optional
        Encodes series of symbols; by default the symbols that `fit` sees, one-hot.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int, default=0
        Print how far a search is.

    Attributes
    ----------
    band_ : int, float, str or None
        The band in use.
    loo_scores_ : array
        Leave-one-out scores of the bands, if there was a choice.
    alphabet_ : Alphabet
        The alphabet in use, if the series are symbols.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [5.0, 5.0, 4.0]]
    >>> DTWNeighborsRegressor(2).fit(X, [1.0, 2.0, 7.0]).predict([[0.0, 1.0, 1.0, 1.0]])
    array([1.5])
    """

    def fit(self, X: Any, y: Any) -> DTWNeighborsRegressor:
        """Remember the training series.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        collection = check_series(self, X, reset=True)
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        targets = column_or_1d(y, dtype=np.float64, warn=True)
        assert_all_finite(targets, input_name="y")
        if len(targets) != len(collection):
            raise ValueError(
                "X and y must have as many cases: Found input variables with inconsistent numbers "
                f"of samples: [{len(collection)}, {len(targets)}]"
            )
        self._remember(collection, targets)
        return self

    def _decide(self, targets: Array, votes: Array) -> Array:
        decided: Array = (targets * votes).sum(axis=1) / votes.sum(axis=1)
        return decided

    def _quality(self, targets: Array, decided: Array) -> float:
        return float(r2_score(targets, decided))

    def predict(self, X: Any) -> Array:
        """The target of each series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        return self._vote(self.search(X))
