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
from numba import prange
from numpy.typing import NDArray

from warplearn._kernels.recursion.backward import Gradients, Trace, Wanted, backward
from warplearn._kernels.recursion.forward import Config, Ends, Operands, Work, forward
from warplearn._kernels.recursion.grid import (
    NO_BAND,
    Band,
    lane_limits,
    padded_rows,
    room_for_limits,
)
from warplearn._kernels.recursion.steps import step_bytes
from warplearn._kernels.simd.arrays import empty, fill, flat
from warplearn._kernels.simd.compiling import entry, inlined, inner, parallel_entry
from warplearn._kernels.simd.constants import NO, ZERO, Static, constants, value_of
from warplearn._kernels.simd.numbers import lesser
from warplearn._kernels.simd.target import lanes_for
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import BATCH, load, store

_MOST_TASKS = 16  # that add up gradients, each in an array of its own


@constants
class Plan(NamedTuple):
    """What the kernel is compiled for."""

    lanes: Static
    channels: Static | int
    banded: Static
    traced: Static
    series: Static
    matrix: Static


class Windows(NamedTuple):
    """Series (cases, channels, time), flat, and how windows lie in them."""

    x: Any
    cases: int
    channels: int
    time: int
    positions: int
    stride: int
    dilation: int


class Filters(NamedTuple):
    """Matrices (units, k, m, channels), flat; the band of their grids, flat."""

    w: Any
    units: int
    k: int
    m: int
    band_cells: int
    band_share: float


class Output(NamedTuple):
    """Values or their weights in a sum, (cases, units, positions), and gradients of that sum.

    Each task has a row of `to_w`.
    """

    values: Any
    upstream: Any
    to_x: Any
    to_w: Any


class _Room(NamedTuple):
    """What a task keeps of a block of windows.

    The windows in lanes and their gradient; one number for each lane; where the windows begin in x
    and their outputs in `values`; and the first lane of each run of windows of one series.
    """

    block: Any
    slopes: Any
    lane_values: Any
    starts: Any
    places: Any
    runs: Any


@inner
def _room(plan, size, like):
    count = value_of(plan.lanes)
    return _Room(
        empty(size * count, like),
        empty(size * count if value_of(plan.series) else 0, like),
        empty(count, like),
        empty(count, np.int64),
        empty(count, np.int64),
        empty(count + 1, np.int64),
    )


@inner
def _place_lanes(windows, units, first, filled, room):
    """Where the windows of a block begin in x, and their outputs; returns the number of runs.

    Lanes from `runs[i]` to `runs[i + 1]` are of one series: their outputs are neighbours.
    """
    positions, starts, places, runs = windows.positions, room.starts, room.places, room.runs
    case, position = first // positions, first % positions
    many = 0
    for lane in range(filled):
        if lane == 0 or position == 0:
            runs[many] = lane
            many += 1
        starts[lane] = case * windows.channels * windows.time + position * windows.stride
        places[lane] = case * units * positions + position
        position += 1
        if position == positions:
            case, position = case + 1, ZERO
    runs[many] = filled
    for lane in range(filled, len(starts)):
        starts[lane] = starts[filled - 1]
    return many


@inner
def _read_block(windows, k, room):
    """Lay the windows of a block into lanes."""
    x, block, starts, d = windows.x, room.block, room.starts, windows.channels
    count = len(starts)
    for i in range(k):
        for c in range(d):
            at, offset = (i * d + c) * count, c * windows.time + i * windows.dilation
            for lane in range(count):
                block[at + lane] = x[starts[lane] + offset]


@inner
def _add_block(windows, k, filled, room, to_x):
    """Add the gradients of the windows of a block to those of the series."""
    slopes, starts, d = room.slopes, room.starts, windows.channels
    count = len(starts)
    for i in range(k):
        for c in range(d):
            at, offset = (i * d + c) * count, c * windows.time + i * windows.dilation
            for lane in range(filled):
                to_x[starts[lane] + offset] += slopes[at + lane]


@inlined
def _write_values(unit_start, many, room, values):
    """Write the values of the lanes, a run at a time; a unit's outputs start at `unit_start`."""
    places, runs, lane_values = room.places, room.runs, room.lane_values
    for run in range(many):
        place = places[runs[run]] - runs[run] + unit_start
        for lane in range(runs[run], runs[run + 1]):
            values[place + lane] = lane_values[lane]


@inlined
def _read_upstream(unit_start, many, room, upstream):
    """Read the weights of the lanes."""
    places, runs, lane_values = room.places, room.runs, room.lane_values
    fill(lane_values, 0)
    for run in range(many):
        place = places[runs[run]] - runs[run] + unit_start
        for lane in range(runs[run], runs[run + 1]):
            lane_values[lane] = upstream[place + lane]


@inner
def _run_task(plan, cost, windows, filters, output, task, tasks):
    lanes, count, d = plan.lanes, value_of(plan.lanes), value_of(plan.channels)
    config = Config(lanes, BATCH, plan.channels, plan.traced, plan.banded)
    wanted = Wanted(plan.series, plan.matrix, NO, NO)
    x, w, k, m, positions = windows.x, filters.w, filters.k, filters.m, windows.positions
    room = _room(plan, k * d, x)
    last_rows = empty(count, x)
    fill(last_rows, k - 1)
    ends = Ends(last_rows, k, k)
    limits = room_for_limits(lanes, plan.banded, k, x)
    if value_of(plan.banded):
        rows = empty(count, np.int64)
        fill(rows, k)
        band = Band(filters.band_cells, filters.band_share)
        lane_limits(lanes, band, rows, k, m, limits)
    size = padded_rows(k) * m * step_bytes(load(lanes, last_rows, 0))
    steps = empty(size if value_of(plan.traced) else 0, np.uint8)
    work = Work(empty(m * count, x), steps)
    trace = Trace(steps, empty(m, np.int64), empty((0, 3), np.int64))

    block, slopes, lane_values, to_w = room.block, room.slopes, room.lane_values, output.to_w[task]
    first, stop = task * windows.cases // tasks, (task + 1) * windows.cases // tasks
    for window in range(first * positions, stop * positions, count):
        filled = lesser(count, stop * positions - window)
        many = _place_lanes(windows, filters.units, window, filled, room)
        _read_block(windows, k, room)
        fill(slopes, 0)
        for unit in range(filters.units):
            w_start = unit * k * m * d
            operands = Operands(block, 0, w, w_start, m * d, m)
            result = forward(config, cost, operands, ends, limits, work)
            if not value_of(plan.traced):
                store(lane_values, 0, result)
                _write_values(unit * positions, many, room, output.values)
            else:
                _read_upstream(unit * positions, many, room, output.upstream)
                gradients = Gradients(slopes, 0, to_w, w_start, lane_values)
                backward(
                    config, wanted, cost, operands, ends, limits, trace, lane_values, gradients,
                )  # fmt: skip
        if value_of(plan.series):
            _add_block(windows, k, filled, room, output.to_x)


@entry
def _run_serial(plan, cost, windows, filters, output, tasks):
    for task in range(tasks):
        _run_task(plan, cost, windows, filters, output, task, tasks)


@parallel_entry
def _run_parallel(plan, cost, windows, filters, output, tasks):
    for task in prange(tasks):
        _run_task(plan, cost, windows, filters, output, np.int64(task), tasks)


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
    lanes = lanes_for(dtype, windows=True)
    threads = thread_count(n_jobs)
    worth_it = max(1, n_series * positions // (4 * lanes.value))  # of which few are not full
    tasks = min(n_series, worth_it, _MOST_TASKS if traced else threads)
    output = Output(
        values=np.empty(n_series * units * positions if not traced else 0, dtype),
        upstream=np.empty(0, dtype) if upstream is None else flat(np.asarray(upstream, dtype)),
        to_x=np.zeros(x.size if want_series else 0, dtype),
        to_w=np.zeros((tasks, w.size if want_matrix else 0), dtype),
    )
    plan = Plan(
        lanes,
        Static(1) if d == 1 else d,
        Static(band is not None),
        Static(traced),
        Static(want_series),
        Static(want_matrix),
    )
    windows = Windows(flat(x), n_series, d, time, positions, stride, dilation)
    filters = Filters(flat(w), units, k, m, *(band or NO_BAND))
    arguments = (plan, cost, windows, filters, output, tasks)
    in_threads(_run_serial, _run_parallel, arguments, min(threads, tasks))
    if not traced:
        return Slide(output.values.reshape(n_series, units, positions))
    return Slide(
        series_gradient=output.to_x.reshape(x.shape) if want_series else None,
        matrix_gradient=output.to_w.sum(axis=0).reshape(w.shape) if want_matrix else None,
    )
