"""One pair of series: the columns of a single grid in lanes (see `recursion/lone`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.recursion.grid import NO_BAND, Band, row_limits
from warplearn._kernels.recursion.lone import (
    Lone,
    Stripes,
    lone_forward,
    lone_path,
    reverse,
    reversed_size,
    room_for_grid,
)
from warplearn._kernels.recursion.steps import step_bytes
from warplearn._kernels.simd.arrays import empty, fill, flat, zeros
from warplearn._kernels.simd.compiling import entry, inner
from warplearn._kernels.simd.constants import NO, YES, Static, value_of, when
from warplearn._kernels.simd.numbers import lesser
from warplearn._kernels.simd.target import pair_lanes
from warplearn._kernels.simd.vector import splat


class PairPath(NamedTuple):
    """The score of a pair and the cells of its best path, from the first to the last."""

    value: float
    path: NDArray[np.int64]


@inner
def _stripes_of(config, band, k, m):
    """Which rows of each column exist; steps of a stripe follow those of the stripe before."""
    count = value_of(config.lanes)
    first, last = empty(m, np.int64), empty(m, np.int64)
    fill(first, 0)
    fill(last, k - 1)
    when(config.banded, row_limits, band, m, k, first, last)  # the band of the transposed grid
    begins = empty((m + count - 1) // count, np.int64)
    total = 0
    for stripe in range(len(begins)):
        begin, end = stripe * count, lesser((stripe + 1) * count, m)
        begins[stripe] = total - first[begin]
        total += last[end - 1] + end - begin - first[begin]
    return Stripes(first, last, begins), total


@inner
def _by_channels(count, y, m, channels):
    """A series of length m with its channels one after the other, zeros behind each."""
    padded = (m + count - 1) // count * count
    result = empty(channels * padded, y)
    for c in range(channels):
        for j in range(padded):
            result[c * padded + j] = y[j * channels + c] if j < m else 0
    return result


@entry
def _score_pair(config, cost, x, y, band):
    """Score of the best path; `x` and `y` are flat, elements (time, channel)."""
    count, channels = value_of(config.lanes), value_of(config.channels)
    k, m = len(x) // channels, len(y) // channels
    reversed_x = empty(channels * reversed_size(count, k), x)
    reverse(count, x, 0, channels, k, channels, reversed_x)
    stripes, total = _stripes_of(config, band, k, m)
    size = total * step_bytes(splat(config.lanes, x.dtype.type(0)))
    steps = empty(size if value_of(config.traced) else 0, np.uint8)
    room = room_for_grid(config.lanes, k, x)
    w = _by_channels(count, y, m, channels)
    value = lone_forward(config, cost, reversed_x, k, w, m, stripes, room, steps)
    path = empty((k + m - 1 if value_of(config.traced) else 0, 2), np.int64)
    length = zeros(1, np.int64)
    when(config.traced, lone_path, config.lanes, x, k, m, stripes.begins, steps, path, length)
    return value, path[: length[0]]


def score_pair(
    cost: Any, x: NDArray[Any], y: NDArray[Any], *, band: Band | None = None, path: bool = False
) -> PairPath:
    """Score two series, and find their best path.

    Parameters
    ----------
    cost : local score
    x, y : arrays of shape (time, channels)
    path : bool
        Whether the path is wanted; else it is empty.
    """
    channels = x.shape[1]
    config = Lone(
        pair_lanes(x.dtype),
        Static(1) if channels == 1 else channels,
        NO,
        YES if path else NO,
        NO if band is None else YES,
    )
    value, cells = _score_pair(config, cost, flat(x), flat(y), band or NO_BAND)
    return PairPath(value, cells[::-1])
