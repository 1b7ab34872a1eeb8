"""Channels derived from a series, each element from the samples up to it.

So they can be computed while a series grows, and a model of derived channels can be streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import check_finite

__all__ = ["DERIVED", "RAW", "derived", "derived_values"]

Array: TypeAlias = NDArray[Any]

RAW = ("raw",)
_WINDOW = 9  # samples whose deviation the channel "deviations" is


def _raw(values: Array) -> Array:
    return values


def _differences(values: Array) -> Array:
    """What each sample adds to the one before; 0 for the first."""
    return np.diff(values, axis=1, prepend=values[:, :1])


def _sums(values: Array) -> Array:
    """Sums of the samples so far."""
    return values.cumsum(axis=1)


def _deviations(values: Array) -> Array:
    """Standard deviations of the last nine samples; the first sample stands for those before."""
    before = np.repeat(values[:, :1], _WINDOW - 1, axis=1)
    windows = sliding_window_view(np.concatenate([before, values], axis=1), _WINDOW, axis=1)
    return windows.std(axis=-1)


DERIVED: dict[str, Callable[[Array], Array]] = {
    "raw": _raw,
    "differences": _differences,
    "sums": _sums,
    "deviations": _deviations,
}


def derived_values(values: Array, names: Sequence[str]) -> Array:
    """An array (cases, time, channels of all names) of an array (cases, time, channels)."""
    with np.errstate(over="ignore", invalid="ignore"):
        channels = [DERIVED[name](values.astype(np.float64)) for name in names]
        return np.concatenate(channels, axis=2).astype(values.dtype)


def derived(X: SeriesCollection, names: Sequence[str]) -> SeriesCollection:
    """Series with the channels of all names in place of their own; of the same lengths."""
    if tuple(names) == RAW:
        return X
    inside = (np.arange(X.max_length) < X.lengths[:, None])[..., None]
    values = np.where(inside, derived_values(X.values, names), 0).astype(X.dtype)
    check_finite(values, "X, summed over time,")
    return SeriesCollection._trusted(values, X.lengths)
