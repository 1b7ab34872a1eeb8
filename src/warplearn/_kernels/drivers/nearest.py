"""Nearest neighbours of queries among series: exact, and most cells never computed.

Candidates are sorted by a lower bound of their distance (`bounds`) and laid into lanes in that
order, the query is shared.  Before a block starts, its first lane has the least bound of all that
are left: if that is too far, nothing that is left can be near.  While a block runs, every few rows
the best value of each lane's row is looked at: scores only fall along a path, so once they are all
below the k-th best known, the block is abandoned.

Both tests are strict, so a candidate that ties with the k-th best is always computed in full, and
of equals the one with the smaller index is nearer: results are those of all distances sorted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from warplearn._kernels.drivers.blocks import pack, tile_for
from warplearn._kernels.drivers.bounds import envelope, outside
from warplearn._kernels.drivers.evaluate import evaluate, flat
from warplearn._kernels.recursion.forward import advance, begin
from warplearn._kernels.recursion.grid import (
    NO_BAND,
    Band,
    lane_limits,
    room_for_limits,
    row_limits,
)
from warplearn._kernels.recursion.local import Squared
from warplearn._kernels.simd.records import ZERO, Static, facts, number
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import (
    BATCH,
    aligned_empty,
    bits,
    lanes_for,
    load,
    maximum,
    splat,
    store,
    where,
)

_PATIENCE = 16  # rows between two looks at a block
_TASKS_PER_THREAD = 8
_UNTRACED = Static(0)
_DONE = -1.0  # in the place of the bound of a candidate that was computed, or is none
_FEW_BLOCKS = 4  # of candidates: fewer leave lanes empty and little to prune


@njit(nogil=True)
def _insert(values, indices, value, index):
    """Put a candidate into its place among the k best, if it has one."""
    place = len(values)
    while place > 0 and (
        value > values[place - 1] or (value == values[place - 1] and index < indices[place - 1])
    ):
        place -= 1
    for p in range(len(values) - 1, place, -1):
        values[p] = values[p - 1]
        indices[p] = indices[p - 1]
    if place < len(values):
        values[place] = value
        indices[place] = index


@njit(nogil=True)
def _cells(banded, band, k, m, rows, first, last):
    """How many cells the first rows of a k x m grid have."""
    if not number(banded):
        return rows * m
    row_limits(band, k, m, first, last)
    count = 0
    for i in range(rows):
        count += last[i] - first[i] + 1
    return count


@njit(nogil=True, cache=True)
def _all_cells(banded, band, lengths, columns, skip, unique, counts):
    """How many cells the grids of all pairs have."""
    longest = max(lengths.max(), columns.max())
    first, last = np.empty(longest, np.int64), np.empty(longest, np.int64)
    total = 0
    for q in range(len(columns)):
        for u in range(len(unique)):
            of_this_length = counts[u] - (skip[q] >= 0 and lengths[skip[q]] == unique[u])
            k, m = unique[u], columns[q]
            total += of_this_length * _cells(banded, band, k, m, k, first, last)
    return total


@njit(nogil=True)
def _ranked(bounds, mark):
    """Candidates whose bound is at most `mark` and that are not done with, by their bounds."""
    chosen = np.flatnonzero((bounds <= mark) & (bounds != _DONE))
    return chosen[np.argsort(bounds[chosen])]


@njit(nogil=True, forceinline=True)
def _hopeless(lanes, kept, start, stop, ends, row, worst):
    """Whether no lane that goes on behind `row` can still reach the score `worst`."""
    best = splat(lanes, kept.dtype.type(-np.inf))
    for j in range(start, stop):
        best = maximum(best, load(lanes, kept, j * number(lanes)))
    nothing = splat(lanes, kept.dtype.type(-np.inf))
    best = where(load(lanes, ends, 0) > row, best, nothing)
    return bits(best >= splat(lanes, worst)) == 0


@njit(nogil=True)
def _run_task(plan, cost, train, queries, grids, output, task, tasks):
    lanes, tile, channels, banded = plan
    source, stride, lengths, order = train
    items, item_stride, columns, skip = queries
    cells_of_band, share_of_band, margin = grids
    band = Band(cells_of_band, share_of_band)
    values, indices, computed = output

    count, d = number(lanes), number(channels)
    most_rows, most_columns = lengths.max(), columns.max()
    longest_side = max(most_rows, most_columns)
    block = aligned_empty(most_rows * d * count, values)
    kept = aligned_empty(most_columns * count, values)
    ends = aligned_empty(count, values)
    scores = aligned_empty(count, values)
    low, high, hull = room_for_limits(lanes, banded, most_rows, values)
    steps = np.empty(0, np.uint8)
    first, last = np.empty(longest_side, np.int64), np.empty(longest_side, np.int64)
    queue = np.empty(most_columns, np.int64)
    lower, upper = np.empty(most_rows * d, values.dtype), np.empty(most_rows * d, values.dtype)
    bounds = np.empty(len(order), values.dtype)
    starts, rows = np.empty(count, np.int64), np.empty(count, np.int64)
    limited_k, limited_m = 0, 0

    for q in range(task, len(columns), tasks):
        m, w_start = columns[q], q * item_stride
        best, nearest = values[q], indices[q]

        k = ZERO
        for case in order:  # by length, so that the envelope is made anew only now and then
            if lengths[case] != k:
                k = lengths[case]
                envelope(
                    banded, channels, band, items, w_start, m, k,
                    first, last, queue, lower, upper,
                )  # fmt: skip
            bounds[case] = outside(source, case * stride, k * d, lower, upper)
        left = len(order)
        if skip[q] >= 0:
            bounds[skip[q]] = _DONE
            left -= 1
        # The most promising block sets a mark that few others reach: only those need be sorted.
        promising = np.partition(bounds, len(order) - left + min(count, left) - 1)
        mark = promising[len(order) - left + min(count, left) - 1]
        for _ in range(2):
            ranking = _ranked(bounds, mark)
            position = 0
            while position < len(ranking) and not bounds[ranking[position]] * margin > -best[-1]:
                filled = min(count, len(ranking) - position)
                shortest, longest = most_rows, ZERO
                for lane in range(count):
                    case = ranking[position + min(lane, filled - 1)]
                    starts[lane] = case * stride
                    rows[lane] = lengths[case]
                    ends[lane] = rows[lane] - 1
                    shortest, longest = min(shortest, rows[lane]), max(longest, rows[lane])
                pack(lanes, tile, source, starts, 0, longest * d, block)
                if number(banded) and not (shortest == longest == limited_k and m == limited_m):
                    lane_limits(lanes, band, rows, longest, m, low, high, hull)
                    limited_k, limited_m = longest if shortest == longest else 0, m
                result = begin(lanes, m, kept)
                row = ZERO
                while row < longest:
                    start, row = row, min(row + _PATIENCE, longest)
                    result = advance(
                        lanes, BATCH, channels, _UNTRACED, banded, cost,
                        block, 0, items, w_start, 0, m, ends, shortest, longest,
                        low, high, hull, kept, steps, start, row, result,
                    )  # fmt: skip
                    from_column, to_column = 0, m
                    if number(banded):
                        from_column, to_column = hull[row - 1, 0], hull[row - 1, 3] + 1
                    if row < longest and _hopeless(
                        lanes, kept, from_column, to_column, ends, row - 1, best[-1]
                    ):
                        break
                store(scores, 0, result)
                cells, k, done = 0, -1, 0
                for lane in range(filled):
                    _insert(best, nearest, scores[lane], ranking[position + lane])
                    bounds[ranking[position + lane]] = _DONE
                    if rows[lane] != k:
                        k = rows[lane]
                        done = _cells(banded, band, k, m, min(row, k), first, last)
                    cells += done
                computed[task] += cells
                position += filled
            mark = -best[-1] / margin


@njit(nogil=True, cache=True)
def _run_serial(plan, cost, train, queries, grids, output, tasks):
    for task in range(tasks):
        _run_task(plan, cost, train, queries, grids, output, task, tasks)


@njit(nogil=True, cache=True, parallel=True)
def _run_parallel(plan, cost, train, queries, grids, output, tasks):
    for task in prange(tasks):
        _run_task(plan, cost, train, queries, grids, output, task, tasks)


class Neighbors(NamedTuple):
    """Squared distances and indices of the k nearest (queries, k), and cells of grids."""

    costs: NDArray[Any]
    indices: NDArray[np.int64]
    computed: int
    total: int


def _of_all(
    x: NDArray[Any],
    lengths: NDArray[np.int64],
    q: NDArray[Any],
    columns: NDArray[np.int64],
    k: int,
    band: Band | None,
    skip: NDArray[np.int64],
    total: int,
    n_jobs: int | None,
) -> Neighbors:
    """The same from all distances, with queries in the lanes."""
    values = evaluate(Squared(), q, columns, x, lengths, band=band, n_jobs=n_jobs).values
    costs = np.abs(values, out=values)
    skipping = np.flatnonzero(skip >= 0)
    costs[skipping, skip[skipping]] = np.inf
    indices = np.argsort(costs, axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(costs, indices, axis=1), indices, total, total)


def nearest(
    x: NDArray[Any],
    lengths: NDArray[np.int64],
    q: NDArray[Any],
    columns: NDArray[np.int64],
    k: int,
    *,
    band: Band | None = None,
    skip: NDArray[np.int64] | None = None,
    n_jobs: int | None = None,
) -> Neighbors:
    """The k nearest of the series x to each query, by dynamic time warping.

    Parameters
    ----------
    x : array (series, time, channels)
    lengths : array (series,)
    q : array (queries, time, channels), of the dtype of x
    columns : array (queries,)
        The lengths of the queries.
    k : int
        At most as many as there are series, without the one that is skipped.
    band : Band, optional
    skip : array (queries,), optional
        A series that is no candidate for the query, or -1.
    """
    dtype, d = x.dtype, x.shape[2]
    vector = lanes_for(dtype)
    threads = thread_count(n_jobs)
    tasks = 1 if threads == 1 else min(len(q), _TASKS_PER_THREAD * threads)
    values = np.full((len(q), k), -np.inf, dtype)
    indices = np.full((len(q), k), len(x), np.int64)
    computed = np.zeros(tasks, np.int64)
    if skip is None:
        skip = np.full(len(q), -1, np.int64)
    banded, reach = Static(band is not None), band or NO_BAND
    kinds = np.unique(lengths, return_counts=True)
    total = int(_all_cells(banded, reach, lengths, columns, skip, *kinds))
    if len(x) < _FEW_BLOCKS * vector.value <= _FEW_BLOCKS * len(q):
        return _of_all(x, lengths, q, columns, k, band, skip, total, n_jobs)
    # Twice the rounding error of a sum as long as the longest path, relative to the sum.
    margin = 1 - 4 * d * (x.shape[1] + q.shape[1]) * float(np.finfo(dtype).eps)
    arguments = (
        facts(vector, tile_for(dtype.itemsize), Static(1) if d == 1 else d, banded),
        Squared(),
        (flat(x), x.shape[1] * d, lengths, np.argsort(lengths, kind="stable")),
        (flat(q), q.shape[1] * d, columns, skip),
        (*reach, dtype.type(margin)),
        (values, indices, computed),
        tasks,
    )
    in_threads(_run_serial, _run_parallel, arguments, threads)
    return Neighbors(np.abs(values), indices, int(computed.sum()), total)
