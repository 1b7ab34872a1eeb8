"""Nearest neighbours under dynamic time warping: exact, most distances never computed.

The kernel (`_kernels.nearest`) sorts candidates by a lower bound, computes them in lanes, and
abandons a block of lanes once none of them can be among the nearest any more.  Results are those
of all distances sorted; of equal distances, the smaller index comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_scalar
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from warplearn._kernels.drivers.nearest import nearest
from warplearn.base import check_labels, check_series
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.mean import Array, chunks, named
from warplearn.series.collection import SeriesCollection, common_dtype

__all__ = [
    "DTWNeighborsClassifier",
    "DTWNeighborsRegressor",
    "NearestNeighbors",
    "nearest_neighbors",
]

Bands: TypeAlias = BandLike | Sequence[BandLike]


class NearestNeighbors(NamedTuple):
    """Neighbours, and what it took to find them.

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
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side.
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.
    verbose : int, default=0
        Print how far the search is.

    Returns
    -------
    NearestNeighbors

    Examples
    --------
    >>> found = nearest_neighbors([[0.0, 1.0], [5.0, 5.0]], [[0.0, 0.0, 2.0]])
    >>> found.indices, found.distances
    (array([[0]]), array([[1.]]))
    """
    among = SeriesCollection.of(X)
    asked = among if queries is None else SeriesCollection.of(queries, name="queries")
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
    dtype = common_dtype(among, asked)
    among, asked = among.astype(dtype), asked.astype(dtype)
    skip = np.arange(len(asked)) if queries is None else np.full(len(asked), -1)
    parts, done = [], 0
    for cases in chunks(asked):
        part = asked[cases]
        found = nearest(
            among.values, among.lengths, part.values, part.lengths, n_neighbors,
            band=resolved, skip=skip[cases], n_jobs=n_jobs,
        )  # fmt: skip
        parts.append(found)
        done += len(part)
        if verbose:
            share = found.computed / found.total
            print(f"nearest_neighbors: {done} of {len(asked)} queries, {share:.1%} of the cells")
    computed, total = sum(p.computed for p in parts), sum(p.total for p in parts)
    return NearestNeighbors(
        np.sqrt(np.concatenate([p.costs for p in parts])),
        np.concatenate([p.indices for p in parts]),
        computed,
        total - computed,
    )


# Votes


def _uniform(distances: Array) -> Array:
    return np.ones_like(distances)


def _by_distance(distances: Array) -> Array:
    """One over the distance; where some are 0, these alone count."""
    exact = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(exact.any(axis=1, keepdims=True), exact, 1 / distances)


WEIGHTS: dict[str, Callable[[Array], Array]] = {"uniform": _uniform, "distance": _by_distance}


class _DTWNeighbors(BaseEstimator):
    """What both estimators share: the search, and the choice of the band.

    Subclasses say what a vote decides (`_decide`) and how good decisions are (`_quality`).
    """

    n_channels_in_: int

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        weights: Any = "uniform",
        band: Bands = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.band = band
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _decide(self, targets: Array, votes: Array) -> Array:
        raise NotImplementedError

    def _quality(self, targets: Array, decided: Array) -> float:
        raise NotImplementedError

    def _remember(self, X: SeriesCollection, targets: Array) -> None:
        """Keep the series, and choose the band."""
        self._values, self._lengths, self._targets = X.values, X.lengths, targets
        if not isinstance(self.band, (Sequence, np.ndarray)) or isinstance(self.band, str):
            self.band_ = self.band
            return
        if not len(self.band):
            raise ValueError("band must name at least one band to choose from, got none")
        self.loo_scores_ = np.array([self._leave_one_out(band) for band in self.band])
        self.band_ = self.band[int(self.loo_scores_.argmax())]

    def _leave_one_out(self, band: BandLike) -> float:
        self.band_ = band
        found = self.search()
        decided = self._decide(self._targets[found.indices], self._votes(found.distances))
        quality = self._quality(self._targets, decided)
        if self.verbose:
            print(f"{type(self).__name__}: band={band!r}, leave-one-out score {quality:.4f}")
        return quality

    def search(self, X: Any = None, n_neighbors: int | None = None) -> NearestNeighbors:
        """Neighbours of each series, and how many cells it took to find them.

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
        found = self.search(X, n_neighbors)
        return (found.distances, found.indices) if return_distance else found.indices

    def _votes(self, distances: Array) -> Array:
        if callable(self.weights):
            return np.asarray(self.weights(distances))
        return named(WEIGHTS, self.weights, "weights")(distances)

    def _decisions(self, X: Any) -> Array:
        found = self.search(X)
        return self._decide(self._targets[found.indices], self._votes(found.distances))


class DTWNeighborsClassifier(ClassifierMixin, _DTWNeighbors):
    """Vote of the nearest neighbours; with the defaults the paper's NN+ALL.

    Parameters
    ----------
    n_neighbors : int, default=1
    weights : {"uniform", "distance"} or callable, default="uniform"
        What the vote of a neighbour counts: the same, one over the distance, or whatever a
        function makes of an array of distances.
    band : int, float, None, or a sequence of these
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side.  Of several, `fit`
        takes the one with the best leave-one-out score, the first of equals.
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.
    verbose : int, default=0
        Print how far a search is.

    Attributes
    ----------
    band_ : int, float or None
        The band in use.
    loo_scores_ : array
        Leave-one-out scores of the bands, if there was a choice.
    classes_ : array
        The classes; of classes with as many votes, the first is predicted.
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
        """The class of each series."""
        codes = self._decisions(X)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Shares of the votes, an array of shape (cases, classes)."""
        found = self.search(X)
        return self._shares(self._targets[found.indices], self._votes(found.distances))


class DTWNeighborsRegressor(RegressorMixin, _DTWNeighbors):
    """Weighted mean of the targets of the nearest neighbours.

    Parameters
    ----------
    n_neighbors, weights, band, n_jobs, verbose
        As for `DTWNeighborsClassifier`; the leave-one-out score is R^2.

    Attributes
    ----------
    band_ : int, float or None
        The band in use.
    loo_scores_ : array
        Leave-one-out scores of the bands, if there was a choice.
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
        """The target of each series."""
        return self._decisions(X)
