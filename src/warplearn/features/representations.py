"""The representations of a series that filters slide along, and common scales of series.

A representation is a function of padded series (cases, time, channels) and their lengths, and
returns the same two for the represented series.  Values past the end of a series are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from warplearn.series.chunks import chunks
from warplearn.series.collection import SeriesCollection

Array: TypeAlias = NDArray[Any]

_SMOOTH_WIDTH = 9  # time points averaged by the representation "smooth"
_SAME = 0.01  # of the deviation: means and deviations that differ by less are the same


def within(values: Array, lengths: Array) -> Array:
    """Whether a time point belongs to its series; an array (cases, time, 1)."""
    mask: Array = (np.arange(values.shape[1]) < lengths[:, None])[..., None]
    return mask


def _own_scales(values: Array, lengths: Array) -> Array:
    """Mean and deviation of each series, an array (2, cases, 1, channels)."""
    mask, counts = within(values, lengths), lengths[:, None, None]
    mean = np.where(mask, values, 0).sum(axis=1, keepdims=True) / counts
    squares = np.where(mask, (values - mean) ** 2, 0).sum(axis=1, keepdims=True)
    return np.stack([mean, np.sqrt(squares / counts)])


def common_scales(X: SeriesCollection) -> Array:
    """Mean and deviation (2, channels) that all series have in common; 0 where they differ.

    One series has nothing in common with others, and constant ones have no deviation.
    """
    parts = [_own_scales(X[c].values.astype(np.float64), X[c].lengths) for c in chunks(X)]
    own = np.concatenate(parts, axis=1)[:, :, 0]
    common = own.mean(axis=1)
    same = (np.abs(own - common[:, None]) <= _SAME * common[1]).all(axis=(0, 1))
    return np.where(same & (len(X) > 1), common, 0)


def rescaled(values: Array, lengths: Array, common: Array) -> Array:
    """Series (cases, time, channels) with the mean and deviation that training series have.

    A channel without a common deviation is left as it is, and a constant one stays constant.
    """
    if not common[1].any():
        return values
    mean, deviation = _own_scales(values, lengths)
    factor = common[1] / np.where(deviation > 0, deviation, np.inf)
    return np.where(common[1] > 0, (values - mean) * factor + common[0], values)


def _raw(values: Array, lengths: Array) -> tuple[Array, Array]:
    return values, lengths


def _differences(values: Array, lengths: Array) -> tuple[Array, Array]:
    """Differences of neighbours; a series of one element has one difference, 0."""
    steps = np.diff(values, axis=1, append=values[:, -1:])
    return np.where(within(values, lengths - 1), steps, 0), np.maximum(lengths - 1, 1)


def _second_differences(values: Array, lengths: Array) -> tuple[Array, Array]:
    return _differences(*_differences(values, lengths))


def _smooth(values: Array, lengths: Array) -> tuple[Array, Array]:
    """Moving averages of nine time points, of fewer at the ends."""
    mask = within(values, lengths)
    sums, counts = (
        uniform_filter1d(terms.astype(np.float64), _SMOOTH_WIDTH, axis=1, mode="constant")
        for terms in (np.where(mask, values, 0), mask)
    )
    return np.where(mask, sums / np.where(mask, counts, 1), 0), lengths


REPRESENTATIONS: dict[str, Callable[[Array, Array], tuple[Array, Array]]] = {
    "raw": _raw,
    "differences": _differences,
    "second_differences": _second_differences,
    "smooth": _smooth,
}
