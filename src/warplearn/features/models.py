"""Ridge classification and regression on random elastic features.

Features are standardized.  A classifier is a ridge regression on targets +1 and -1, one column a
class.  Filters of the same elasticity that slide along the same representation are a *family*.
Each family has a regression of its own, and the model is the sum of these regressions with
non-negative factors.  A family that says little about the targets gets a small factor.  The sum is
still one linear model.

The leave-one-out predictions of the regressions have four uses.  They choose the penalties and the
factors (`ridge`), they give a score, and they calibrate probabilities: a softmax of the decision
values times the factor with the greatest likelihood.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted, column_or_1d
from threadpoolctl import ThreadpoolController

from warplearn._kernels.drivers.windows import GROUP, REPRESENTATION
from warplearn._kernels.simd.threads import thread_count
from warplearn.base import (
    check_classes,
    check_fitted_array,
    check_fitted_classes,
    check_labelled,
    check_labels,
    check_series,
    check_targets,
    check_weights,
    weigh_classes,
)
from warplearn.documentation import with_parameters_of
from warplearn.features.representations import Array
from warplearn.features.ridge import Standardized, combine, ridge
from warplearn.features.transformer import ElasticFeatures, FilterSettings
from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import to_floats

__all__ = ["ElasticFeatureClassifier", "ElasticFeatureRegressor", "Shrinkage"]

DEFAULT_ALPHAS = tuple(float(10.0**exponent) for exponent in np.arange(-5, 2.0, 0.5))
_BLOCK_BYTES = 2**22  # of features that `predict` computes before it uses them: they stay cached
_KEPT_SHARE = 0.7  # of the groups, in each round of `shrink`

Model = TypeVar("Model", bound="FeatureModel")


class Shrinkage(NamedTuple):
    """One round of `shrink`.

    Attributes
    ----------
    n_filters : int
        Number of filters that are left.
    loo_score : float
        Leave-one-out score with these filters.
    """

    n_filters: int
    loo_score: float


# Series, columns of targets (cases, targets), and weights of the series.
Checked: TypeAlias = tuple[SeriesCollection, Array, Array]


@cache
def _blas() -> ThreadpoolController:
    """The libraries for linear algebra; looking for them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def _blas_threads(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Let linear algebra use as many threads as `n_jobs` says."""
    limits: AbstractContextManager[Any] = _blas().limit(limits=thread_count(n_jobs))
    return limits


def _weighted(X: SeriesCollection, Y: Array, weights: Array) -> Checked:
    """Leave out the series of weight 0."""
    kept = weights > 0
    if kept.sum() < 2:
        raise ValueError(
            f"X must have at least two series of positive weight, got n_samples={int(kept.sum())}"
        )
    return (X if kept.all() else X[kept]), Y[kept], weights[kept]


@with_parameters_of(FilterSettings)
@dataclass(repr=False, eq=False, kw_only=True)
class FeatureModel(FilterSettings, metaclass=ABCMeta):
    """Features, ridge regressions and shrinking, for classification and regression.

    A subclass checks the targets and encodes them as columns of numbers (`_check`), and says how
    good leave-one-out predictions of these are (`_loo_score`).

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads, also of linear algebra; None means 1, -1 all cores.  Features do not
        depend on it; coefficients may differ by rounding errors.
    verbose : int, default=0
        1 prints the progress of `transform` and `shrink`.
    alphas : sequence of float
        Ridge penalties to choose from, relative to the number of features.  By default
        10**-5, 10**-4.5, ..., 10**1.5.

    Attributes
    ----------
    features_ : ElasticFeatures
        The fitted transformer.
    coef_ : array of shape (targets, features)
        Coefficients of the features as `features_` returns them, not standardized.
    intercept_ : array of shape (targets,)
    factors_ : array of shape (distinct elasticities, distinct representations)
        Factor of the regression on each family of filters; 0 for an empty family.
    alphas_ : array of shape (distinct elasticities, distinct representations)
        Penalty that was chosen for each family; NaN for an empty family.
    loo_score_ : float
        Score of the leave-one-out predictions.
    importances_ : array of shape (groups,)
        Importance of each group of filters: the sum of its squared standardized coefficients.
    shrinkage_ : list of Shrinkage
        The rounds of `shrink`; only of a model that `shrink` made.
    n_features_in_, n_channels_in_ : int
        Length of the longest training series, and number of channels.
    """

    alphas: Sequence[float] = DEFAULT_ALPHAS

    @abstractmethod
    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Checked:
        """Check what `fit` (`reset`) or `shrink` of a fitted model is given."""

    @abstractmethod
    def _loo_score(self, Y: Array, loo: Array, weights: Array) -> float:
        """Score of leave-one-out predictions."""

    def _calibrate(self, Y: Array, loo: Array, weights: Array) -> None:
        """Learn from leave-one-out predictions what else `predict` needs; by default nothing."""

    def fit(self: Model, X: Any, y: Any, sample_weight: Any = None) -> Model:
        """Draw filters, and fit ridge regressions to their features.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        sample_weight : array of shape (cases,), optional
            Non-negative.  Series of weight 0 are left out.
        """
        series, Y, weights = _weighted(*self._check(X, y, sample_weight, reset=True))
        shared = ElasticFeatures().get_params()
        self.features_ = ElasticFeatures(**{name: getattr(self, name) for name in shared})
        features = self.features_.fit(series).transform(series)
        self._fit_regressions(features, Y, weights)
        return self

    def _fit_regressions(self, features: Array, Y: Array, weights: Array) -> None:
        """Fit a ridge regression to each family of filters, and add them up."""
        with _blas_threads(self.n_jobs):
            alphas = self._checked_alphas()
            family_of_group, shape = self._families()
            X = Standardized.of(features, weights)
            families, group_members = np.unique(family_of_group, return_inverse=True)
            members = np.repeat(group_members, len(X.mean) // len(family_of_group))
            columns = [np.flatnonzero(members == family) for family in range(len(families))]
            fits = [ridge(X.select(of), Y, weights, alphas * len(of)) for of in columns]
            mean = np.average(Y, axis=0, weights=weights)
            predictions = np.stack([fit.loo for fit in fits], axis=-1) - mean[:, None]
            factors = combine(predictions, Y - mean, weights)
            coef = np.empty((len(X.mean), Y.shape[1]))
            for of, factor, fit in zip(columns, factors, fits, strict=True):
                coef[of] = factor * fit.coef
            self.factors_, self.alphas_ = np.zeros(shape), np.full(shape, np.nan)
            self.factors_.flat[families] = factors
            self.alphas_.flat[families] = [fit.alpha / len(fit.coef) for fit in fits]
            self.coef_ = (coef / X.scale[:, None]).T
            self.intercept_ = mean - self.coef_ @ X.mean
            self.importances_ = (coef**2).reshape(len(family_of_group), -1).sum(axis=1)
            loo = mean + predictions @ factors
        self.loo_score_ = self._loo_score(Y, loo, weights)
        self._calibrate(Y, loo, weights)

    def _families(self) -> tuple[Array, tuple[int, int]]:
        """The family of each group, and how many elasticities and representations there are."""
        elasticities = np.unique(self.elasticities)
        shape = len(elasticities), len(self.features_.means_)
        rows = np.searchsorted(elasticities, self.features_.elasticities_)
        columns = self.features_.groups_[:, REPRESENTATION]
        return np.ravel_multi_index((rows, columns), shape), shape

    def _checked_alphas(self) -> Array:
        alphas = to_floats(self.alphas, "alphas").astype(np.float64)
        if alphas.ndim != 1 or not len(alphas) or not (alphas > 0).all():
            raise ValueError(f"alphas must be positive numbers, at least one, got {self.alphas!r}")
        return alphas

    def _predict_targets(self, X: Any) -> Array:
        """Predictions (cases, targets), a block of series at a time."""
        check_is_fitted(self)
        self._check_state()
        collection = check_series(self, X, reset=False)
        step = max(1, _BLOCK_BYTES // (self.coef_.shape[1] * self.coef_.itemsize))
        blocks = (collection[start : start + step] for start in range(0, len(collection), step))
        with _blas_threads(self.n_jobs):
            predictions = [
                self.features_.transform(block).astype(np.float64) @ self.coef_.T
                for block in blocks
            ]
            return np.concatenate(predictions) + self.intercept_

    @abstractmethod
    def _n_targets(self) -> int:
        """Columns of the targets of a fitted model."""

    def _check_state(self, whole: bool = False) -> None:
        features = getattr(self, "features_", None)
        if not isinstance(features, ElasticFeatures) or not hasattr(features, "groups_"):
            raise ValueError(f"features_ must be a fitted ElasticFeatures, got {features!r}")
        if whole:
            features._check_state(whole)
        if features.n_channels_in_ != getattr(self, "n_channels_in_", None):
            raise ValueError("features_ must have n_channels_in_ channels")
        count = self._n_targets()
        width = len(features.poolings) * features.n_filters_
        check_fitted_array(self, "coef_", (count, width))
        check_fitted_array(self, "intercept_", (count,))

    def shrink(self: Model, X: Any, y: Any, n_filters: int, sample_weight: Any = None) -> Model:
        """A smaller model, without the filters that matter least.

        In several rounds, the groups of filters with the smallest coefficients are dropped, and
        the regressions are fitted again to the remaining features.

        Parameters
        ----------
        X, y, sample_weight
            The training series again, as given to `fit`.
        n_filters : int
            Number of filters to keep, rounded up to a multiple of eight.

        Returns
        -------
        estimator
            A new one.  Its `shrinkage_` lists the leave-one-out score after each round.  These
            scores are optimistic, because the filters were chosen on the same series: judge the
            loss in accuracy on series that were not used.
        """
        check_is_fitted(self)
        check_scalar(n_filters, "n_filters", (int, np.integer), min_val=1)
        series, Y, weights = _weighted(*self._check(X, y, sample_weight, reset=False))
        smaller = copy(self)
        features = self.features_.transform(series)
        per_group = features.shape[1] // len(self.features_.groups_)
        smaller.shrinkage_ = [Shrinkage(self.features_.n_filters_, self.loo_score_)]
        fewest = -(-n_filters // GROUP)
        while (count := len(smaller.features_.groups_)) > fewest:
            n_kept = max(fewest, int(_KEPT_SHARE * count))
            kept = np.sort(np.argsort(-smaller.importances_, kind="stable")[:n_kept])
            smaller.features_ = smaller.features_.select(kept)
            features = features.reshape(len(features), count, per_group)[:, kept]
            features = features.reshape(len(features), -1)
            smaller._fit_regressions(features, Y, weights)
            smaller.shrinkage_.append(Shrinkage(n_kept * GROUP, smaller.loo_score_))
            if self.verbose:
                print(f"shrink: {n_kept * GROUP} filters, loo score {smaller.loo_score_:.4f}")
        return smaller


@with_parameters_of(FeatureModel)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticFeatureClassifier(ClassifierMixin, FeatureModel):
    """Ridge classifier on random elastic features.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by default 1.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_ : array of shape (1 or classes, features)
        Coefficients of the features as `features_` returns them, not standardized.
    intercept_ : array of shape (1 or classes,)
    loo_score_ : float
        Leave-one-out accuracy on the training series, weighted.  It is slightly optimistic,
        because penalties and factors were chosen with the same predictions.
    sharpness_ : float
        Decision values are multiplied by it before the softmax that gives probabilities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.normal(size=(40, 60)).cumsum(axis=1) * np.where(y, 1, 0.2)[:, None]
    >>> X += rng.normal(size=(40, 60))
    >>> model = ElasticFeatureClassifier(400, random_state=0).fit(X[:20], y[:20])
    >>> model.score(X[20:], y[20:])
    1.0
    """

    class_weight: Any = None

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Checked:
        if reset:
            series, codes, weights = check_labelled(self, X, y, sample_weight)
        else:
            series = check_series(self, X, reset=False)
            codes = check_classes(self, check_labels(series, y), None, reset=False)
            weights = check_weights(series, sample_weight)
        weights = weigh_classes(self.class_weight, self.classes_, codes, weights)
        Y = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        return series, Y[:, 1:] if len(self.classes_) == 2 else Y, weights

    def _n_targets(self) -> int:
        sharpness, n_classes = getattr(self, "sharpness_", None), check_fitted_classes(self)
        if not isinstance(sharpness, float) or not 0 <= sharpness < np.inf:
            raise ValueError(f"sharpness_ must be a number of at least 0, got {sharpness!r}")
        return 1 if n_classes == 2 else n_classes

    def _per_class(self, decisions: Array) -> Array:
        """One column for each class, also with two classes."""
        return np.hstack([-decisions, decisions]) if decisions.shape[1] == 1 else decisions

    def _loo_score(self, Y: Array, loo: Array, weights: Array) -> float:
        correct = self._per_class(loo).argmax(axis=1) == self._per_class(Y).argmax(axis=1)
        return float(np.average(correct, weights=weights))

    def _calibrate(self, Y: Array, loo: Array, weights: Array) -> None:
        codes, decisions = self._per_class(Y).argmax(axis=1), self._per_class(loo)
        # Targets slightly below 1, as in Platt's method.  Otherwise perfect predictions on few
        # series would give every later series a probability of 1.
        class_sizes = np.bincount(codes, minlength=len(self.classes_))[codes, None]
        own = np.arange(len(self.classes_)) == codes[:, None]
        others = 1 / ((class_sizes + 2) * (len(self.classes_) - 1))
        targets = np.where(own, (class_sizes + 1) / (class_sizes + 2), others)

        def loss(log_factor: float) -> float:
            likelihood = (targets * log_softmax(np.exp(log_factor) * decisions, axis=1)).sum(axis=1)
            return -float(weights @ likelihood)

        self.sharpness_ = float(np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded").x))

    def decision_function(self, X: Any) -> Array:
        """Predictions of the regressions: near 1 for a class, near -1 against it.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,) or (cases, classes)
            With two classes, one value for each series, positive for the second class.
        """
        decisions = self._predict_targets(X)
        return decisions[:, 0] if len(self.classes_) == 2 else decisions

    def predict(self, X: Any) -> Array:
        """The class of each series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        codes = self._per_class(self._predict_targets(X)).argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Calibrated probabilities of the classes.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, classes)
            The most probable class is that of `predict`.
        """
        decisions = self._per_class(self._predict_targets(X))
        probabilities: Array = softmax(self.sharpness_ * decisions, axis=1)
        return probabilities


@with_parameters_of(FeatureModel)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticFeatureRegressor(RegressorMixin, FeatureModel):
    """Ridge regression on random elastic features.

    Attributes
    ----------
    coef_ : array of shape (1, features)
        Coefficients of the features as `features_` returns them, not standardized.
    intercept_ : array of shape (1,)
    loo_score_ : float
        Weighted R^2 of the leave-one-out predictions of the training series.  It is slightly
        optimistic, because penalties and factors were chosen with the same predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> widths = rng.uniform(0.05, 0.2, 60)
    >>> centres = rng.uniform(0.3, 0.7, (60, 1))
    >>> X = np.exp(-(((np.linspace(0, 1, 50) - centres) / widths[:, None]) ** 2))
    >>> model = ElasticFeatureRegressor(400, random_state=0).fit(X[:40], widths[:40])
    >>> bool(model.score(X[40:], widths[40:]) > 0.9)
    True
    """

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Checked:
        series = check_series(self, X, reset=reset)
        targets = column_or_1d(check_targets(series, y), warn=True)
        return series, targets[:, None], check_weights(series, sample_weight)

    def _n_targets(self) -> int:
        return 1

    def _loo_score(self, Y: Array, loo: Array, weights: Array) -> float:
        return float(r2_score(Y, loo, sample_weight=weights))

    def predict(self, X: Any) -> Array:
        """The target of each series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        return self._predict_targets(X)[:, 0]
