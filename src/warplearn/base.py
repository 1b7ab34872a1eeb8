"""What estimators share: scikit-learn's conventions for input that is series.

`n_features_in_` is the length of the longest training series.  Later input may be shorter; what an
estimator does with longer series is its own affair.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, _check_sample_weight, column_or_1d

from warplearn.series.collection import SeriesCollection
from warplearn.series.symbols import Alphabet

SHORTER_SERIES_ARE_VALID = (
    "series shorter than those seen in fit are valid input, so a table with fewer columns is too"
)


def _is_symbolic(X: Any) -> bool:
    """Whether X is a list of strings, or of lists of symbols."""
    if not isinstance(X, (list, tuple)) or not len(X):
        return False
    first = X[0]
    if isinstance(first, str):
        return True
    return isinstance(first, (list, tuple)) and len(first) > 0 and isinstance(first[0], str)


def check_series(estimator: Any, X: Any, *, reset: bool) -> SeriesCollection:
    """Take the series given to `fit` (`reset`) or to a fitted estimator.

    Strings and lists of strings are encoded by the estimator's `alphabet`; without one, `fit`
    collects the symbols it sees as `alphabet_`.
    """
    _check_feature_names(estimator, X, reset=reset)
    symbolic = _is_symbolic(X)
    if reset and hasattr(estimator, "alphabet_"):
        del estimator.alphabet_
    if symbolic and reset:
        given = getattr(estimator, "alphabet", None)
        estimator.alphabet_ = Alphabet.infer(X) if given is None else given
    alphabet = getattr(estimator, "alphabet_", None) if symbolic else None
    if symbolic and alphabet is None:
        raise ValueError("X holds symbols, but the series seen in fit were numbers")
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        X = X.astype(np.float64)  # scikit-learn's convention: numbers in disguise are numbers
    collection = SeriesCollection.of(X, alphabet=alphabet)
    if reset:
        estimator.n_features_in_ = collection.max_length
        estimator.n_channels_in_ = collection.n_channels
    elif collection.n_channels != estimator.n_channels_in_:
        raise ValueError(
            f"X has {collection.n_channels} channel(s), but {type(estimator).__name__} was fitted "
            f"on series of {estimator.n_channels_in_}"
        )
    return collection


def check_length(X: SeriesCollection, most: int) -> None:
    """Refuse series longer than the weight matrices of a fitted model."""
    if X.max_length > most:
        raise ValueError(
            f"X[{int(X.lengths.argmax())}] has length {X.max_length}, longer than the longest "
            f"training series, {most}; partial_fit can extend the model"
        )


def check_labels(X: SeriesCollection, y: Any) -> NDArray[Any]:
    """Class labels, one for each series."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    check_classification_targets(labels)
    if len(labels) != len(X):
        raise ValueError(
            f"X and y must have as many cases: Found input variables with inconsistent numbers of "
            f"samples: [{len(X)}, {len(labels)}]"
        )
    return labels


def check_weights(X: SeriesCollection, sample_weight: Any) -> NDArray[np.float64]:
    """Non-negative sample weights, ones by default."""
    return _check_sample_weight(
        sample_weight, X.values[:, 0], dtype=np.float64, ensure_non_negative=True
    )


def check_labelled(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[SeriesCollection, NDArray[np.int64], NDArray[np.float64]]:
    """Take what a classifier's `fit` is given: series, numbers of the classes, weights.

    Sets `classes_`.
    """
    series = check_series(estimator, X, reset=True)
    labels = check_labels(series, y)
    weights = check_weights(series, sample_weight)
    estimator.classes_, codes = np.unique(labels, return_inverse=True)
    if len(estimator.classes_) < 2:
        raise ValueError(
            f"y must hold at least two classes, got 1 class: {estimator.classes_[0]!r}"
        )
    return series, codes, weights


def check_classes(
    estimator: Any, labels: NDArray[Any], classes: Any, *, reset: bool
) -> NDArray[np.int64]:
    """Take the labels and classes given to `partial_fit`; numbers of the classes.

    The first call (`reset`) says which classes there will be, and sets `classes_`.
    """
    if reset:
        if classes is None:
            raise ValueError("classes must be given in the first call of partial_fit, got None")
        estimator.classes_ = np.unique(classes)
    elif classes is not None and not np.array_equal(np.unique(classes), estimator.classes_):
        raise ValueError(f"classes must stay the same, {estimator.classes_!r}, got {classes!r}")
    if len(estimator.classes_) < 2:
        raise ValueError(f"classes must hold at least two classes, got {estimator.classes_!r}")
    unknown = set(labels) - set(estimator.classes_)
    if unknown:
        raise ValueError(f"y holds labels that are not in classes: {sorted(unknown)!r}")
    return np.searchsorted(estimator.classes_, labels)


def weigh_classes(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sample weights times those of their classes."""
    if class_weight is None:
        return weights
    present = np.unique(codes[weights > 0])
    by_class = np.ones(len(classes))
    if isinstance(class_weight, dict):
        labels = list(classes)
        class_weight = {labels.index(c): w for c, w in class_weight.items() if c in labels}
    by_class[present] = compute_class_weight(class_weight, classes=present, y=codes[weights > 0])
    return weights * by_class[codes]


def element_scales(X: SeriesCollection) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of all elements of each channel; 1 for the deviation of a constant."""
    inside = np.arange(X.max_length) < X.lengths[:, None]
    elements = X.values[inside].astype(np.float64)
    scale = elements.std(axis=0)
    return elements.mean(axis=0), np.where(scale > 0, scale, 1.0)


def standardized(
    X: SeriesCollection, mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> SeriesCollection:
    """Series of the same dtype whose channels are shifted and scaled, 0 behind their end."""
    inside = (np.arange(X.max_length) < X.lengths[:, None])[..., None]
    values = np.where(inside, (X.values - mean) / scale, 0.0).astype(X.dtype)
    return SeriesCollection(values, X.lengths)


def hold_out(
    share: float,
    weights: NDArray[np.float64],
    strata: NDArray[Any] | None,
    random_state: np.random.RandomState,
) -> NDArray[np.int64]:
    """Which series a parameter `validation_share` keeps from training, each stratum its share."""
    if not isinstance(share, Real) or not 0 <= share < 1:
        raise ValueError(f"validation_share must be at least 0 and below 1, got {share!r}")
    if share == 0:
        return np.empty(0, np.int64)
    cases = np.flatnonzero(weights)
    classes = 1 if strata is None else len(np.unique(strata[cases]))
    size = max(classes, round(share * len(cases)))
    if len(cases) - size < classes:
        raise ValueError(
            f"validation_share={share!r} of {len(cases)} series leaves "
            f"{max(0, len(cases) - size)} to train on; it must be smaller, or 0"
        )
    held_out: NDArray[np.int64] = train_test_split(
        cases, test_size=size, random_state=random_state,
        stratify=None if strata is None else strata[cases],
    )[1]  # fmt: skip
    return np.sort(held_out)


def check_not_negative(estimator: Any, *names: str) -> None:
    """Parameters that must be numbers of at least 0."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name} must be a number of at least 0, got {value!r}")


def check_counts(estimator: Any, *names: str) -> None:
    """Parameters that must be positive integers."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive integer, got {value!r}")
