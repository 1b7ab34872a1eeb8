"""Classifiers by the nearest of a few prototypes: learned within classes, or against each other.

`NearestPrototypeClassifier` takes means or clusters of each class, the paper's NN+KME and NN+AHC.
`ElasticLVQClassifier` starts there and then moves prototypes towards series of their class and
away from others.  Updates are asymmetric: a prototype keeps its length and its time axis, and
each of its elements moves towards, or away from, the mean of what is aligned with it.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn.base import check_labels, check_series
from warplearn.cluster import ElasticAgglomerative, ElasticKMeans
from warplearn.cluster.centres import (
    centres_and_series,
    common_length,
    nearest,
    squared_distances,
)
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.mean import Array, Objective, averaged, hidden, named, shown
from warplearn.series.collection import SeriesCollection

__all__ = ["ElasticLVQClassifier", "NearestPrototypeClassifier"]


# Prototypes of one class


class _Options(Protocol):
    """What is asked of an estimator whose prototypes are to be found."""

    n_prototypes: int
    band: BandLike
    n_jobs: int | None
    verbose: int


def _by_kmeans(options: _Options, X: SeriesCollection, length: int, seed: int) -> Array:
    model = ElasticKMeans(
        min(options.n_prototypes, len(X)), n_init=3,
        length=length, band=options.band, random_state=seed, n_jobs=options.n_jobs,
        verbose=options.verbose,
    )  # fmt: skip
    return model.fit(X).cluster_centers_


def _by_ahc(options: _Options, X: SeriesCollection, length: int, seed: int) -> Array:
    model = ElasticAgglomerative(
        min(options.n_prototypes, len(X)), length=length, band=options.band,
        random_state=seed, n_jobs=options.n_jobs, verbose=options.verbose,
    )  # fmt: skip
    return model.fit(X).cluster_centers_


def _by_mean(options: _Options, X: SeriesCollection, length: int, seed: int) -> Array:
    if options.n_prototypes != 1:
        raise ValueError(
            f"n_prototypes must be 1 where prototypes are means, got {options.n_prototypes!r}"
        )
    return _by_ahc(options, X, length, seed)  # of one cluster: the mean, started from the medoid


FINDERS = {"ahc": _by_ahc, "kmeans": _by_kmeans, "mean": _by_mean}


class _PrototypeClassifier(ClassifierMixin, BaseEstimator):
    """Fitting prototypes class by class, and prediction by the nearest."""

    n_channels_in_: int
    n_prototypes: int
    space = "series"
    length: int | None
    band: BandLike
    random_state: Any
    n_jobs: int | None
    verbose: int

    def _fit_classes(
        self, X: Any, y: Any, finder: str, argument: str, rng: np.random.RandomState
    ) -> tuple[SeriesCollection, NDArray[np.intp]]:
        """Set `prototypes_`; returns the series and the codes of their classes."""
        collection = check_series(self, X, reset=True)
        self.classes_, codes = np.unique(check_labels(collection, y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs series of at least two classes, but y has only one "
                f"class: {self.classes_[0]!r}"
            )
        check_scalar(self.n_prototypes, "n_prototypes", (int, np.integer), min_val=1)
        find = named(FINDERS, finder, argument)
        length = common_length(collection, self.length)
        found = []
        for c in range(len(self.classes_)):
            found.append(find(self, collection[codes == c], length, rng.randint(2**31 - 1)))
        self.prototypes_ = np.concatenate(found)
        counts = [len(prototypes) for prototypes in found]
        self.prototype_labels_ = np.repeat(self.classes_, counts)
        return collection, codes

    def predict(self, X: Any) -> Array:
        """The class of the nearest prototype."""
        check_is_fitted(self)
        centres, collection, resolved = centres_and_series(self, self.prototypes_, X)
        return self.prototype_labels_[nearest(collection, centres, resolved, self.n_jobs)[0]]


class NearestPrototypeClassifier(_PrototypeClassifier):
    """Class of the nearest prototype, a few for each class.

    Parameters
    ----------
    method : {"kmeans", "ahc", "mean"}, default="kmeans"
        Prototypes are the centres of k-means (the paper's NN+KME), the means of agglomerative
        clusters (NN+AHC), or the mean of the class.
    n_prototypes : int, default=1
        For each class; a class with fewer series has one for each.
    length : int, optional
        Length of the prototypes; by default the mean length of the training series.
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.
    verbose : int, default=0

    Attributes
    ----------
    prototypes_ : array of shape (prototypes, m) or (prototypes, channels, m)
    prototype_labels_ : array of shape (prototypes,)
    classes_ : array
    """

    def __init__(
        self,
        method: str = "kmeans",
        n_prototypes: int = 1,
        *,
        length: int | None = None,
        band: BandLike = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.n_prototypes = n_prototypes
        self.length = length
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> NearestPrototypeClassifier:
        """Find the prototypes of each class.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        rng = check_random_state(self.random_state)
        self._fit_classes(X, y, self.method, "method", rng)
        return self


# Learning vector quantization: what one series does to the prototypes.  A positive number moves a
# prototype towards it, a negative one away.


def _lvq1(costs: Array, own: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The winner comes nearer if it is of the right class, else it goes away."""
    moves = np.zeros(len(costs))
    winner = int(costs.argmin())
    moves[winner] = 1 if own[winner] else -1
    return moves


def _glvq(costs: Array, own: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Gradient of the relative difference of the nearest right and the nearest wrong prototype.

    The cost is `sigmoid((d+ - d-) / (d+ + d-))` of squared distances, the derivatives are scaled
    by `4 (d+ + d-)`: without the scale of the series, and 1 for a series on the border.
    """
    right = int(np.where(own, costs, np.inf).argmin())
    wrong = int(np.where(own, np.inf, costs).argmin())
    near, far = float(costs[right]), float(costs[wrong])
    moves = np.zeros(len(costs))
    if near + far > 0:
        sigmoid = 1 / (1 + np.exp(-(near - far) / (near + far)))
        slope = 4 * sigmoid * (1 - sigmoid)
        moves[right] = slope * 2 * far / (near + far)
        moves[wrong] = -slope * 2 * near / (near + far)
    return moves


RULES = {"glvq": _glvq, "lvq1": _lvq1}


class ElasticLVQClassifier(_PrototypeClassifier):
    """Learning vector quantization under dynamic time warping.

    Series are taken one at a time, in a new order each epoch.  The prototypes of the epoch with
    the fewest training errors are kept, the start included.

    Parameters
    ----------
    rule : {"glvq", "lvq1"}, default="glvq"
        Generalized LVQ, or Kohonen's LVQ1.
    n_prototypes : int, default=1
        For each class.
    init : {"kmeans", "ahc", "mean"}, default="kmeans"
        Where prototypes start (see `NearestPrototypeClassifier`).
    rate : float, default=0.1
        The part of the way that a prototype goes; falls linearly to 0 over the epochs.
    max_iter : int, default=20
        Epochs.
    length, band, random_state, n_jobs, verbose
        As for `NearestPrototypeClassifier`.

    Attributes
    ----------
    prototypes_ : array of shape (prototypes, m) or (prototypes, channels, m)
    prototype_labels_ : array of shape (prototypes,)
    classes_ : array
    history_ : array
        Share of training errors at the start and after each epoch.
    n_iter_ : int
    """

    def __init__(
        self,
        rule: str = "glvq",
        n_prototypes: int = 1,
        *,
        init: str = "kmeans",
        rate: float = 0.1,
        max_iter: int = 20,
        length: int | None = None,
        band: BandLike = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.rule = rule
        self.n_prototypes = n_prototypes
        self.init = init
        self.rate = rate
        self.max_iter = max_iter
        self.length = length
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> ElasticLVQClassifier:
        """Learn the prototypes.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        rule = named(RULES, self.rule, "rule")
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=0)
        check_scalar(self.rate, "rate", (int, float), min_val=0)
        rng = check_random_state(self.random_state)
        collection, codes = self._fit_classes(X, y, self.init, "init", rng)
        of_class = np.searchsorted(self.classes_, self.prototype_labels_)
        centres = hidden(self.prototypes_, self.space, self.n_channels_in_).copy()
        resolved = resolve_band(self.band, collection.lengths, np.array([centres.shape[1]]))
        history: list[float] = []
        for epoch in range(self.max_iter + 1):
            winners, _ = nearest(collection, centres, resolved, self.n_jobs)
            history.append(float((of_class[winners] != codes).mean()))
            if self.verbose:
                print(f"ElasticLVQClassifier: epoch {epoch}, training error {history[-1]:.4f}")
            if history[-1] <= min(history):
                self.prototypes_ = np.stack([shown(Y) for Y in centres])
            if epoch == self.max_iter:
                break
            rate = self.rate * (1 - epoch / self.max_iter)
            for case in rng.permutation(len(collection)):
                one = Objective(collection[[case]], np.ones(1), resolved, n_jobs=1)
                # Distances are symmetric: many prototypes fill the lanes, one series would not.
                all_of_them = SeriesCollection._trusted(
                    centres, np.full(len(centres), centres.shape[1])
                )
                costs = squared_distances(all_of_them, collection[case][None], resolved, 1)[:, 0]
                moves = rate * rule(costs, of_class == codes[case])
                for p in np.flatnonzero(moves):
                    centres[p] += centres.dtype.type(moves[p]) * averaged(one.pull(centres[p]))
        self.history_, self.n_iter_ = np.array(history), self.max_iter
        return self
