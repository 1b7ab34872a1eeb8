"""Every window of a recording against every matrix: lanes are windows.

Windows of one length overlap, so they are not cut out of the recording: a block of consecutive
ones is put into lanes as it is needed.  With a stride of 1 and one channel, a row of a block is
one load from the recording; else rows are turned into lanes as for series (`blocks.pack`).  A
window is normalized where it lies, in its lane, and the recursion is that of `forward`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from warplearn._kernels.drivers.blocks import pack
from warplearn._kernels.recursion.forward import Config, Ends, Operands, Work, forward
from warplearn._kernels.recursion.grid import NO_BAND, Band, lane_limits, room_for_limits
from warplearn._kernels.simd.arrays import empty, fill, flat
from warplearn._kernels.simd.compiling import entry, inner, parallel_entry
from warplearn._kernels.simd.constants import NO, ZERO, Static, constants, value_of, when
from warplearn._kernels.simd.numbers import lesser
from warplearn._kernels.simd.target import lanes_for
from warplearn._kernels.simd.threads import in_threads, thread_count, worth_threads
from warplearn._kernels.simd.vector import BATCH, absolute, load, root, splat, store, where


@constants
class Plan(NamedTuple):
    """What a kernel is compiled for."""

    lanes: Static
    channels: Static | int
    banded: Static
    normalized: Static


class Recording(NamedTuple):
    """A recording and its windows.

    Samples (time, channels), flat; the first sample of each window; their common length; and the
    deviation, as a share of the mean, up to which a window counts as constant.
    """

    samples: Any
    starts: Any
    length: int
    least_deviation: Any


class Matrices(NamedTuple):
    """Matrices, flat: how far they and their rows are apart, their columns, and the band."""

    values: Any
    stride: int
    row_stride: int
    columns: int
    band_cells: int
    band_share: float


@inner
def _lay_out(lanes, channels, recording, first, filled, begins, block):
    """Put windows from `first` on into lanes, the last one again in lanes that are left over."""
    count, d = value_of(lanes), value_of(channels)
    samples, starts, length = recording.samples, recording.starts, recording.length
    for lane in range(count):
        begins[lane] = starts[first + lesser(lane, filled - 1)] * d
    neighbours = d == 1 and filled == count
    for lane in range(1, count):
        neighbours = neighbours and begins[lane] == begins[lane - 1] + 1
    if not neighbours:
        pack(lanes, samples, begins, 0, length * d, block)
        return
    for t in range(length):
        store(block, t * count, load(lanes, samples, begins[0] + t))


@inner
def _normalize(lanes, channels, recording, block):
    """Give every channel of every lane mean 0 and deviation 1; constants become 0.

    The mean of what is left by subtracting the mean corrects it: a recording may be far from 0.
    """
    count, d, length = value_of(lanes), value_of(channels), recording.length
    kind = block.dtype.type
    zero, one = splat(lanes, kind(0)), splat(lanes, kind(1))
    share = kind(1) / kind(length)
    for c in range(d):
        summed, rest, squares = zero, zero, zero
        for t in range(length):
            summed = summed + load(lanes, block, (t * d + c) * count)
        mean = summed * share
        for t in range(length):
            value = load(lanes, block, (t * d + c) * count) - mean
            store(block, (t * d + c) * count, value)
            rest = rest + value
            squares = squares + value * value
        rest = rest * share
        deviation = root(absolute(squares * share - rest * rest))
        varies = deviation > absolute(mean) * recording.least_deviation
        factor = where(varies, one / where(varies, deviation, one), zero)
        for t in range(length):
            value = load(lanes, block, (t * d + c) * count)
            store(block, (t * d + c) * count, (value - rest) * factor)


@inner
def _write(lane_values, first, filled, units, unit, values):
    for lane in range(filled):
        values[(first + lane) * units + unit] = lane_values[lane]


@inner
def _score_task(plan, cost, recording, matrices, units, values, task, tasks):
    lanes, channels, count = plan.lanes, plan.channels, value_of(plan.lanes)
    config = Config(lanes, BATCH, channels, NO, plan.banded)
    length, m = recording.length, matrices.columns
    windows = len(recording.starts)
    block = empty(length * value_of(channels) * count, values)
    kept, lane_values = empty(m * count, values), empty(count, values)
    last_rows = empty(count, values)
    begins, rows = empty(count, np.int64), empty(count, np.int64)
    fill(last_rows, length - 1)
    fill(rows, length)
    limits = room_for_limits(lanes, plan.banded, length, values)
    band = Band(matrices.band_cells, matrices.band_share)
    when(plan.banded, lane_limits, lanes, band, rows, length, m, limits)
    ends = Ends(last_rows, length, length)
    work = Work(kept, empty(0, np.uint8))
    for number in range(task, (windows + count - 1) // count, tasks):
        first = number * count
        filled = lesser(count, windows - first)
        _lay_out(lanes, channels, recording, first, filled, begins, block)
        when(plan.normalized, _normalize, lanes, channels, recording, block)
        for unit in range(units):
            w_start = unit * matrices.stride
            operands = Operands(block, ZERO, matrices.values, w_start, matrices.row_stride, m)
            store(lane_values, 0, forward(config, cost, operands, ends, limits, work))
            _write(lane_values, first, filled, units, unit, values)


@entry
def _score_serial(plan, cost, recording, matrices, units, values, tasks):
    for task in range(tasks):
        _score_task(plan, cost, recording, matrices, units, values, task, tasks)


@parallel_entry
def _score_parallel(plan, cost, recording, matrices, units, values, tasks):
    for task in prange(tasks):
        _score_task(plan, cost, recording, matrices, units, values, np.int64(task), tasks)


def window_scores(
    cost: Any,
    samples: NDArray[Any],
    starts: NDArray[np.int64],
    length: int,
    w: NDArray[Any],
    *,
    least_deviation: float | None = None,
    band: Band | None = None,
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Score windows of a recording against every matrix.

    Parameters
    ----------
    cost : local score
    samples : array (time, channels)
    starts : array (windows,)
        The first sample of each window; windows that follow each other sample by sample are
        quickest.
    length : int
        Of all windows; at most the number of rows of the matrices.
    w : array (matrices, rows, columns, channels), or (matrices, columns, channels)
        Of the dtype of the samples.  The second form is as for `evaluate`.
    least_deviation : float, optional
        If given, each channel of each window is given mean 0 and deviation 1 first, unless its
        deviation is at most this share of its mean: then it becomes 0.

    Returns
    -------
    array (windows, matrices)
    """
    m, d = w.shape[-2:]
    plan = Plan(
        lanes_for(samples.dtype),
        Static(1) if d == 1 else d,
        Static(band is not None),
        Static(least_deviation is not None),
    )
    row_stride = 0 if w.ndim == 3 else m * d
    matrices = Matrices(flat(w), w.size // len(w), row_stride, m, *(band or NO_BAND))
    values = np.empty(len(starts) * len(w), samples.dtype)
    blocks = -(-len(starts) // plan.lanes.value)
    cells = float(len(starts)) * length * m * len(w)
    tasks = max(1, min(blocks, worth_threads(thread_count(n_jobs), cells)))
    least = samples.dtype.type(least_deviation or 0)
    recording = Recording(flat(samples), flat(starts), length, least)
    arguments = (plan, cost, recording, matrices, len(w), values, tasks)
    in_threads(_score_serial, _score_parallel, arguments, tasks)
    return values.reshape(len(starts), len(w))
