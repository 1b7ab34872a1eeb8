"""The representations of a series that filters slide along.

A representation is a function of padded series (cases, time, channels) and their lengths, and
returns the same two for the represented series.  Values past the end of a series are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

Array: TypeAlias = NDArray[Any]

_SMOOTH_WIDTH = 9  # time points averaged by the representation "smooth"


def within(values: Array, lengths: Array) -> Array:
    """Whether a time point belongs to its series; an array (cases, time, 1)."""
    mask: Array = (np.arange(values.shape[1]) < lengths[:, None])[..., None]
    return mask


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
