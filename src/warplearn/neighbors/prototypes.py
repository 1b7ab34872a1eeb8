"""Classifiers by the nearest of a few prototypes: learned within classes, or against each other.

`NearestPrototypeClassifier` takes means or clusters of each class, the paper's NN+KME and NN+AHC.
`ElasticLVQClassifier` starts there and then moves prototypes towards series of their class and
away from others.  Updates are asymmetric: a prototype keeps its length and its time axis, and
each of its elements moves towards, or away from, the mean of what is aligned with it.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn.averaging.methods import check_has_mean, stepper
from warplearn.averaging.objective import Array, Objective, scaled
from warplearn.averaging.spaces import check_centres, to_kernel, to_public
from warplearn.base import (
    CheckedState,
    check_fitted_classes,
    check_fitted_count,
    check_labelled,
    check_not_negative,
)
from warplearn.cluster import ElasticAgglomerative, ElasticKMeans
from warplearn.cluster.centres import (
    centres_and_series,
    common_length,
    distances_of,
    nearest,
    summed_costs,
)
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.costs import COSTS, resolve_distance
from warplearn.mean import ElasticMean
from warplearn.registry import choose
from warplearn.series.collection import SeriesCollection
from warplearn.series.numbers import usable
from warplearn.series.symbols import Alphabet
from warplearn.sliding import Slides

__all__ = ["ElasticLVQClassifier", "NearestPrototypeClassifier"]


# Prototypes of one class


class _Options(Protocol):
    """The parameters of an estimator that its prototypes depend on."""

    n_prototypes: int
    cost: Any
    band: BandLike
    n_jobs: int | None
    verbose: int


def _by_kmeans(options: _Options, X: SeriesCollection, length: int, seed: int) -> Array:
    model = ElasticKMeans(
        min(options.n_prototypes, len(X)), n_init=3, cost=options.cost,
        length=length, band=options.band, random_state=seed, n_jobs=options.n_jobs,
        verbose=options.verbose,
    )  # fmt: skip
    return model.fit(X).cluster_centers_


def _by_ahc(options: _Options, X: SeriesCollection, length: int, seed: int) -> Array:
    model = ElasticAgglomerative(
        min(options.n_prototypes, len(X)), cost=options.cost, length=length, band=options.band,
        random_state=seed, n_jobs=options.n_jobs, verbose=options.verbose,
    )  # fmt: skip
    return model.fit(X).cluster_centers_


def _by_mean(options: _Options, X: SeriesCollection, length: int, seed: int) -> Array:
    if options.n_prototypes != 1:
        raise ValueError(
            f"n_prototypes must be 1 where prototypes are means, got {options.n_prototypes!r}"
        )
    model = ElasticMean(
        cost=options.cost, length=length, band=options.band,
        random_state=seed, n_jobs=options.n_jobs, verbose=options.verbose,
    )  # fmt: skip
    return model.fit(X).mean_[None]


FINDERS = {"ahc": _by_ahc, "kmeans": _by_kmeans, "mean": _by_mean}


class _PrototypeClassifier(Slides, CheckedState, ClassifierMixin, BaseEstimator):
    """Fitting prototypes class by class, and prediction by the nearest.

    Parameters
    ----------
    n_prototypes : int, default=1
        For each class; a class with fewer series has one for each.
    cost : str or local score, default="squared"
        The cost of aligning two elements (see `warplearn.elastic.costs`), with a derivative.
    length : int, optional
        Length of the prototypes; by default the mean length of the training series.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
    alphabet : Alphabet, optional
        Encodes series of symbols; by default the symbols that `fit` sees, one-hot.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.

    Attributes
    ----------
    prototypes_ : array of shape (prototypes, m) or (prototypes, channels, m)
        The prototypes, class by class.
    prototype_labels_ : array of shape (prototypes,)
        Their classes.
    classes_ : array
        The classes, sorted.
    alphabet_ : Alphabet
        The alphabet in use, if the series are symbols.
    """

    _fitted_by = "prototypes_"
    n_channels_in_: int
    n_prototypes: int
    cost: Any
    space = "series"
    length: int | None
    band: BandLike
    random_state: Any
    n_jobs: int | None
    verbose: int

    def _fit_classes(
        self, X: Any, y: Any, finder: str, argument: str, rng: np.random.RandomState
    ) -> tuple[SeriesCollection, NDArray[np.int64]]:
        """Set `prototypes_`; returns the series and the codes of their classes."""
        local, _ = resolve_distance(self.cost)
        check_has_mean(local)
        collection, codes, _ = check_labelled(self, X, y, None)
        check_scalar(self.n_prototypes, "n_prototypes", (int, np.integer), min_val=1)
        find = choose(FINDERS, finder, argument)
        length = common_length(collection, self.length)
        of_class = [
            find(self, collection[codes == c], length, rng.randint(2**31 - 1))
            for c in range(len(self.classes_))
        ]
        self.prototypes_ = np.concatenate(of_class)
        counts = [len(prototypes) for prototypes in of_class]
        self.prototype_labels_ = np.repeat(self.classes_, counts)
        return collection, codes

    def _check_state(self, whole: bool = False) -> None:
        check_centres(self, getattr(self, "prototypes_", None), "prototypes_")
        check_fitted_classes(self)
        check_fitted_count(self, "n_features_in_")
        labels = getattr(self, "prototype_labels_", None)
        if not isinstance(labels, np.ndarray) or labels.shape != self.prototypes_.shape[:1]:
            raise ValueError(f"prototype_labels_ must be {len(self.prototypes_)} labels")
        if not np.isin(labels, self.classes_).all():
            raise ValueError("prototype_labels_ must be some of classes_")

    def predict(self, X: Any) -> Array:
        """The class of the nearest prototype.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        check_is_fitted(self)
        self._check_state()
        local, _ = resolve_distance(self.cost)
        centres, collection, band = centres_and_series(self, self.prototypes_, X)
        winners, _ = nearest(collection, centres, local, band, self.n_jobs)
        return self.prototype_labels_[winners]

    def class_distances(self, X: Any) -> Array:
        """Distance of each series to the nearest prototype of each class.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, classes)
        """
        check_is_fitted(self)
        self._check_state()
        local, _ = resolve_distance(self.cost)
        centres, collection, band = centres_and_series(self, self.prototypes_, X)
        costs = summed_costs(collection, centres, local, band, self.n_jobs)
        of_class = [costs[:, self.prototype_labels_ == c].min(axis=1) for c in self.classes_]
        return distances_of(np.stack(of_class, axis=1), local)

    def decision_function(self, X: Any) -> Array:
        """How much nearer the nearest prototype of a class is than that of any other class.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,) or (cases, classes)
            Differences of distances.  With two classes, one value for each series, positive for
            the second class.
        """
        distances = self.class_distances(X)
        if len(self.classes_) == 2:
            return distances[:, 0] - distances[:, 1]
        two_nearest = np.partition(distances, 1, axis=1)[:, :2]
        first = distances == two_nearest[:, :1]
        return np.where(first, two_nearest[:, 1:], two_nearest[:, :1]) - distances


@with_parameters_of(_PrototypeClassifier)
@dataclass(repr=False, eq=False)
class NearestPrototypeClassifier(_PrototypeClassifier):
    """Class of the nearest prototype, a few for each class.

    Parameters
    ----------
    method : {"kmeans", "ahc", "mean"}, default="kmeans"
        Prototypes are the centres of k-means (the paper's NN+KME), the means of agglomerative
        clusters (NN+AHC), or the mean of the class.
    random_state : int, RandomState or None
        For the first centres of k-means.
    verbose : int, default=0
        Print how the clustering of each class goes.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [5.0, 5.0, 4.0], [0.0, 1.0, 1.0], [5.0, 4.0, 4.0]]
    >>> model = NearestPrototypeClassifier("mean").fit(X, ["low", "high", "low", "high"])
    >>> model.predict([[0.0, 0.5, 1.0, 1.0]])
    array(['low'], dtype='<U4')
    """

    method: str = "kmeans"
    _: KW_ONLY
    n_prototypes: int = 1
    cost: Any = "squared"
    length: int | None = None
    band: BandLike = None
    alphabet: Alphabet | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

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


# Rules of learning vector quantization: how far a series moves each prototype.  A positive number
# moves a prototype towards the series, a negative one away.


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


@with_parameters_of(_PrototypeClassifier)
@dataclass(repr=False, eq=False)
class ElasticLVQClassifier(_PrototypeClassifier):
    """Learning vector quantization under dynamic time warping.

    Series are taken one at a time, in a new order each epoch.  The prototypes of the epoch with
    the fewest training errors are kept, the start included.

    Parameters
    ----------
    rule : {"glvq", "lvq1"}, default="glvq"
        Generalized LVQ, or Kohonen's LVQ1.
    init : {"kmeans", "ahc", "mean"}, default="kmeans"
        Where prototypes start (see `NearestPrototypeClassifier`).
    learning_rate_init : float, default=0.1
        The share of the way that a prototype goes at first; falls linearly to 0 over the epochs.
    max_iter : int, default=20
        Epochs.
    cost : str or local score, default="squared"
        The cost of aligning two elements (see `warplearn.elastic.costs`), with a derivative.  With
        the squared cost the way leads to the mean of the elements aligned with each element of the
        prototype, with others it is a step of `Descent`.
    random_state : int, RandomState or None
        For the start and for the order of the series.
    verbose : int, default=0
        Print the training error of each epoch.

    Attributes
    ----------
    history_ : list of one array
        Share of training errors at the start and after each epoch.
    n_iter_ : int
        Epochs.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [5.0, 5.0, 4.0], [0.0, 1.0, 1.0], [5.0, 4.0, 4.0]]
    >>> model = ElasticLVQClassifier(random_state=0).fit(X, ["low", "high", "low", "high"])
    >>> model.predict([[0.0, 0.5, 1.0, 1.0]])
    array(['low'], dtype='<U4')
    """

    rule: str = "glvq"
    _: KW_ONLY
    n_prototypes: int = 1
    init: str = "kmeans"
    learning_rate_init: float = 0.1
    max_iter: int = 20
    cost: Any = "squared"
    length: int | None = None
    band: BandLike = None
    alphabet: Alphabet | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any) -> ElasticLVQClassifier:
        """Learn the prototypes.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        choose(RULES, self.rule, "rule")
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=0)
        check_not_negative(self, "learning_rate_init")
        rng = check_random_state(self.random_state)
        collection, codes = self._fit_classes(X, y, self.init, "init", rng)
        local, _ = resolve_distance(self.cost)
        of_class = np.searchsorted(self.classes_, self.prototype_labels_)
        centres = to_kernel(self.prototypes_, self.space, self.n_channels_in_).copy()
        band = resolve_band(self.band, collection.lengths, np.array([centres.shape[1]]))
        history: list[float] = []
        for epoch in range(self.max_iter + 1):
            winners, _ = nearest(collection, centres, local, band, self.n_jobs)
            history.append(float((of_class[winners] != codes).mean()))
            if self.verbose:
                print(f"ElasticLVQClassifier: epoch {epoch}, training error {history[-1]:.4f}")
            if history[-1] <= min(history):
                self.prototypes_ = np.stack([to_public(Y) for Y in centres])
            if epoch == self.max_iter:
                break
            rate = self.learning_rate_init * (1 - epoch / self.max_iter)
            for case in rng.permutation(len(collection)):
                one = Objective.of(collection[[case]], np.ones(1), local, band, n_jobs=1)
                self._learn(one, centres, of_class == codes[case], rate)
            if not usable(centres):
                warnings.warn(
                    "training diverged: the prototypes grew beyond measure. The best ones before "
                    "that are kept; try a smaller learning_rate_init.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
                break
        self.history_, self.n_iter_ = [np.array(history)], epoch
        return self

    def _learn(self, one: Objective, centres: Array, own: NDArray[np.bool_], rate: float) -> None:
        """Move the prototypes, in place, by what the rule makes of one series."""
        costs = _costs_of_one(one, centres)
        moves = rate * RULES[self.rule](costs, own)
        method = stepper(one.cost)
        moved = np.flatnonzero(moves)
        one = one._replace(shares=np.ones((len(moved), 1)))
        at = one.values_and_forces(centres[moved])
        sizes = method.sizes(one, centres[moved], at)
        centres[moved] += scaled(at.step(), moves[moved] * sizes)


def _costs_of_one(one: Objective, centres: Array) -> Array:
    """Summed costs of aligning one series with all prototypes."""
    if not COSTS.about(one.cost).symmetric:
        return summed_costs(one.X, centres, one.cost, one.band, 1)[0]
    # Series and prototypes can change places: many prototypes fill the lanes, one series not.
    prototypes = SeriesCollection._trusted(centres, np.full(len(centres), centres.shape[1]))
    return summed_costs(prototypes, one.X.elements(0)[None], one.cost, one.band, 1)[:, 0]
