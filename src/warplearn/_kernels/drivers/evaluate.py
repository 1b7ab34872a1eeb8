"""Every series against every matrix: the loop over blocks and its threads.

Lanes go to the side with more items, the other side is shared: many series and few matrices make
a *batch*, few series and many matrices a *bank*.  A task takes about every `tasks`-th block.  Where
tasks add up a gradient, their number does not depend on the number of threads and their sums are
added in order: results are the same however many threads there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from warplearn._kernels.drivers.blocks import pack, unpack_lane
from warplearn._kernels.recursion.backward import (
    Gradients,
    Trace,
    Wanted,
    backward,
    path_of_lane,
)
from warplearn._kernels.recursion.forward import Config, Ends, Operands, Work, advance, begin
from warplearn._kernels.recursion.grid import (
    NO_BAND,
    Band,
    lane_limits,
    padded_rows,
    room_for_limits,
)
from warplearn._kernels.recursion.steps import bit_of, step_bytes
from warplearn._kernels.simd.arrays import empty, fill, flat, largest
from warplearn._kernels.simd.compiling import entry, inlined, inner, parallel_entry
from warplearn._kernels.simd.constants import (
    NO,
    YES,
    ZERO,
    Static,
    constants,
    switch,
    value_of,
    when,
)
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.target import lanes_for
from warplearn._kernels.simd.threads import in_threads, thread_count, worth_threads
from warplearn._kernels.simd.vector import BANK, BATCH, load, store

_PARTIAL_SUMS_BYTES = 2**26
_ROWS_READ = 16  # at a time, by a block that is used once


@constants
class Plan(NamedTuple):
    """What a kernel is compiled for: the fields of `Config`, then those of `Wanted`."""

    lanes: Static
    role: Static
    channels: Static | int
    traced: Static
    banded: Static
    series: Static
    matrix: Static
    visits: Static
    paths: Static


class Items(NamedTuple):
    """Series or matrices: a flat array, how far items are apart, and the order to take them in."""

    values: Any
    stride: int
    order: Any


class Grids(NamedTuple):
    """The grids of all pairs.

    Rows and columns of each grid, how far the rows of a matrix are apart, the band (flat, as
    arguments of parallel kernels must be), and whether half of the pairs will do.
    """

    lengths: Any
    columns: Any
    w_stride: int
    band_cells: int
    band_share: float
    triangular: bool


class Output(NamedTuple):
    """Where results go.

    The value of a laned and a shared item stands at `laned * laned_step + shared * shared_step`,
    in `values` and likewise in `upstream`.  Each task has a row of `to_shared` and `visits`.
    """

    values: Any
    laned_step: int
    shared_step: int
    upstream: Any
    to_laned: Any
    to_shared: Any
    visits: Any
    paths: Any
    path_lengths: Any


class _Room(NamedTuple):
    """What a task keeps of a block.

    Its items in lanes and their gradient; the values and factors of the lanes; where their items
    start, how many rows their grids have and which is the last.
    """

    block: Any
    slopes: Any
    values: Any
    upstream: Any
    starts: Any
    rows: Any
    last_rows: Any


@inlined
def _laned_wanted(config, wanted):
    """Whether the gradient of the laned operand is wanted."""
    batch = value_of(config.role) == 1
    return value_of(wanted.series) if batch else value_of(wanted.matrix)


@inner
def _room(config, wanted, size, like):
    count = value_of(config.lanes)
    return _Room(
        empty(size * count, like),
        empty(size * count if _laned_wanted(config, wanted) else 0, like),
        empty(count, like),
        empty(count, like),
        empty(count, np.int64),
        empty(count, np.int64),
        empty(count, like),
    )


@inner
def _room_for_steps(config, wanted, most_rows, most_columns, like):
    """Work space for the steps of paths and the way back; that for steps in a band comes later."""
    padded = padded_rows(most_rows)
    most_cells = lesser(padded * most_columns, value_of(config.lanes) * (padded + most_columns))
    complete = value_of(config.traced) and not value_of(config.banded)
    return Trace(
        empty(padded * most_columns * step_bytes(like) if complete else 0, np.uint8),
        empty(most_columns, np.int64),
        empty((most_cells if value_of(wanted.cells) else 0, 3), np.int64),
    )


@inner
def _with_room_for(cells, trace, like):
    """Work space with room for the steps of some cells."""
    size = cells * step_bytes(like)
    if len(trace.steps) >= size:
        return trace
    return Trace(empty(size, np.uint8), trace.marks, trace.cells)


@inner
def _place_lanes(laned, first, filled, room):
    """Lay items from `first` on into lanes, the last one again in lanes that are left over."""
    order, starts, stride = laned.order, room.starts, laned.stride
    last = first + filled - 1
    for lane in range(len(starts)):
        starts[lane] = order[lesser(first + lane, last)] * stride


@inner
def _ends_of_lanes(laned, lengths, first, filled, room):
    """Where the series of a batch end; they are in the order of their lengths."""
    order, rows, last_rows = laned.order, room.rows, room.last_rows
    shortest, longest = lengths[order[first]], lengths[order[first + filled - 1]]
    fill(rows, longest)
    fill(last_rows, longest - 1)
    for lane in range(filled if shortest < longest else 0):
        rows[lane] = lengths[order[first + lane]]
        last_rows[lane] = rows[lane] - 1
    return Ends(last_rows, shortest, longest)


@inlined
def _scores(config, cost, laned, operands, ends, limits, work, room, at_once):
    """The scores of a block and one shared item.

    With `at_once` the block is put together as it is read, some rows at a time.
    """
    lanes, d, longest = config.lanes, value_of(config.channels), ends.longest
    chunk = _ROWS_READ if at_once else padded_rows(longest)
    x_start = operands.x_start
    result = begin(lanes, operands.m, work.kept)
    for row in range(0, longest, chunk):
        if at_once:
            x_start = -greater(0, lesser(row, longest - chunk)) * d
            size = lesser(chunk, longest) * d
            pack(lanes, laned.values, room.starts, -x_start, size, room.block)
        here = Operands(
            operands.x, x_start, operands.w, operands.w_start, operands.w_stride, operands.m
        )
        stop = lesser(row + chunk, longest)
        result = advance(config, cost, here, ends, limits, work, row, stop, result)
    return result


@inner
def _write_values(laned, item, triangular, first, filled, room, output):
    """Write the values of the lanes."""
    order, lane_values, values = laned.order, room.values, output.values
    laned_step, shared_step = output.laned_step, output.shared_step
    for lane in range(filled):
        case = order[first + lane]
        values[case * laned_step + item * shared_step] = lane_values[lane]
        if triangular:
            values[item * laned_step + case * shared_step] = lane_values[lane]


@inner
def _read_upstream(laned, item, first, filled, room, output):
    """Read the factors of the lanes, 0 in lanes that are left over."""
    order, factors, upstream = laned.order, room.upstream, output.upstream
    fill(factors, 0)
    for lane in range(filled):
        place = order[first + lane] * output.laned_step + item * output.shared_step
        factors[lane] = upstream[place]


@inner
def _write_paths(like, laned, first, filled, cells, listed, output):
    """Write the path of each lane."""
    order, paths, lengths = laned.order, output.paths, output.path_lengths
    for lane in range(filled):
        case = order[first + lane]
        lengths[case] = path_of_lane(bit_of(like, lane), cells, listed, paths[case])


@inlined
def _gradients(config, operands, room, output, task):
    """Where gradients are added: those of laned items to the block of slopes."""
    shared, visits = output.to_shared[task], output.visits[task]
    if value_of(config.role) == 1:
        return Gradients(room.slopes, ZERO, shared, operands.w_start, visits)
    return Gradients(shared, operands.x_start, room.slopes, ZERO, visits)


class _Place(NamedTuple):
    """The shared item, the task, and the first of the laned items and how many there are."""

    item: int
    task: int
    first: int
    filled: int


@inner
def _go_back(config, wanted, cost, operands, ends, limits, trace, laned, place, room, output):
    """Gather what is wanted along the active paths of a block and a shared item."""
    _read_upstream(laned, place.item, place.first, place.filled, room, output)
    gradients = _gradients(config, operands, room, output, place.task)
    listed = backward(config, wanted, cost, operands, ends, limits, trace, room.upstream, gradients)
    like, first, filled = load(config.lanes, room.upstream, 0), place.first, place.filled
    when(wanted.cells, _write_paths, like, laned, first, filled, trace.cells, listed, output)


@inner
def _take_slopes(config, wanted, filled, size, room, output):
    """Take the gradients of the laned items out of their lanes."""
    if _laned_wanted(config, wanted):
        for lane in range(filled):
            unpack_lane(config.lanes, room.slopes, lane, size, output.to_laned, room.starts[lane])


def _set_limits(banded, config, band, rows, ends, m, limits, trace, like):
    """Find the limits of a band, if there is one; returns work space with room for its steps."""
    raise NotImplementedError


def _no_limits(banded, config, band, rows, ends, m, limits, trace, like):
    return trace


def _limits_of_lanes(banded, config, band, rows, ends, m, limits, trace, like):
    cells = lane_limits(config.lanes, band, rows, ends.longest, m, limits)
    return _with_room_for(cells, trace, like) if value_of(config.traced) else trace


switch(_set_limits, _no_limits, _limits_of_lanes)


@inner
def _run_task(plan, cost, laned, shared, grids, output, task, tasks):
    config = Config(plan.lanes, plan.role, plan.channels, plan.traced, plan.banded)
    wanted = Wanted(plan.series, plan.matrix, plan.visits, plan.paths)
    lanes, count, d = config.lanes, value_of(config.lanes), value_of(config.channels)
    batch = value_of(config.role) == 1
    lengths, columns, w_stride = grids.lengths, grids.columns, grids.w_stride
    band = Band(grids.band_cells, grids.band_share)
    most_rows, most_columns = largest(lengths), largest(columns)
    room = _room(config, wanted, laned.stride, output.values)
    like = load(lanes, room.values, 0)
    trace = _room_for_steps(config, wanted, most_rows, most_columns, like)
    kept = empty(most_columns * count, output.values)
    limits = room_for_limits(lanes, config.banded, most_rows, output.values)
    size = laned.stride

    # A block that is used only once is put together as it is read.
    at_once = batch and len(shared.order) == 1 and not value_of(config.traced)
    blocks = (len(laned.order) + count - 1) // count
    for turn in range((blocks + tasks - 1) // tasks):
        # There and back, like a plough: blocks get longer, or shorter, from the first to the last.
        block_number = turn * tasks + (task if turn % 2 == 0 else tasks - 1 - task)
        if block_number >= blocks:
            break
        first = block_number * count
        filled = lesser(count, len(laned.order) - first)
        _place_lanes(laned, first, filled, room)
        ends = Ends(room.last_rows, ZERO, ZERO)
        if batch:
            ends = _ends_of_lanes(laned, lengths, first, filled, room)
            size = ends.longest * d
        if not at_once:
            pack(lanes, laned.values, room.starts, 0, size, room.block)
        fill(room.slopes, 0)
        limited = -1
        for position in range(first if grids.triangular else 0, len(shared.order)):
            item = shared.order[position]
            start = item * shared.stride
            if batch:
                operands = Operands(room.block, ZERO, shared.values, start, w_stride, columns[item])
            else:
                operands = Operands(shared.values, start, room.block, ZERO, w_stride, columns[0])
                fill(room.rows, lengths[item])
                fill(room.last_rows, lengths[item] - 1)
                ends = Ends(room.last_rows, lengths[item], lengths[item])
            if not (batch and limited == operands.m):
                limited = operands.m
                trace = _set_limits(
                    config.banded,
                    config,
                    band,
                    room.rows,
                    ends,
                    limited,
                    limits,
                    trace,
                    like,
                )
            work = Work(kept, trace.steps)
            result = _scores(config, cost, laned, operands, ends, limits, work, room, at_once)
            store(room.values, 0, result)
            _write_values(laned, item, grids.triangular, first, filled, room, output)
            when(
                config.traced, _go_back, config, wanted, cost, operands, ends, limits, trace, laned,
                _Place(item, task, first, filled), room, output,
            )  # fmt: skip
        when(config.traced, _take_slopes, config, wanted, filled, size, room, output)


@entry
def run_serial(plan, cost, laned, shared, grids, output, tasks):
    """All tasks, one after the other."""
    for task in range(tasks):
        _run_task(plan, cost, laned, shared, grids, output, task, tasks)


@parallel_entry
def run_parallel(plan, cost, laned, shared, grids, output, tasks):
    """All tasks, side by side in threads."""
    for task in prange(tasks):
        _run_task(plan, cost, laned, shared, grids, output, np.int64(task), tasks)


class Evaluation(NamedTuple):
    """Values (series, matrices), and what was gathered along the active paths."""

    values: NDArray[Any]
    series_gradient: Any = None
    matrix_gradient: Any = None
    visits: Any = None
    paths: Any = None


class _Pairs(NamedTuple):
    """Series and matrices, as `evaluate` gets them."""

    x: NDArray[Any]
    lengths: NDArray[np.int64]
    w: NDArray[Any]
    columns: NDArray[np.int64] | None
    band: Band | None
    triangular: bool = False


def evaluate(
    cost: Any,
    x: NDArray[Any],
    lengths: NDArray[np.int64],
    w: NDArray[Any],
    columns: NDArray[np.int64] | None = None,
    *,
    band: Band | None = None,
    upstream: NDArray[Any] | None = None,
    want_series: bool = False,
    want_matrix: bool = False,
    want_visits: bool = False,
    lanes: int | None = None,
    n_jobs: int | None = None,
) -> Evaluation:
    """Score every series against every matrix.

    Parameters
    ----------
    cost : local score
    x : array (series, time, channels)
    lengths : array (series,)
    w : array (matrices, rows, columns, channels), or (matrices, columns, channels)
        The second form is series in the place of matrices, each a matrix with equal rows.
    columns : array (matrices,), optional
        The lengths of such series; by default all columns.
    band : Band, optional
    upstream : array (series, matrices), optional
        Weights of the values in the sum whose gradients are wanted; by default 1.
    want_series, want_matrix : bool
        Which gradients.
    want_visits : bool
        Whether to return, for each cell of each matrix, the sum of `upstream` over the series
        whose path passes there; an array like w without the channels.  In a batch only.
    lanes : int, optional
        8, 16, 32 or 64; by default what suits the CPU.
    """
    pairs = _Pairs(x, lengths, w, columns, band)
    plan = _plan(pairs, lanes, (want_series, want_matrix, want_visits, False))
    return _evaluate(cost, pairs, plan, upstream, n_jobs)


def evaluate_pairs(
    cost: Any,
    x: NDArray[Any],
    lengths: NDArray[np.int64],
    *,
    band: Band | None = None,
    n_jobs: int | None = None,
) -> Evaluation:
    """Score all pairs of some series by a symmetric cost: half of the grids are computed."""
    pairs = _Pairs(x, lengths, x, lengths, band, triangular=True)
    return _evaluate(cost, pairs, _plan(pairs, None, (False,) * 4), None, n_jobs)


def evaluate_paths(
    cost: Any,
    x: NDArray[Any],
    lengths: NDArray[np.int64],
    w: NDArray[Any],
    columns: NDArray[np.int64] | None = None,
    *,
    band: Band | None = None,
    lanes: int | None = None,
    n_jobs: int | None = None,
) -> Evaluation:
    """Scores and active paths of some series for a single matrix; parameters as for `evaluate`."""
    pairs = _Pairs(x, lengths, w, columns, band)
    return _evaluate(cost, pairs, _plan(pairs, lanes, (False, False, False, True)), None, n_jobs)


def _plan(pairs: _Pairs, lanes: int | None, wanted: tuple[bool, bool, bool, bool]) -> Plan:
    """Lanes go to the side with more items; series in the place of matrices are always shared."""
    series, matrix, visits, paths = wanted
    d = pairs.w.shape[-1]
    batch = pairs.w.ndim == 3 or visits or paths or len(pairs.x) >= len(pairs.w)
    return Plan(
        lanes_for(pairs.x.dtype) if lanes is None else Static(lanes),
        BATCH if batch else BANK,
        Static(1) if d == 1 else d,
        Static(any(wanted)),
        Static(pairs.band is not None),
        Static(series),
        Static(matrix),
        Static(visits),
        Static(paths),
    )


def _sides(pairs: _Pairs, batch: bool) -> tuple[Items, Items]:
    """The laned and the shared items."""
    x, w = flat(pairs.x), flat(pairs.w)
    x_stride, w_stride = x.size // len(pairs.x), w.size // len(pairs.w)
    if not batch:
        matrices = Items(w, w_stride, np.arange(len(pairs.w)))
        return matrices, Items(x, x_stride, np.arange(len(pairs.x)))
    # Integers of few bits are sorted by their digits.
    narrow = flat(pairs.lengths).astype(np.min_scalar_type(pairs.x.shape[1]))
    by_length = np.argsort(narrow, kind="stable")
    shared_order = by_length if pairs.triangular else np.arange(len(pairs.w))
    return Items(x, x_stride, by_length), Items(w, w_stride, shared_order)


def _output(
    plan: Plan,
    pairs: _Pairs,
    sides: tuple[Items, Items],
    upstream: NDArray[Any] | None,
    tasks: int,
) -> Output:
    """Room for what is wanted; arrays of what is not are empty."""
    batch, dtype = plan.role is BATCH, pairs.x.dtype
    n_series, n_matrices = len(pairs.x), len(pairs.w)
    laned_size, shared_size = (side.values.size for side in sides)
    laned_wanted, shared_wanted = (
        (plan.series, plan.matrix) if batch else (plan.matrix, plan.series)
    )
    values = np.empty(n_series * n_matrices, dtype)
    if plan.traced is NO:
        upstream = np.empty(0, dtype)
    elif upstream is None:
        upstream = np.ones(values.size, dtype)
    else:
        upstream = flat(np.asarray(upstream, dtype))
    cells = pairs.w.size // pairs.w.shape[-1]
    n_paths, most_cells = 0, 0
    if plan.paths is YES:
        n_paths, most_cells = n_series, pairs.x.shape[1] + pairs.w.shape[-2]
    return Output(
        values=values,
        laned_step=n_matrices if batch else 1,
        shared_step=1 if batch else n_matrices,
        upstream=upstream,
        to_laned=np.zeros(laned_size if laned_wanted is YES else 0, dtype),
        to_shared=np.zeros((tasks, shared_size if shared_wanted is YES else 0), dtype),
        visits=np.zeros((tasks, cells if plan.visits is YES else 0), dtype),
        paths=np.empty((n_paths, most_cells, 2), np.int64),
        path_lengths=np.empty(n_paths, np.int64),
    )


def _task_count(plan: Plan, laned: Items, shared: Items, threads: int) -> int:
    """How many tasks there are; where they add up gradients, whatever the number of threads."""
    blocks = -(-len(laned.order) // plan.lanes.value)
    shared_wanted = plan.matrix if plan.role is BATCH else plan.series
    if shared_wanted is NO and plan.visits is NO:
        return min(blocks, threads)
    room = _PARTIAL_SUMS_BYTES // (shared.values.size * shared.values.itemsize)
    return min(blocks, max(8, min(room, 64)))


def _evaluate(
    cost: Any,
    pairs: _Pairs,
    plan: Plan,
    upstream: NDArray[Any] | None,
    n_jobs: int | None,
) -> Evaluation:
    x, w, batch = pairs.x, pairs.w, plan.role is BATCH
    m, d = w.shape[-2:]
    laned, shared = sides = _sides(pairs, batch)
    columns = np.full(len(w), m, np.int64) if pairs.columns is None else flat(pairs.columns)
    cells = float(pairs.lengths.sum()) * float(columns.sum())
    threads = worth_threads(thread_count(n_jobs), cells)
    tasks = _task_count(plan, laned, shared, threads)
    output = _output(plan, pairs, sides, upstream, tasks)
    grids = Grids(
        flat(pairs.lengths),
        columns,
        0 if w.ndim == 3 else m * d,
        *(pairs.band or NO_BAND),
        pairs.triangular,
    )
    arguments = (plan, cost, laned, shared, grids, output, tasks)
    in_threads(run_serial, run_parallel, arguments, min(threads, tasks))

    summed = output.to_shared.sum(axis=0) if output.to_shared.size else output.to_shared
    of_series, of_matrix = (output.to_laned, summed) if batch else (summed, output.to_laned)
    paths = zip(output.paths, output.path_lengths, strict=True)
    return Evaluation(
        output.values.reshape(len(x), len(w)),
        of_series.reshape(x.shape) if plan.series is YES else None,
        of_matrix.reshape(w.shape) if plan.matrix is YES else None,
        output.visits.sum(axis=0).reshape(w.shape[:-1]) if plan.visits is YES else None,
        [path[:k][::-1] for path, k in paths] if plan.paths is YES else None,
    )
