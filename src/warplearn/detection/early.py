"""Early decisions: the class of a series before it has ended, where that is safe.

A model knows its decision for the samples so far.  What it does not know is how often such a
decision is right: after a tenth of the series a large decision value may mean nothing.  This is
learned from training series that the model has not seen, prefix by prefix: at each of some
*checkpoints*, the probability that the decision is right, given its margin.  A series is decided at
the first checkpoint where this probability reaches a threshold.  The threshold is the smallest
with which training series, held out, are decided with the wanted accuracy.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from warplearn.base import (
    CheckedState,
    check_fitted_array,
    check_fitted_classes,
    check_fitted_count,
    check_fitted_model,
    check_labelled,
    check_series,
)
from warplearn.features import ElasticFeatureClassifier
from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import to_floats
from warplearn.series.numbers import check_count, check_numbers

__all__ = ["EarlyDecisions", "EarlyStream", "ElasticEarlyClassifier"]

Array = NDArray[np.float64]

_THRESHOLDS = 200  # that are tried


class EarlyDecisions(NamedTuple):
    """Decisions for some series.

    Attributes
    ----------
    labels : array of shape (cases,)
        The classes.
    times : array of shape (cases,)
        Samples after which each was decided.
    probabilities : array of shape (cases,)
        How probable it was then that the decision is right.
    earliness : float
        Mean share of a series that was needed; 1 is all of it.
    """

    labels: NDArray[Any]
    times: NDArray[np.int64]
    probabilities: Array
    earliness: float


class _Prefixes(NamedTuple):
    """Codes of the best classes, and margins to the second best, (cases, checkpoints)."""

    codes: NDArray[np.int64]
    margins: Array


def _read(decisions: NDArray[Any]) -> tuple[NDArray[np.int64], Array]:
    """Codes of the best classes, and margins to the second best."""
    if decisions.ndim == 1:
        return (decisions > 0).astype(np.int64), np.abs(decisions).astype(np.float64)
    two = np.partition(decisions, -2, axis=1)[:, -2:].astype(np.float64)
    return decisions.argmax(axis=1), two[:, 1] - two[:, 0]


def _prefix(X: SeriesCollection, length: int) -> SeriesCollection:
    """The first samples of each series; shorter series as they are."""
    if length >= X.max_length:
        return X
    return SeriesCollection(X.values[:, :length], np.minimum(X.lengths, length))


@dataclass(repr=False, eq=False)
class ElasticEarlyClassifier(ClassifierMixin, CheckedState, BaseEstimator):
    """A classifier that decides as soon as it is safe.

    Parameters
    ----------
    estimator : classifier, optional
        With a `decision_function` that takes shorter series; by default
        `ElasticFeatureClassifier(500, rescale=False, random_state=0)`.  The beginning
        of a normalized series is not normalized, so it is not rescaled.
    accuracy : float, optional
        The accuracy that is wanted, by default that of complete series, in cross-validation.
    n_checkpoints : int, default=20
        How often a series may be decided, at equal steps.
    cv : int, default=5
        Folds of the cross-validation.

    Attributes
    ----------
    model_ : classifier
        The model of complete series.
    classes_ : array
        The classes, sorted.
    checkpoints_ : array of shape (n_checkpoints,)
        Numbers of samples after which a series may be decided.
    reliability_ : array of shape (n_checkpoints, 2)
        At each checkpoint the logit of the probability that a decision is right is the first
        number plus the second times the margin.
    threshold_ : float
        The probability with which a series is decided.
    cv_accuracy_, cv_earliness_ : float
        Accuracy and earliness of early decisions in cross-validation.
    cv_complete_accuracy_ : float
        Accuracy for complete series in cross-validation.
    n_features_in_, n_channels_in_ : int
        Length of the longest training series, and number of channels.

    Examples
    --------
    >>> from warplearn import datasets
    >>> train, test = datasets.load("GunPoint", "train"), datasets.load("GunPoint", "test")
    >>> model = ElasticEarlyClassifier().fit(train.X, train.y)
    >>> decisions = model.decide(test.X)
    >>> bool(0.2 < decisions.earliness < 1.0)
    True
    """

    estimator: Any = None
    _: KW_ONLY
    accuracy: float | None = None
    n_checkpoints: int = 20
    cv: int = 5

    _fitted_by = "model_"

    def fit(self, X: Any, y: Any) -> ElasticEarlyClassifier:
        """Train the model, and learn from held-out prefixes when it can be trusted.

        Parameters
        ----------
        X : series collection
        y : array of shape (cases,)
        """
        check_count(self.n_checkpoints, "n_checkpoints")
        check_count(self.cv, "cv", 2)
        wanted, real = self.accuracy, isinstance(self.accuracy, Real)
        if wanted is not None and (not real or isinstance(wanted, bool) or not 0 < wanted <= 1):
            raise ValueError(f"accuracy must be None or a number above 0 to 1, got {wanted!r}")
        series, codes, _ = check_labelled(self, X, y, None)
        fewest = int(np.bincount(codes).min())
        if fewest < 2:
            raise ValueError("y must have at least two series of each class, got a class with one")
        estimator = self.estimator
        if estimator is None:
            estimator = ElasticFeatureClassifier(500, rescale=False, random_state=0)
        count = min(int(self.n_checkpoints), series.max_length)
        steps = np.linspace(0, series.max_length, count + 1)[1:]
        self.checkpoints_ = np.unique(np.ceil(steps).astype(np.int64))
        folds = StratifiedKFold(min(self.cv, fewest), shuffle=True, random_state=0)
        shape = (len(series), len(self.checkpoints_))
        held_out = _Prefixes(np.empty(shape, np.int64), np.empty(shape))
        for train, test in folds.split(codes, codes):
            model = clone(estimator).fit(series[train], codes[train])
            for place, length in enumerate(self.checkpoints_):
                values = model.decision_function(_prefix(series[test], int(length)))
                held_out.codes[test, place], held_out.margins[test, place] = _read(values)
        right = held_out.codes == codes[:, None]
        self.reliability_ = np.array(
            [_reliability(m, r) for m, r in zip(held_out.margins.T, right.T, strict=True)]
        )
        self.cv_complete_accuracy_ = float(right[:, -1].mean())
        self._choose_threshold(held_out, right, series.lengths)
        self.model_ = clone(estimator).fit(series, codes)
        return self

    def _choose_threshold(
        self, held_out: _Prefixes, right: NDArray[np.bool_], lengths: NDArray[np.int64]
    ) -> None:
        """The smallest threshold that has, with all larger ones, the wanted accuracy."""
        wanted = self.cv_complete_accuracy_ if self.accuracy is None else float(self.accuracy)
        probabilities = self._probabilities(held_out.margins)
        tried = np.unique(np.quantile(probabilities, np.linspace(0, 1, _THRESHOLDS)))
        tried = np.append(tried, 1.0)
        places = [_first(probabilities >= threshold) for threshold in tried]
        cases = np.arange(len(right))
        accuracies = np.array([right[cases, place].mean() for place in places])
        low = np.flatnonzero(accuracies < wanted)
        chosen = min(int(low[-1]) + 1, len(tried) - 1) if len(low) else 0
        used = np.minimum(self.checkpoints_[places[chosen]], lengths) / lengths
        self.threshold_, self.cv_accuracy_ = float(tried[chosen]), float(accuracies[chosen])
        self.cv_earliness_ = float(used.mean())

    def _probabilities(self, margins: Array, place: Any = slice(None)) -> Array:
        """How probable it is that decisions (cases, checkpoints), or those of one, are right."""
        constant, slope = self.reliability_[place].T
        return expit(constant + slope * margins)

    def _judge(
        self, X: SeriesCollection, length: int
    ) -> tuple[NDArray[np.int64], Array, NDArray[np.bool_]]:
        """At a checkpoint: codes, probabilities that they are right, and whether that will do."""
        place = int(np.searchsorted(self.checkpoints_, length))
        codes, margins = _read(self.model_.decision_function(X))
        right = self._probabilities(margins, place)
        last = place == len(self.checkpoints_) - 1
        return codes, right, (right >= self.threshold_) | last

    def decide(self, X: Any) -> EarlyDecisions:
        """Decide each series as early as it is safe.

        Parameters
        ----------
        X : series collection
            Complete series; only what comes before a decision is looked at.

        Returns
        -------
        EarlyDecisions
        """
        check_is_fitted(self, "model_")
        self._check_state()
        series = check_series(self, X, reset=False)
        codes, times = np.zeros(len(series), np.int64), np.zeros(len(series), np.int64)
        probabilities = np.zeros(len(series))
        left = np.arange(len(series))
        for length in self.checkpoints_:
            best, right, safe = self._judge(_prefix(series[left], int(length)), int(length))
            safe |= series.lengths[left] <= length
            now = left[safe]
            codes[now], probabilities[now] = best[safe], right[safe]
            times[now] = np.minimum(length, series.lengths[now])
            left = left[~safe]
            if not len(left):
                break
        earliness = float((times / series.lengths).mean())
        return EarlyDecisions(self.classes_[codes], times, probabilities, earliness)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each series, decided early.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        return self.decide(X).labels

    def stream(self) -> EarlyStream:
        """A decision while samples come in (see `EarlyStream`)."""
        check_is_fitted(self, "model_")
        self._check_state()
        return EarlyStream(self)

    def _check_state(self, whole: bool = False) -> None:
        model = check_fitted_model(self, whole)
        n_classes = check_fitted_classes(self)
        if len(model.classes_) != n_classes:
            raise ValueError(f"model_ must have {n_classes} classes, got {len(model.classes_)}")
        longest = check_fitted_count(self, "n_features_in_")
        checkpoints = check_fitted_array(self, "checkpoints_", (None,), "i")
        if checkpoints[0] < 1 or (np.diff(checkpoints) < 1).any() or checkpoints[-1] != longest:
            raise ValueError("checkpoints_ must ascend from 1 at least to n_features_in_")
        check_fitted_array(self, "reliability_", (len(checkpoints), 2))
        threshold = getattr(self, "threshold_", None)
        if not isinstance(threshold, float) or not 0 <= threshold <= 1:
            raise ValueError(f"threshold_ must be a probability, got {threshold!r}")


class EarlyStream:
    """One series that grows until it is decided.

    Made by `ElasticEarlyClassifier.stream`.  The model is asked at checkpoints only.

    Parameters
    ----------
    early : ElasticEarlyClassifier

    Attributes
    ----------
    label : the class, or None as long as it is not safe to say
    n_samples : int
        Samples so far.
    """

    def __init__(self, early: ElasticEarlyClassifier) -> None:
        self._early = early
        self._samples = np.zeros((1, int(early.checkpoints_[-1]), early.n_channels_in_))
        self.reset()

    def reset(self) -> EarlyStream:
        """Forget all samples and start a new series."""
        self.n_samples = 0
        self.label: Any = None
        return self

    def push(self, sample: Any) -> Any:
        """Take the next sample.

        Parameters
        ----------
        sample : float, or array (channels,)

        Returns
        -------
        The class if it is decided, now or before, else None.
        """
        values = np.atleast_1d(to_floats(sample, "sample"))
        if values.shape != (self._early.n_channels_in_,):
            raise ValueError(
                f"sample must have {self._early.n_channels_in_} channel(s), got shape "
                f"{np.shape(sample)}"
            )
        check_numbers(values, "sample")
        if self.label is None:
            self._samples[0, self.n_samples] = values
        self.n_samples += 1
        if self.label is None and self.n_samples in self._early.checkpoints_:
            so_far = self._samples[:, : self.n_samples].swapaxes(1, 2)
            codes, _, safe = self._early._judge(SeriesCollection.of(so_far.copy()), self.n_samples)
            self.label = self._early.classes_[codes[0]] if safe[0] else None
        return self.label


def _first(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The first column that is set in each row, else the last one."""
    return np.where(mask.any(axis=1), mask.argmax(axis=1), mask.shape[1] - 1)


def _reliability(margins: Array, right: NDArray[np.bool_]) -> tuple[float, float]:
    """Logistic regression of being right on the margin, with an example of either kind added.

    The slope is at least 0: a larger margin is no reason for doubt.
    """
    values = np.concatenate([margins, [np.median(margins)] * 2])[:, None]
    scale = float(values.std()) or 1.0
    model = LogisticRegression().fit(values / scale, np.concatenate([right, [True, False]]))
    slope = float(model.coef_[0, 0]) / scale
    if slope >= 0:
        return float(model.intercept_[0]), slope
    share = (right.sum() + 1) / (len(right) + 2)
    return float(np.log(share / (1 - share))), 0.0
