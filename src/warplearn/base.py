"""What estimators share: scikit-learn's conventions for input that is series.

`n_features_in_` is the length of the longest training series.  Later input may be shorter; what an
estimator does with longer series is its own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from numbers import Real
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, _check_sample_weight, column_or_1d

from warplearn.series.collection import SeriesCollection
from warplearn.series.numbers import LARGEST, check_count, check_numbers, unit_of
from warplearn.series.symbols import Alphabet, is_symbolic

LARGEST_PARAMETER = LARGEST[4]  # parameters and weights are numbers of any precision

SHORTER_SERIES_ARE_VALID = (
    "series shorter than those seen in fit are valid input, so a table with fewer columns is too"
)


def read_series(X: Any, alphabet: Any = None) -> tuple[SeriesCollection, Any]:
    """Take series in any form; sets no attribute.

    Strings and lists of strings are encoded by the alphabet, by default that of the symbols in X.

    Returns
    -------
    SeriesCollection, and the alphabet that encoded it (None for numbers)
    """
    if is_symbolic(X):
        alphabet = Alphabet.infer(X) if alphabet is None else alphabet
        return SeriesCollection.of(X, alphabet=alphabet), alphabet
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        try:  # scikit-learn's convention: numbers in disguise are numbers
            X = X.astype(np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise type(error)(f"X must hold numbers: {error}") from error
    return SeriesCollection.of(X), None


def check_series(estimator: Any, X: Any, *, reset: bool) -> SeriesCollection:
    """Take the series given to `fit` (`reset`) or to a fitted estimator.

    Symbols are encoded by the estimator's `alphabet`; without one, `fit` collects the symbols it
    sees as `alphabet_`.
    """
    if not isinstance(X, SeriesCollection) or hasattr(estimator, "feature_names_in_"):
        _check_feature_names(estimator, X, reset=reset)
    if reset and hasattr(estimator, "alphabet_"):
        del estimator.alphabet_
    known = getattr(estimator, "alphabet" if reset else "alphabet_", None)
    if known is not None and not isinstance(known, Alphabet):
        raise TypeError(f"alphabet must be None or an Alphabet, got {known!r}")
    if not reset and known is None and is_symbolic(X):
        raise ValueError("X holds symbols, but the series seen in fit were numbers")
    collection, alphabet = read_series(X, known)
    if reset and alphabet is not None:
        estimator.alphabet_ = alphabet
    if reset:
        estimator.n_features_in_ = collection.max_length
        estimator.n_channels_in_ = collection.n_channels
    elif collection.n_channels != estimator.n_channels_in_:
        raise ValueError(
            f"X has {collection.n_channels} channel(s), but {type(estimator).__name__} was fitted "
            f"on series of {estimator.n_channels_in_}"
        )
    return collection


def check_labels(X: SeriesCollection, y: Any) -> NDArray[Any]:
    """Class labels, one for each series."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    try:
        labels = column_or_1d(y, warn=True)
    except (ValueError, TypeError) as error:
        raise ValueError(f"y must be a label for each series: {error}") from error
    _check_present(X, labels)
    check_classification_targets(labels)
    return labels


def _check_present(X: SeriesCollection, y: NDArray[Any]) -> None:
    """Check that each series has a label or target."""
    if len(y) != len(X):
        which = f"; {X.place(len(y))} is the first without" if len(y) < len(X) else ""
        raise ValueError(
            "X and y must have as many cases: Found input variables with inconsistent numbers of "
            f"samples: [{len(X)}, {len(y)}]{which}"
        )
    missing = np.zeros(len(y), bool)
    if y.dtype.kind == "f":
        missing = np.isnan(y.reshape(len(y), -1)).any(axis=1)
    elif y.dtype.kind == "O":  # of labels; not a number is not equal to itself
        missing = np.array([value is None or value != value for value in y], bool)
    if missing.any():
        case = int(missing.argmax())
        raise ValueError(
            f"y must be given for each series, but {X.place(case)} has none: {y[case]!r}"
        )


def check_targets(X: SeriesCollection, y: Any) -> NDArray[np.float64]:
    """Targets of a regression, an array (cases,) or (cases, targets)."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None")
    try:
        targets: NDArray[np.float64] = check_array(
            y, ensure_2d=False, allow_nd=False, dtype=np.float64, input_name="y",
            ensure_all_finite="allow-nan",
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"y must be numbers, one or more for each series: {error}") from error
    if targets.ndim == 0:
        raise ValueError(f"y must have a target for each series, got the number {targets}")
    _check_present(X, targets)
    check_numbers(targets, "y")
    return targets


# Fitted attributes, which may come from a file or from a user


Checked = TypeVar("Checked", bound="CheckedState")


class CheckedState:
    """Fitted attributes are checked before they reach compiled code, which does not check them.

    Subclasses say with `_fitted_by` which attribute a fitted estimator has, and override
    `_check_state`.  It is called when a model is loaded or unpickled and, without `whole`, at the
    entry of `predict` and its like: users may set fitted attributes.
    """

    _fitted_by = "coef_"

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """As in scikit-learn, which reads the signature each time: a search asks very often."""
        names: list[str] = super()._get_param_names()  # type: ignore[misc]
        return names

    def _check_state(self, whole: bool = False) -> None:
        """Raise a ValueError that names the first fitted attribute that is wrong.

        `whole` also checks what only further training needs.
        """

    def _fitted_attributes(self) -> dict[str, Any]:
        """What a file keeps: parameters, and the attributes that make a fitted estimator."""
        return dict(vars(self))

    def __copy__(self: Checked) -> Checked:
        """A copy, which need not be checked again."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if self._fitted_by in vars(self):
            self._check_state(whole=True)


def check_fitted_array(
    estimator: Any, name: str, shape: tuple[int | None, ...], kinds: str = "f"
) -> NDArray[Any]:
    """A fitted attribute that is an array of finite numbers.

    Parameters
    ----------
    shape : tuple
        None stands for any positive number.
    kinds : str
        Kinds of data types; "f" is float32 and float64.
    """
    return check_array_of(getattr(estimator, name, None), name, shape, kinds)


def check_array_of(
    value: Any, name: str, shape: tuple[int | None, ...], kinds: str = "f", finite: bool = True
) -> NDArray[Any]:
    """An array of numbers of a shape, or a ValueError that calls it `name`."""
    if type(value) not in (np.ndarray, np.memmap):  # matrices and masked arrays compute otherwise
        raise ValueError(f"{name} must be an array, got {type(value).__name__}")
    half = value.dtype.kind == "f" and value.dtype.itemsize < 4
    known = value.dtype.kind in kinds and value.dtype.itemsize <= 8 and value.dtype.isnative
    if not known or half:
        raise ValueError(f"{name} must hold real numbers, got {value.dtype}")
    fits = value.ndim == len(shape) and all(
        size == wanted if wanted is not None else size >= 1
        for size, wanted in zip(value.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {value.shape}")
    if finite and value.dtype.kind == "f":
        check_numbers(value, name)
    return value


def check_fitted_count(estimator: Any, name: str, least: int = 1) -> int:
    """A fitted attribute that is an integer of at least `least`."""
    return check_count(getattr(estimator, name, None), name, least)


def check_fitted_classes(estimator: Any, least: int = 2) -> int:
    """Check `classes_`, sorted and all different; how many there are."""
    classes: Any = getattr(estimator, "classes_", None)
    known = type(classes) in (np.ndarray, np.memmap)
    if not known or classes.ndim != 1 or len(classes) < least:
        raise ValueError(f"classes_ must be an array of at least {least} classes, got {classes!r}")
    if not bool((classes[:-1] < classes[1:]).all()):
        raise ValueError("classes_ must be sorted and all different")
    return len(classes)


def check_fitted_model(estimator: Any, whole: bool) -> Any:
    """Check `model_`, a classifier that the estimator is made of, and `n_channels_in_`."""
    model: Any = getattr(estimator, "model_", None)
    if not hasattr(model, "decision_function") or not hasattr(model, "classes_"):
        raise ValueError(f"model_ must be a fitted classifier, got {model!r}")
    if isinstance(model, CheckedState):
        model._check_state(whole)
    channels = check_fitted_count(estimator, "n_channels_in_")
    if channels != getattr(model, "n_channels_in_", channels):  # another library's has none
        raise ValueError(f"n_channels_in_ must be that of model_, got {channels}")
    return model


class TargetScale(NamedTuple):
    """Mean and deviation of the targets of a regression, and their form.

    Attributes
    ----------
    mean, deviation : arrays (targets,)
        The deviation of a constant target is 1.
    flat : bool
        Whether predictions are an array (cases,).
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    flat: bool

    @classmethod
    def of(cls, y: NDArray[np.float64]) -> TargetScale:
        """The scale of these targets, an array (cases,) or (cases, targets)."""
        table = y.reshape(len(y), -1)
        unit = unit_of(table, axis=0)  # squares of small numbers would be 0
        deviation = unit * (table / unit).std(axis=0)
        return cls(table.mean(axis=0), np.where(deviation > 0, deviation, 1.0), y.ndim == 1)

    def check(self) -> None:
        """Raise a ValueError if it is none that `of` makes."""
        mean = check_array_of(self.mean, "target_mean_", (None,))
        deviation = check_array_of(self.deviation, "target_scale_", mean.shape)
        if not (deviation > 0).all():
            raise ValueError("target_scale_ must be positive")

    def standardized(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Targets (cases, targets) with mean 0 and deviation 1."""
        table = y.reshape(len(y), -1)
        if table.shape[1] != len(self.mean):
            raise ValueError(
                f"y must have {len(self.mean)} target(s) for each series, as before, "
                f"got {table.shape[1]}"
            )
        return (table - self.mean) / self.deviation

    def shaped(self, predictions: NDArray[Any]) -> NDArray[Any]:
        """Predictions in the form that the targets had."""
        if self.flat:
            return predictions.reshape(len(predictions))
        return predictions.reshape(len(predictions), -1)


def check_weights(X: SeriesCollection, sample_weight: Any) -> NDArray[np.float64]:
    """Non-negative sample weights, ones by default."""
    if sample_weight is None:
        return np.ones(len(X))
    cases = np.broadcast_to(0.0, (len(X), 1))
    try:
        if isinstance(sample_weight, (complex, np.complexfloating)):
            raise TypeError(f"got {sample_weight!r}")
        weights: NDArray[np.float64] = _check_sample_weight(
            sample_weight, cases, dtype=np.float64, ensure_non_negative=True
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"sample_weight must be a number for each series: {error}") from error
    if np.isnan(weights).any():  # scikit-learn does not look at a single number
        raise ValueError(f"sample_weight must be a number for each series, got {sample_weight!r}")
    if not weights.any():
        raise ValueError("sample_weight must be positive for some of the series X, got 0 for all")
    if weights.max() > LARGEST_PARAMETER:
        raise ValueError(
            f"sample_weight must be at most {LARGEST_PARAMETER:.0e}, got {weights.max():.6g} for "
            f"case {weights.argmax()}"
        )
    return weights


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
    check_class_weight(getattr(estimator, "class_weight", None), estimator.classes_)
    return series, codes, weights


def check_class_weight(class_weight: Any, classes: NDArray[Any]) -> None:
    """Weights of classes: "balanced", or numbers of at least 0 for some of the classes."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, dict):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")
    known = classes.tolist()
    for label, weight in class_weight.items():
        if label not in known:
            raise ValueError(f"class_weight names {label!r}, which is none of the classes {known}")
        if not _is_amount(weight):
            raise ValueError(
                f"class_weight[{label!r}] must be a number from 0 to {LARGEST_PARAMETER:.0e}, "
                f"got {weight!r}"
            )


def weights_by_label(class_weight: Any, classes: NDArray[Any]) -> Any:
    """Weights of classes that are named by text, as in files and on a command line, by label."""
    if not isinstance(class_weight, Mapping):
        return class_weight
    labels = {str(label): label for label in classes.tolist()}
    return {labels.get(str(name), name): weight for name, weight in class_weight.items()}


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
    check_class_weight(getattr(estimator, "class_weight", None), estimator.classes_)
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


def hold_out(
    fraction: float,
    cases: NDArray[np.int64],
    strata: NDArray[Any] | None,
    random_state: np.random.RandomState,
) -> NDArray[np.int64]:
    """Series that `validation_fraction` keeps from training, the same fraction of each stratum."""
    from sklearn.model_selection import train_test_split  # takes a tenth of a second to import

    if not isinstance(fraction, Real) or not 0 < float(fraction) < 1:
        raise ValueError(f"validation_fraction must be between 0 and 1, got {fraction!r}")
    classes = 1 if strata is None else len(np.unique(strata[cases]))
    size = max(classes, round(float(fraction) * len(cases)))
    if len(cases) - size < classes:
        raise ValueError(
            f"validation_fraction={fraction!r} of {len(cases)} series leaves "
            f"{max(0, len(cases) - size)} to train on; it must be smaller"
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
        if not _is_amount(value):
            raise ValueError(
                f"{name} must be a number from 0 to {LARGEST_PARAMETER:.0e}, got {value!r}"
            )


def _is_amount(value: Any) -> bool:
    """Whether it is a number of at least 0 that float32 can be multiplied with."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and bool(0 <= value <= LARGEST_PARAMETER)


def check_counts(estimator: Any, *names: str) -> None:
    """Parameters that must be positive integers."""
    for name in names:
        check_count(getattr(estimator, name), name)
