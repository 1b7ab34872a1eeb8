"""`fit` and `partial_fit` of classifiers and regressors that are trained by plans."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from warplearn.base import (
    TargetScale,
    check_classes,
    check_labelled,
    check_labels,
    check_series,
    check_targets,
    check_weights,
    weigh_classes,
)
from warplearn.series.collection import SeriesCollection
from warplearn.training.data import TrainingSet


class TrainedClassifier(ClassifierMixin):
    """Training on labels; estimators have a parameter `class_weight`."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on series X with labels y.

        Parameters
        ----------
        X : series collection
            Anything `SeriesCollection.of` takes, or a list of strings or lists of symbols.
        y : array (cases,)
        sample_weight : array (cases,), optional
        """
        series, codes, weights = check_labelled(self, X, y, sample_weight)
        return self._learn(self._given(series, codes, weights))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Train for one epoch on more series.

        Series longer than any before give the weight matrices more rows, which start at 0.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array, optional
            All classes there will be; needed in the first call.
        """
        first = not hasattr(self, "coef_")
        series = check_series(self, X, reset=first)
        codes = check_classes(self, check_labels(series, y), classes, reset=first)
        data = self._given(series, codes, check_weights(series, sample_weight))
        return self._learn(data, one_epoch=True)

    def _given(
        self, series: SeriesCollection, codes: NDArray[Any], weights: NDArray[np.float64]
    ) -> TrainingSet:
        alphabet = getattr(self, "alphabet_", None)
        cases = np.arange(len(series))
        return TrainingSet(series, codes, weights, cases, self.classes_, alphabet)

    def training_set(
        self,
        X: SeriesCollection,
        y: NDArray[Any],
        weights: NDArray[np.float64],
        cases: NDArray[np.int64],
        alphabet: Any = None,
    ) -> TrainingSet:
        """Some of the series with their labels, as `plan` takes them; sets no attribute."""
        classes = np.unique(y[cases])
        if len(classes) < 2:
            raise ValueError(f"y must hold at least two classes, got 1 class: {classes[0]!r}")
        codes = np.searchsorted(classes, y).clip(max=len(classes) - 1)
        return TrainingSet(X, codes, weights, cases, classes, alphabet)

    def _weights(self, data: TrainingSet) -> NDArray[np.float64]:
        """Weights of the examples, those of their classes included."""
        weights = np.zeros(len(data.X))
        weights[data.cases] = weigh_classes(
            self.class_weight,
            np.asarray(data.classes),
            data.y[data.cases],
            data.weights[data.cases],
        )
        if not weights.any():
            raise ValueError(
                f"class_weight must be positive for some of the series X, got {self.class_weight!r}"
            )
        return weights


class TrainedRegressor(RegressorMixin):
    """Training on one or more numeric targets; the readout has a `TargetScale`."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train on series X with targets y.

        Parameters
        ----------
        X : series collection
            Anything `SeriesCollection.of` takes, or a list of strings or lists of symbols.
        y : array (cases,) or (cases, targets)
        sample_weight : array (cases,), optional
        """
        return self._learn(self._given(X, y, sample_weight, True))

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train for one epoch on more series, which may be longer than any before.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        """
        data = self._given(X, y, sample_weight, not hasattr(self, "coef_"))
        return self._learn(data, one_epoch=True)

    def _given(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> TrainingSet:
        series = check_series(self, X, reset=reset)
        weights = check_weights(series, sample_weight)
        cases = np.arange(len(series))
        return self.training_set(series, y, weights, cases, getattr(self, "alphabet_", None))

    def training_set(
        self,
        X: SeriesCollection,
        y: Any,
        weights: NDArray[np.float64],
        cases: NDArray[np.int64],
        alphabet: Any = None,
    ) -> TrainingSet:
        """Some of the series with their targets, as `plan` takes them; sets no attribute."""
        return TrainingSet(X, check_targets(X, y), weights, cases, alphabet=alphabet)

    def _weights(self, data: TrainingSet) -> NDArray[np.float64]:
        """Weights of the examples."""
        return data.weights

    @property
    def _target_scale(self) -> TargetScale:
        raise NotImplementedError

    @property
    def target_mean_(self) -> NDArray[np.float64]:
        """Mean of the targets."""
        return self._target_scale.mean

    @property
    def target_scale_(self) -> NDArray[np.float64]:
        """Deviation of the targets; 1 of a constant."""
        return self._target_scale.deviation

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
