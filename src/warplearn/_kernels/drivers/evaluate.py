"""Every series against every matrix: the loop over blocks, its threads, and the door from Python.

Lanes go to the side with more items, the other side is shared: many series and few matrices make
a *batch*, few series and many matrices a *bank*.  A task takes about every `tasks`-th block.  Where
tasks add up a gradient, their number does not depend on the number of threads and their sums are
added in order: results are the same however many threads there are.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from warplearn._kernels.drivers.blocks import pack, tile_for, unpack_lane
from warplearn._kernels.recursion.backward import backward, path_of_lane
from warplearn._kernels.recursion.forward import advance, begin
from warplearn._kernels.recursion.grid import NO_BAND, ROWS, Band, lane_limits, room_for_limits
from warplearn._kernels.simd.records import ZERO, Static, facts, number
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import BANK, BATCH, aligned_empty, fill, lanes_for, store

MASK_DTYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_PARTIAL_SUMS_BYTES = 2**26
_ROWS_READ = 16  # at a time, by a block that is used once


@njit(nogil=True)
def _run_task(plan, cost, laned, shared, grids, upstream, output, task, tasks):
    (
        lanes,
        tile,
        role,
        channels,
        banded,
        traced,
        want_series,
        want_matrix,
        want_visits,
        want_paths,
    ) = plan
    source, stride, order = laned
    items, item_stride, item_order = shared
    lengths, columns, w_stride, cells_of_band, share_of_band, triangular = grids
    band = Band(cells_of_band, share_of_band)
    values, laned_step, item_step, to_laned, to_shared, visits, paths, path_lengths, mask = output

    count, d = number(lanes), number(channels)
    batch = number(role) == 1
    want_laned = number(want_series) if batch else number(want_matrix)
    most_rows, most_columns = lengths.max(), columns.max()
    size = stride

    block = aligned_empty(size * count, values)
    slopes = aligned_empty(size * count if want_laned else 0, values)
    kept = aligned_empty(most_columns * count, values)
    ends = aligned_empty(count, values)
    lane_values = aligned_empty(count, values)
    lane_upstream = aligned_empty(count, values)
    padded = (most_rows + ROWS - 1) // ROWS * ROWS
    low, high, hull = room_for_limits(lanes, banded, most_rows, values)
    steps = np.empty(2 * padded * most_columns if number(traced) else 0, mask.dtype)
    marks = np.empty(most_columns, np.int64)
    most_cells = min(padded * most_columns, count * (padded + most_columns))
    cells = np.empty((most_cells if number(want_paths) else 0, 3), np.int64)
    starts, rows = np.empty(count, np.int64), np.empty(count, np.int64)

    # A block that is used only once is put together as it is read, some rows at a time.
    at_once = batch and len(item_order) == 1 and not number(traced)
    chunk = _ROWS_READ if at_once else padded
    blocks = (len(order) + count - 1) // count
    for turn in range((blocks + tasks - 1) // tasks):
        # There and back, like a plough: blocks get longer, or shorter, from the first to the last.
        block_number = turn * tasks + (task if turn % 2 == 0 else tasks - 1 - task)
        if block_number >= blocks:
            break
        first = block_number * count
        filled = min(count, len(order) - first)
        last = first + filled - 1
        for lane in range(count):
            starts[lane] = order[min(first + lane, last)] * stride
        shortest, longest = lengths[order[first]] if batch else ZERO, ZERO
        if batch:  # in the order of their lengths
            longest = lengths[order[last]]
            size = longest * d
            fill(rows, longest)
            fill(ends, longest - 1)
            for lane in range(filled if shortest < longest else 0):
                rows[lane] = lengths[order[first + lane]]
                ends[lane] = rows[lane] - 1
        if not at_once:
            pack(lanes, tile, source, starts, 0, size, block)
        fill(slopes, 0)
        limited = -1
        for position in range(first if triangular else 0, len(item_order)):
            item = item_order[position]
            if batch:
                x, x_start, w, w_start, m = block, ZERO, items, item * item_stride, columns[item]
            else:
                x, x_start, w, w_start, m = items, item * item_stride, block, ZERO, columns[0]
                shortest = longest = lengths[item]
                fill(rows, longest)
                fill(ends, longest - 1)
            if number(banded) and not (batch and limited == m):
                lane_limits(lanes, band, rows, longest, m, low, high, hull)
                limited = m
            best = begin(lanes, m, kept)
            for row in range(0, longest, chunk):
                if at_once:
                    x_start = -max(0, min(row, longest - chunk)) * d
                    pack(lanes, tile, source, starts, -x_start, min(chunk, longest) * d, block)
                best = advance(
                    lanes, role, channels, traced, banded, cost,
                    x, x_start, w, w_start, w_stride, m, ends, shortest, longest,
                    low, high, hull, kept, steps, row, min(row + chunk, longest), best,
                )  # fmt: skip
            store(lane_values, 0, best)
            for lane in range(filled):
                case = order[first + lane]
                values[case * laned_step + item * item_step] = lane_values[lane]
                if triangular:
                    values[item * laned_step + case * item_step] = lane_values[lane]
            if number(traced):
                wanted = ZERO
                fill(lane_upstream, 0)
                for lane in range(filled):
                    factor = upstream[order[first + lane] * laned_step + item * item_step]
                    lane_upstream[lane] = factor
                    if factor != 0:
                        wanted |= 1 << lane
                if batch:
                    to_x, to_x_start, to_w, to_w_start = slopes, ZERO, to_shared[task], w_start
                else:
                    to_x, to_x_start, to_w, to_w_start = to_shared[task], x_start, slopes, ZERO
                found = backward(
                    lanes, role, channels, want_series, want_matrix, want_visits, want_paths, cost,
                    x, x_start, w, w_start, w_stride, m, ends, shortest, longest, steps, wanted,
                    lane_upstream, to_x, to_x_start, to_w, to_w_start, visits[task], marks, cells,
                )  # fmt: skip
                if number(want_paths):
                    for lane in range(filled):
                        case = order[first + lane]
                        path_lengths[case] = path_of_lane(lane, cells, found, paths[case])
        if want_laned:
            for lane in range(filled):
                unpack_lane(lanes, slopes, lane, size, to_laned, starts[lane])


@njit(nogil=True, cache=True)
def run_serial(plan, cost, laned, shared, grids, upstream, output, tasks):
    for task in range(tasks):
        _run_task(plan, cost, laned, shared, grids, upstream, output, task, tasks)


@njit(nogil=True, cache=True, parallel=True)
def run_parallel(plan, cost, laned, shared, grids, upstream, output, tasks):
    for task in prange(tasks):
        _run_task(plan, cost, laned, shared, grids, upstream, output, np.int64(task), tasks)


def flat(array: NDArray[Any]) -> NDArray[Any]:
    """All numbers in a row, without a copy where possible.

    Kernels read their operands only; to them a read-only array must look like any other, or it
    would be another type, and compiled for again.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    if not flat.flags.writeable:
        interface = {**flat.__array_interface__, "data": (flat.ctypes.data, False)}
        flat = np.asarray(SimpleNamespace(__array_interface__=interface, keep=flat))
    return flat


class Evaluation(NamedTuple):
    """Values (series, matrices), and what was gathered along the active paths."""

    values: NDArray[Any]
    series_gradient: Any = None
    matrix_gradient: Any = None
    visits: Any = None
    paths: Any = None


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
    want_paths: bool = False,
    triangular: bool = False,
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
    want_paths : bool
        Whether to return the active path of each series; for a single matrix only.
    triangular : bool
        x and w are the same series and the score is symmetric: compute one half.
    lanes : int, optional
        8, 16, 32 or 64; by default what suits the CPU.
    """
    n_series, n_matrices = len(x), len(w)
    by_series = w.ndim == 3
    m, d = w.shape[-2], w.shape[-1]
    if columns is None:
        columns = np.full(n_matrices, m, np.int64)
    batch = by_series or want_visits or want_paths or n_series >= n_matrices
    dtype = x.dtype
    vector = lanes_for(dtype) if lanes is None else Static(lanes)

    x_flat, w_flat, lengths, columns = flat(x), flat(w), flat(lengths), flat(columns)
    x_stride, w_item = x.shape[1] * d, w_flat.size // n_matrices
    # Numbers of few bits are sorted by their digits.
    ordered = np.argsort(lengths.astype(np.min_scalar_type(x.shape[1])), kind="stable")
    natural = np.arange(n_series if not batch else n_matrices)
    if batch:
        laned = (x_flat, x_stride, ordered)
        shared = (w_flat, w_item, ordered if triangular else natural)
        steps_of_values = (n_matrices, 1)
        laned_wanted, shared_wanted = want_series, want_matrix
    else:
        laned = (w_flat, w_item, np.arange(n_matrices))
        shared = (x_flat, x_stride, natural)
        steps_of_values = (1, n_matrices)
        laned_wanted, shared_wanted = want_matrix, want_series

    blocks = -(-len(laned[2]) // vector.value)
    threads = thread_count(n_jobs)
    if shared_wanted or want_visits:
        room = _PARTIAL_SUMS_BYTES // (shared[0].size * dtype.itemsize)
        tasks = min(blocks, max(8, min(room, 64)))
    else:
        tasks = min(blocks, threads)

    values = np.empty(n_series * n_matrices, dtype)
    traced = want_series or want_matrix or want_visits or want_paths
    if not traced:
        upstream = np.empty(0, dtype)
    elif upstream is None:
        upstream = np.ones(values.size, dtype)
    else:
        upstream = flat(np.asarray(upstream, dtype))
    to_laned = np.zeros(laned[0].size if laned_wanted else 0, dtype)
    to_shared = np.zeros((tasks, shared[0].size if shared_wanted else 0), dtype)
    plan = facts(
        vector,
        tile_for(dtype.itemsize),
        BATCH if batch else BANK,
        Static(1) if d == 1 else d,
        Static(band is not None),
        Static(traced),
        Static(want_series),
        Static(want_matrix),
        Static(want_visits),
        Static(want_paths),
    )
    grids = (lengths, columns, 0 if by_series else m * d, *(band or NO_BAND), triangular)
    mask = np.empty(0, MASK_DTYPES[vector.value])
    visits = np.zeros((tasks, w_flat.size // d if want_visits else 0), dtype)
    most_cells = x.shape[1] + m if want_paths else 0
    paths = np.empty((n_series if want_paths else 0, most_cells, 2), np.int64)
    path_lengths = np.empty(len(paths), np.int64)
    output = (values, *steps_of_values, to_laned, to_shared, visits, paths, path_lengths, mask)
    arguments = (plan, cost, laned, shared, grids, upstream, output, tasks)
    in_threads(run_serial, run_parallel, arguments, min(threads, tasks))

    summed = to_shared.sum(axis=0)
    of_series, of_matrix = (to_laned, summed) if batch else (summed, to_laned)
    return Evaluation(
        values.reshape(n_series, n_matrices),
        of_series.reshape(x.shape) if want_series else None,
        of_matrix.reshape(w.shape) if want_matrix else None,
        visits.sum(axis=0).reshape(w.shape[:-1]) if want_visits else None,
        [p[:k][::-1] for p, k in zip(paths, path_lengths, strict=True)] if want_paths else None,
    )
