"""Matrices that slide along series, and the gradients of their outputs.

Every window of every series meets every matrix, in the recursion of `forward` and on the way back
of `backward`; lanes are consecutive windows.  A window is read from the series where it lies: what
stands in a block serves all matrices, and gradients return from the block to the series once.

A task takes some consecutive series.  Where gradients are added up, the number of tasks does not
depend on the number of threads, so results do not either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import MASK_DTYPES, flat
from warplearn._kernels.recursion.backward import backward
from warplearn._kernels.recursion.forward import forward
from warplearn._kernels.recursion.grid import NO_BAND, ROWS, Band, lane_limits, room_for_limits
from warplearn._kernels.simd.records import ZERO, Static, facts, number
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import BATCH, aligned_empty, fill, lanes_for, store

_NO = Static(0)
_MOST_TASKS = 16  # that add up gradients, each in an array of its own


@njit(nogil=True)
def _place_lanes(geometry, first, filled, count, starts, places, runs):
    """Where the windows of a block begin in x, and their outputs; returns the number of runs.

    Lanes from `runs[i]` to `runs[i + 1]` are of one series: their outputs are neighbours.
    """
    x_item, out_item, positions, stride = geometry
    case, position = first // positions, first % positions
    found = 0
    for lane in range(filled):
        if lane == 0 or position == 0:
            runs[found] = lane
            found += 1
        starts[lane] = case * x_item + position * stride
        places[lane] = case * out_item + position
        position += 1
        if position == positions:
            case, position = case + 1, ZERO
    runs[found] = filled
    for lane in range(filled, count):
        starts[lane] = starts[filled - 1]
    return found


@njit(nogil=True)
def _run_task(plan, cost, x, w, shape, geometry, band, upstream, output, first, stop, task):
    lanes, channels, banded, traced, want_series, want_matrix = plan
    units, k, m, time, dilation = shape
    _, _, positions, _ = geometry
    values, to_x, to_w, mask = output
    count, d = number(lanes), number(channels)
    w_item = k * m * d

    block = aligned_empty(k * d * count, x)
    slopes = aligned_empty(k * d * count if number(want_series) else 0, x)
    kept = aligned_empty(m * count, x)
    ends, lane_values = aligned_empty(count, x), aligned_empty(count, x)
    fill(ends, k - 1)
    starts, places = np.empty(count, np.int64), np.empty(count, np.int64)
    runs = np.empty(count + 1, np.int64)
    low, high, hull = room_for_limits(lanes, banded, k, x)
    if number(banded):
        rows = np.empty(count, np.int64)
        fill(rows, k)
        lane_limits(lanes, band, rows, k, m, low, high, hull)
    padded = (k + ROWS - 1) // ROWS * ROWS
    steps = np.empty(2 * padded * m if number(traced) else 0, mask.dtype)
    marks, cells = np.empty(m, np.int64), np.empty((0, 3), np.int64)

    for window in range(first * positions, stop * positions, count):
        filled = min(count, stop * positions - window)
        wanted = -1 if filled == 64 else (1 << filled) - 1
        many = _place_lanes(geometry, window, filled, count, starts, places, runs)
        for i in range(k):
            for c in range(d):
                at, offset = (i * d + c) * count, c * time + i * dilation
                for lane in range(count):
                    block[at + lane] = x[starts[lane] + offset]
        fill(slopes, 0)
        for unit in range(units):
            best = forward(
                lanes, BATCH, channels, traced, banded, cost,
                block, 0, w, unit * w_item, m * d, m, ends, k, k, low, high, hull, kept, steps,
            )  # fmt: skip
            if not number(traced):
                store(lane_values, 0, best)
                for run in range(many):
                    place = places[runs[run]] - runs[run] + unit * positions
                    for lane in range(runs[run], runs[run + 1]):
                        values[place + lane] = lane_values[lane]
            else:
                fill(lane_values, 0)
                for run in range(many):
                    place = places[runs[run]] - runs[run] + unit * positions
                    for lane in range(runs[run], runs[run + 1]):
                        lane_values[lane] = upstream[place + lane]
                backward(
                    lanes, BATCH, channels, want_series, want_matrix, _NO, _NO, cost,
                    block, 0, w, unit * w_item, m * d, m, ends, k, k, steps, wanted, lane_values,
                    slopes, 0, to_w[task], unit * w_item, kept, marks, cells,
                )  # fmt: skip
        if number(want_series):
            for i in range(k):
                for c in range(d):
                    at, offset = (i * d + c) * count, c * time + i * dilation
                    for lane in range(filled):
                        to_x[starts[lane] + offset] += slopes[at + lane]


@njit(nogil=True, cache=True)
def _serial(plan, cost, x, w, shape, geometry, band, upstream, output, series, tasks):
    for task in range(tasks):
        first, stop = task * series // tasks, (task + 1) * series // tasks
        _run_task(plan, cost, x, w, shape, geometry, band, upstream, output, first, stop, task)


@njit(nogil=True, cache=True, parallel=True)
def _parallel(plan, cost, x, w, shape, geometry, band, upstream, output, series, tasks):
    for index in prange(tasks):
        task = np.int64(index)
        first, stop = task * series // tasks, (task + 1) * series // tasks
        _run_task(plan, cost, x, w, shape, geometry, band, upstream, output, first, stop, task)


class Slide(NamedTuple):
    """Values (series, matrices, positions), or the gradients of their weighted sum."""

    values: Any = None
    series_gradient: Any = None
    matrix_gradient: Any = None


def slide(
    cost: Any,
    x: NDArray[Any],
    w: NDArray[Any],
    *,
    stride: int = 1,
    dilation: int = 1,
    band: Band | None = None,
    upstream: NDArray[Any] | None = None,
    want_series: bool = False,
    want_matrix: bool = False,
    n_jobs: int | None = None,
) -> Slide:
    """Score the windows of every series against every matrix.

    Parameters
    ----------
    cost : local score
    x : array (series, channels, time)
    w : array (matrices, rows, columns, channels)
        A window has as many elements as a matrix has rows.
    stride, dilation : int
        From one window to the next; from one element of a window to the next.
    band : Band, optional
    upstream : array (series, matrices, positions)
        Needed for gradients: the weights of the values in the sum.
    want_series, want_matrix : bool
        Which gradients; without any, values.
    """
    n_series, d, time = x.shape
    units, k, m, _ = w.shape
    positions = (time - (k - 1) * dilation - 1) // stride + 1
    dtype, traced = x.dtype, want_series or want_matrix
    lanes = lanes_for(dtype)
    threads = thread_count(n_jobs)
    worth_it = max(1, n_series * positions // (4 * lanes.value))  # of which few are not full
    tasks = min(n_series, worth_it, _MOST_TASKS if traced else threads)
    values = np.empty((n_series, units, positions) if not traced else 0, dtype)
    to_x = np.zeros(x.size if want_series else 0, dtype)
    to_w = np.zeros((tasks, w.size if want_matrix else 0), dtype)
    weights = np.empty(0, dtype) if upstream is None else flat(np.asarray(upstream, dtype))
    plan = facts(
        lanes,
        Static(1) if d == 1 else d,
        Static(band is not None),
        Static(traced),
        Static(want_series),
        Static(want_matrix),
    )
    shape = (units, k, m, time, dilation)
    geometry = (d * time, units * positions, positions, stride)
    output = (values.reshape(-1), to_x, to_w, np.empty(0, MASK_DTYPES[lanes.value]))
    arguments = (
        plan, cost, flat(x), flat(w), shape, geometry, band or NO_BAND, weights, output,
        n_series, tasks,
    )  # fmt: skip
    in_threads(_serial, _parallel, arguments, min(threads, tasks))
    if not traced:
        return Slide(values)
    return Slide(
        series_gradient=to_x.reshape(x.shape) if want_series else None,
        matrix_gradient=to_w.sum(axis=0).reshape(w.shape) if want_matrix else None,
    )
