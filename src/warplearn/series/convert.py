"""Ways in: arrays, lists and data frames become values and lengths.

Functions here return the two arrays of a `SeriesCollection`: `values` of shape
(cases, time, channels), zero behind the end of each series, and `lengths`.  All input is checked
here and nowhere else, so that everything else may take finite numbers for granted.

Arrays of float32 and float64 are viewed and never copied, a memory map included.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn.series.numbers import check_numbers, usable
from warplearn.series.steps import check_choices, interpolated

__all__ = ["FloatArray", "check_finite", "convert", "empty_error", "to_floats"]

FloatArray: TypeAlias = NDArray[np.floating[Any]]
ValuesAndLengths: TypeAlias = tuple[FloatArray, NDArray[np.int64]]

LAYOUTS = ("aeon", "tslearn")


def convert(
    X: Any, layout: str | None, name: str, missing: str = "error", *, may_be_padded: bool = True
) -> ValuesAndLengths:
    """Values and lengths of the series in an array, a list or a data frame.

    A list of series says itself how long they are; an array or a data frame may be padded with NaN.
    """
    check_choices(None, missing)
    of = _of_list if isinstance(X, (list, tuple)) else _of_array
    values, lengths = of(X, layout, name)
    if usable(values):
        return values, lengths
    if layout == "tslearn" or (may_be_padded and of is _of_array):
        values, lengths = _cut_padding(values, name, expected=layout == "tslearn")
    if missing == "interpolate":
        values = _without_missing(values, lengths, name)
    check_finite(values, name)
    return values, lengths


def empty_error(name: str, what: str, shape: tuple[int, ...]) -> ValueError:
    """The error for input with none of `what`, in scikit-learn's words, which its users know."""
    return ValueError(
        f"{name}: Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
    )


def _of_array(X: Any, layout: str | None, name: str) -> ValuesAndLengths:
    array = to_floats(X, name)
    if array.ndim < 2:
        raise _not_2d(name, f"{array.ndim}D array instead, of shape {array.shape}")
    values = _oriented(array, layout, name, ("cases",))
    return values, np.full(len(values), values.shape[1], dtype=np.int64)


def _of_list(X: Sequence[Any], layout: str | None, name: str) -> ValuesAndLengths:
    series: list[FloatArray] = []
    for case, x in enumerate(X):
        array = to_floats(x, f"{name}[{case}]")
        if array.ndim == 0:
            raise _not_2d(name, f"1D array instead: {name}[{case}] is the number {array}")
        series.append(_oriented(array, layout, f"{name}[{case}]"))
        if series[case].shape[1] != series[0].shape[1]:
            raise ValueError(
                "all series must have the same number of channels, but "
                f"{name}[{case}] has {series[case].shape[1]} and {name}[0] {series[0].shape[1]}"
            )
    if not series:
        raise empty_error(name, "sample", (0,))
    lengths = np.array([len(x) for x in series], dtype=np.int64)
    shape = (len(series), int(lengths.max()), series[0].shape[1])
    padding = np.nan if layout == "tslearn" else 0.0
    values = np.full(shape, padding, dtype=np.result_type(*{x.dtype for x in series}))
    for x, padded in zip(series, values, strict=True):
        padded[: len(x)] = x
    return values, lengths


def to_floats(X: Any, name: str) -> FloatArray:
    """`X` as an array of float32 or float64, and `X` itself where it is one."""
    if type(X) is np.ndarray and X.dtype in (np.float32, np.float64):
        return X  # what follows would too, but a list may hold very many series
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(f"{name} must be dense, got a sparse {type(X).__name__}: pass .toarray()")
    if np.ma.is_masked(X):
        raise ValueError(f"{name} must have no masked values, which NumPy would uncover")
    try:
        array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    except ValueError as error:
        raise ValueError(f"{name} must be an array or convert to one: {error}") from error
    kind = array.dtype.kind
    if kind == "c":
        raise ValueError(f"{name}: Complex data not supported, got {array.dtype}")
    if kind == "O" and array.ndim == 0:
        raise TypeError(f"{name} must be an array, a list or a data frame, got {type(X).__name__}")
    if kind not in "fiub":
        raise TypeError(
            f"{name} must hold real numbers, got dtype {array.dtype}; "
            "to use strings or other symbols, pass alphabet="
        )
    small = kind == "f" and array.dtype.itemsize <= 4
    with np.errstate(over="ignore"):  # of long doubles; infinity is refused later, with its place
        return array.astype(np.float32 if small else np.float64, copy=False)


def _oriented(
    array: FloatArray, layout: str | None, name: str, cases: tuple[str, ...] = ()
) -> FloatArray:
    """View an array as ([cases,] time, channels)."""
    axes = ("time", "channels") if layout == "tslearn" else ("channels", "time")
    if array.ndim > len(cases + axes):
        raise ValueError(
            f"{name} must have no more axes than ({', '.join(cases + axes)}), "
            f"got shape {array.shape}"
        )
    if 0 in array.shape:
        raise empty_error(name, "sample" if cases and not len(array) else "feature", array.shape)
    if array.ndim < len(cases + axes):
        return array[..., None]
    return array if layout == "tslearn" else array.swapaxes(-1, -2)


def check_finite(values: FloatArray, name: str) -> None:
    """Refuse NaN, infinity and numbers that are too large."""
    place = "case {}, position {}" + (", channel {}" if values.shape[2] > 1 else "")
    check_numbers(values, name, place)


def _cut_padding(values: FloatArray, name: str, *, expected: bool) -> ValuesAndLengths:
    """Replace NaN behind the end of each series by zeros, and find the ends.

    Where padding is not `expected`, a warning says what was taken for it.
    """
    time = np.arange(values.shape[1], dtype=np.int64)
    lengths = np.max((time + 1) * ~np.isnan(values).all(axis=2), axis=1)
    if not lengths.all():
        raise empty_error(f"{name}[{lengths.argmin()}]", "feature", (0, values.shape[2]))
    padded = lengths < values.shape[1]
    if padded.any() and not expected:
        warnings.warn(
            f"{name}: {int(padded.sum())} of {len(values)} series end in NaN, which is taken as "
            f"padding: their lengths are {lengths[padded].min()} to {lengths[padded].max()}",
            UserWarning,
            stacklevel=2,
        )
    values = values[:, : lengths.max()]
    if lengths.min() < lengths.max():
        inside = time[: lengths.max()] < lengths[:, None]
        values = np.where(inside[:, :, None], values, values.dtype.type(0))
    return values, lengths


def _without_missing(values: FloatArray, lengths: NDArray[np.int64], name: str) -> FloatArray:
    """Interpolate NaN inside of series."""
    values = values.copy()
    for case in np.flatnonzero(np.isnan(values).any(axis=(1, 2))):
        own = values[case, : lengths[case]]
        own[:] = interpolated(own, np.arange(len(own)), f"{name}[{case}]")
    return values


def _not_2d(name: str, what: str) -> ValueError:
    return ValueError(
        f"{name}: Expected 2D array, got {what}. "
        f"Reshape your data: one series is a collection of one, {name}[None, :] or [{name}]."
    )
