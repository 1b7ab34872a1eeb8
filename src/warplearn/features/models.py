"""Ridge classification and regression on random elastic features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d

from warplearn.base import (
    check_classes,
    check_fitted_classes,
    check_labelled,
    check_labels,
    check_series,
    check_targets,
    check_weights,
    weigh_classes,
)
from warplearn.documentation import with_parameters_of
from warplearn.features.base import FeatureModel
from warplearn.features.cascade import per_class
from warplearn.features.reduction import Cases
from warplearn.features.representations import Array
from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import to_floats
from warplearn.sliding import Slides

__all__ = ["ElasticFeatureClassifier", "ElasticFeatureRegressor"]


@with_parameters_of(FeatureModel)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticFeatureClassifier(Slides, ClassifierMixin, FeatureModel):
    """Ridge classifier on random elastic features.

    Parameters
    ----------
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, by default 1.
    cascade : sequence of int, default=(500, 2000)
        How many filters `predict` computes first, with as large a share of the shapelets,
        ascending.  Series that are clear then are classified without the others.  Numbers above
        half of the filters are not used.  () computes all features of all series, as
        `decision_function` and `predict_proba` do.  Without meaning if `keep` is below 1, and
        for stages of fewer than 250 filters and shapelets.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_ : array of shape (1 or classes, features)
        Coefficients of the features as `features_` and `shapelets_` return them, one after the
        other, not standardized.
    intercept_ : array of shape (1 or classes,)
        The constant of each regression.
    loo_score_ : float
        Leave-one-out accuracy on the training series, weighted, before filters are left out.  It
        is slightly optimistic, because penalties and factors were chosen with the same predictions.
    sharpness_ : float
        Decision values are multiplied by it before the softmax that gives probabilities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.normal(size=(40, 60)).cumsum(axis=1) * np.where(y, 1, 0.2)[:, None]
    >>> X += rng.normal(size=(40, 60))
    >>> model = ElasticFeatureClassifier(400, random_state=0).fit(X[:20], y[:20])
    >>> bool(model.score(X[20:], y[20:]) > 0.9)
    True
    """

    class_weight: Any = None
    cascade: Sequence[int] = (500, 2000)

    # Squared errors also count decisions that are beyond 1, which do no harm.
    _slack: ClassVar[float] = 0.1

    def _check(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, classes: Any = None
    ) -> Cases:
        if reset and classes is None:
            series, codes, weights = check_labelled(self, X, y, sample_weight)
        else:
            series = check_series(self, X, reset=reset)
            codes = check_classes(self, check_labels(series, y), classes, reset=reset)
            weights = check_weights(series, sample_weight)
        weights = weigh_classes(self.class_weight, self.classes_, codes, weights)
        Y = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        return Cases(series, Y[:, 1:] if len(self.classes_) == 2 else Y, weights)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> ElasticFeatureClassifier:
        """Add series to those of earlier calls.

        The first call draws the filters, so it should have at least some hundred series of all
        kinds.  The regressions are solved when a prediction or a fitted attribute is asked for.
        Apart from the filters, the result is that of `fit` on all series at once.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        classes : array
            All classes that will occur.  Must be given in the first call.
        sample_weight : array of shape (cases,), optional
            Non-negative.  Series of weight 0 are left out.
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight must be None or a dict for partial_fit, got {self.class_weight!r}: "
                "how many series the classes will have is not known yet"
            )
        if classes is None and not {"_growth", "coef_"} & set(vars(self)):
            raise ValueError("classes must be given in the first call of partial_fit, got None")
        return self._grow(X, y, sample_weight, classes=classes)

    def _checked_sizes(self) -> tuple[float, Sequence[int]]:
        share, _ = super()._checked_sizes()
        stages = to_floats(self.cascade, "cascade").astype(np.float64)
        valid = stages.ndim == 1 and ((stages >= 1) & (stages < 2**31) & (stages % 1 == 0)).all()
        if not valid or (np.diff(stages) <= 0).any():
            raise ValueError(f"cascade must be ascending numbers of filters, got {self.cascade!r}")
        # Leave-one-out predictions with filters that were chosen on the same series are too good.
        return share, stages.astype(int).tolist() if share == 1 else ()

    def _n_targets(self) -> int:
        sharpness, n_classes = getattr(self, "sharpness_", None), check_fitted_classes(self)
        if not isinstance(sharpness, float) or not 0 <= sharpness < np.inf:
            raise ValueError(f"sharpness_ must be a number of at least 0, got {sharpness!r}")
        return 1 if n_classes == 2 else n_classes

    def _labels(self, Y: Array) -> Array:
        return per_class(Y).argmax(axis=1)

    def _loo_score(self, Y: Array, loo: Array, weights: Array) -> float:
        correct = per_class(loo).argmax(axis=1) == per_class(Y).argmax(axis=1)
        return float(np.average(correct, weights=weights))

    def _calibrate(self, Y: Array, loo: Array, weights: Array) -> None:
        codes, decisions = per_class(Y).argmax(axis=1), per_class(loo)
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

    def decider(self, length: int) -> Callable[[SeriesCollection], Array]:
        """What gives decision values of series of one length; checks of the model are done."""
        predictor = self._predictor()

        def decide(X: SeriesCollection) -> Array:
            decisions = np.concatenate(list(predictor.blocks(X)))
            return decisions[:, 0] if len(self.classes_) == 2 else decisions

        return decide

    def predict(self, X: Any) -> Array:
        """The class of each series.

        Series that are clear are classified with a part of the features (`cascade`).

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        blocks = self._predicted_blocks(X, in_stages=True)
        codes = np.concatenate([per_class(block).argmax(axis=1) for block in blocks])
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
            With all features; the most probable class is nearly always that of `predict`.
        """
        decisions = per_class(self._predict_targets(X))
        probabilities: Array = softmax(self.sharpness_ * decisions, axis=1)
        return probabilities


@with_parameters_of(FeatureModel)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticFeatureRegressor(RegressorMixin, FeatureModel):
    """Ridge regression on random elastic features.

    Attributes
    ----------
    coef_ : array of shape (1, features)
        Coefficients of the features as `features_` and `shapelets_` return them, one after the
        other, not standardized.
    intercept_ : array of shape (1,)
        The constant of the regression.
    loo_score_ : float
        Weighted R^2 of the leave-one-out predictions of the training series, before filters are
        left out.  It is slightly optimistic, because penalties and factors were chosen with the
        same predictions.

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

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Cases:
        series = check_series(self, X, reset=reset)
        targets = column_or_1d(check_targets(series, y), warn=True)
        return Cases(series, targets[:, None], check_weights(series, sample_weight))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticFeatureRegressor:
        """Add series to those of earlier calls.

        The first call draws the filters, so it should have at least some hundred series of all
        kinds.  The regressions are solved when a prediction or a fitted attribute is asked for.
        Apart from the filters, the result is that of `fit` on all series at once.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        sample_weight : array of shape (cases,), optional
            Non-negative.  Series of weight 0 are left out.
        """
        return self._grow(X, y, sample_weight)

    def _n_targets(self) -> int:
        return 1

    def _labels(self, Y: Array) -> None:
        """Targets are numbers."""

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
