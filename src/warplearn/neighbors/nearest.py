"""Votes of the nearest neighbours under dynamic time warping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from warplearn.averaging.objective import Array
from warplearn.base import (
    CheckedState,
    check_fitted_array,
    check_fitted_classes,
    check_fitted_count,
    check_labels,
    check_series,
    check_targets,
)
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import BandLike
from warplearn.elastic.costs import resolve_distance
from warplearn.neighbors.search import NearestNeighbors, nearest_neighbors
from warplearn.registry import choose
from warplearn.series.collection import SeriesCollection
from warplearn.series.symbols import Alphabet

__all__ = [
    "DTWNeighborsClassifier",
    "DTWNeighborsRegressor",
    "NearestNeighbors",
    "nearest_neighbors",
]

Bands: TypeAlias = BandLike | Sequence[BandLike]


def _uniform(distances: Array) -> Array:
    return np.ones_like(distances)


def _by_distance(distances: Array) -> Array:
    """One over the distance; where some are 0, these alone count."""
    exact = distances == 0
    with np.errstate(divide="ignore"):
        return np.where(exact.any(axis=1, keepdims=True), exact, 1 / distances)


WEIGHTS: dict[str, Callable[[Array], Array]] = {"uniform": _uniform, "distance": _by_distance}


@dataclass(repr=False, eq=False)
class _DTWNeighbors(CheckedState, BaseEstimator):
    """The search and the choice of the band, for both estimators.

    Subclasses say what a vote decides (`_decide`) and how good decisions are (`_quality`).

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
    alphabet_ : Alphabet
        The alphabet in use, if the series are symbols.
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
        """Keep copies of series and targets, and choose the band.

        Of series that are read in chunks, only the way to read them is kept.
        """
        resolve_distance(self.cost)
        self.__dict__.pop("_stored", None)
        if X.in_memory and X.blocks is None:
            self._values = np.array(X.values)
        else:
            self._stored, self._values = X, np.empty((0, 1, X.n_channels))
        self._lengths = np.array(X.lengths)
        self._targets = np.array(targets)
        if not isinstance(self.band, (Sequence, np.ndarray)) or isinstance(self.band, str):
            self.band_ = self.band
            return
        if not np.asarray(self.band, object).size:
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
        self._check_state()
        return nearest_neighbors(
            self._training_series(),
            None if X is None else check_series(self, X, reset=False),
            self.n_neighbors if n_neighbors is None else n_neighbors,
            self.band_,
            cost=self.cost,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    _fitted_by = "_values"

    def _training_series(self) -> SeriesCollection:
        stored = getattr(self, "_stored", None)
        return SeriesCollection(self._values, self._lengths) if stored is None else stored

    def _fitted_attributes(self) -> dict[str, Any]:
        """With the training series, wherever they are: a file needs no other."""
        fitted = super()._fitted_attributes()
        if fitted.pop("_stored", None) is not None:
            fitted["_values"] = np.array(self._training_series().values)
        return fitted

    def _check_state(self, whole: bool = False) -> None:
        channels = check_fitted_count(self, "n_channels_in_")
        if not hasattr(self, "band_"):
            raise ValueError("band_ must be a band or None, but there is none")
        if getattr(self, "_stored", None) is not None:
            check_fitted_array(self, "_targets", (len(self._training_series()),), "fi")
            return
        values = check_fitted_array(self, "_values", (None, None, channels))
        lengths = check_fitted_array(self, "_lengths", (len(values),), "i")
        check_fitted_array(self, "_targets", (len(values),), "fi")
        collection = SeriesCollection(values, lengths)  # checks the lengths
        if whole:
            resolve_distance(self.cost)
            behind = np.arange(values.shape[1]) >= collection.lengths[:, None]
            if values[behind].any():
                raise ValueError("the training series must be 0 behind their ends")

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


@with_parameters_of(_DTWNeighbors)
@dataclass(repr=False, eq=False)
class DTWNeighborsClassifier(ClassifierMixin, _DTWNeighbors):
    """Vote of the nearest neighbours; with the defaults the paper's NN+ALL.

    Attributes
    ----------
    classes_ : array
        The classes; of classes with as many votes, the first is predicted.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [5.0, 5.0, 4.0]]
    >>> DTWNeighborsClassifier().fit(X, ["low", "high"]).predict([[0.0, 1.0, 1.0, 1.0]])
    array(['low'], dtype='<U4')
    """

    def fit(self, X: Any, y: Any) -> DTWNeighborsClassifier:
        """Remember the training series.

        Series in memory are copied.  Those of a memory map, of chunks or on a cluster are read
        whenever the model predicts, so they must stay as they are; a model file holds a copy.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        collection = check_series(self, X, reset=True)
        self.classes_, codes = np.unique(check_labels(collection, y), return_inverse=True)
        self._remember(collection, codes)
        return self

    def _check_state(self, whole: bool = False) -> None:
        super()._check_state(whole)
        codes, n_classes = self._targets, check_fitted_classes(self, least=1)
        if codes.dtype.kind != "i" or codes.min() < 0 or codes.max() >= n_classes:
            raise ValueError(f"the targets must be codes of the {n_classes} classes")

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
        codes = self._vote(self.search(X))
        labels: Array = self.classes_[codes]
        return labels

    def class_distances(self, X: Any) -> Array:
        """Distance of each series to the nearest training series of each class.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, classes)
        """
        check_is_fitted(self)
        self._check_state()
        series = check_series(self, X, reset=False)
        known = self._training_series()
        of_class = [
            nearest_neighbors(
                known[self._targets == c], series, 1, self.band_, cost=self.cost, n_jobs=self.n_jobs
            ).distances[:, 0]
            for c in range(len(self.classes_))
        ]
        return np.stack(of_class, axis=1)

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


@with_parameters_of(_DTWNeighbors)
@dataclass(repr=False, eq=False)
class DTWNeighborsRegressor(RegressorMixin, _DTWNeighbors):
    """Weighted mean of the targets of the nearest neighbours.

    Parameters
    ----------
    band : int, float, str, None, or a sequence of these
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
        Of several, `fit` takes the one with the best leave-one-out score, the first of equals; the
        score is R^2.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [5.0, 5.0, 4.0]]
    >>> DTWNeighborsRegressor(2).fit(X, [1.0, 2.0, 7.0]).predict([[0.0, 1.0, 1.0, 1.0]])
    array([1.5])
    """

    def fit(self, X: Any, y: Any) -> DTWNeighborsRegressor:
        """Remember the training series.

        Series in memory are copied.  Those of a memory map, of chunks or on a cluster are read
        whenever the model predicts, so they must stay as they are; a model file holds a copy.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        collection = check_series(self, X, reset=True)
        self._remember(collection, column_or_1d(check_targets(collection, y), warn=True))
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
