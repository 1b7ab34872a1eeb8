"""Nearest neighbours of queries among series: exact, and most cells never computed.

Candidates are laid into lanes in the order of a lower bound of their distance (`bounds`), the query
is shared.  Before a block starts, its first lane has the least bound of all that are left: if that
is too far, nothing that is left can be near.

While a block runs, its cells are pruned (`pruning`), the first block by the distances without
warping.  A vector fills one register: the columns that many lanes need together are most of the
grid.

All tests are strict, so a candidate that ties with the k-th best is always computed, and of equals
the one with the smaller index is nearer: results are those of all distances sorted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from warplearn._kernels.drivers.blocks import pack
from warplearn._kernels.drivers.bounds import envelope, outside, room_for_envelope
from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.drivers.heap import make_heap, pop_least
from warplearn._kernels.drivers.pruning import compute_pruned
from warplearn._kernels.recursion.forward import Ends, Work
from warplearn._kernels.recursion.grid import (
    NO_BAND,
    Band,
    lane_limits,
    room_for_limits,
    row_limits,
)
from warplearn._kernels.recursion.local import Squared
from warplearn._kernels.simd.arrays import empty, fill, flat, largest
from warplearn._kernels.simd.compiling import entry, inner, parallel_entry
from warplearn._kernels.simd.constants import YES, ZERO, Static, constants, value_of
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.target import register_lanes
from warplearn._kernels.simd.threads import in_threads, thread_count, worth_threads

_TASKS_PER_THREAD = 8
# Blocks of candidates, without and with a band: fewer leave little to prune, in a band less still.
_FEW_BLOCKS = (1, 3)


@constants
class Plan(NamedTuple):
    """What the search is compiled for."""

    lanes: Static
    channels: Static | int
    banded: Static


class Train(NamedTuple):
    """Candidates: a flat array, how far series are apart, their lengths, and an order by length."""

    values: Any
    stride: int
    lengths: Any
    order: Any


class Queries(NamedTuple):
    """Queries, and for each a candidate that is skipped, or -1."""

    values: Any
    stride: int
    lengths: Any
    skip: Any


class Query(NamedTuple):
    """One query: the flat array, where it starts, and its length."""

    values: Any
    start: int
    length: int


class Search(NamedTuple):
    """The band, flat, and the factor by which a bound may exceed a distance by rounding."""

    band_cells: int
    band_share: float
    margin: Any


class Output(NamedTuple):
    """Scores and indices (queries, k) of the k best, and the cells that each task computed."""

    values: Any
    indices: Any
    computed: Any


@inner
def _cells(banded, band, k, m, rows, first, last):
    """How many cells the first rows of a k x m grid have."""
    if not value_of(banded):
        return rows * m
    row_limits(band, k, m, first, last)
    count = 0
    for i in range(rows):
        count += last[i] - first[i] + 1
    return count


@entry
def _cells_in_band(band, lengths, columns, skip, unique, counts):
    """How many cells the grids of all pairs have within a band."""
    longest = greater(largest(lengths), largest(columns))
    first, last = empty(longest, np.int64), empty(longest, np.int64)
    total = 0
    for q in range(len(columns)):
        for u in range(len(unique)):
            of_this_length = counts[u] - (skip[q] >= 0 and lengths[skip[q]] == unique[u])
            k, m = unique[u], columns[q]
            total += of_this_length * _cells(YES, band, k, m, k, first, last)
    return total


class _Room(NamedTuple):
    """What a task keeps of a block of candidates: which they are, and one number for each lane."""

    block: Any
    cases: Any
    starts: Any
    rows: Any
    last_rows: Any
    scores: Any


class _Best(NamedTuple):
    """Scores and indices of the k best, in their order."""

    values: Any
    indices: Any


@inner
def _insert(best, value, index):
    """Put a candidate into its place among the k best, if it has one."""
    values, indices = best.values, best.indices
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


@inner
def _bound_all(plan, band, train, query, made, bounds):
    """A lower bound of the distance of each candidate from a query."""
    values, stride, lengths, d = train.values, train.stride, train.lengths, value_of(plan.channels)
    lower, upper = made.lower, made.upper
    k = ZERO
    for place in range(len(train.order)):  # by length, so that few envelopes are made
        case = train.order[place]
        if lengths[case] != k:
            k = lengths[case]
            envelope(
                plan.banded, plan.channels, band, query.values, query.start, query.length, k, made
            )
        bounds[case] = outside(values, case * stride, k * d, lower, upper)


@inner
def _queue(bounds, skip, queue):
    """Put all candidates but one into the order of their bounds; returns how many there are."""
    size = ZERO
    for case in range(len(bounds)):
        if case != skip:
            queue[size] = case
            size += 1
    make_heap(bounds, queue, size)
    return size


@inner
def _next_candidates(bounds, queue, waiting, least, room):
    """Take the candidates of the next block, those that may reach the score `least`, from a queue.

    Returns how many there are.
    """
    cases = room.cases
    count = ZERO
    while count < lesser(len(cases), waiting) and not bounds[queue[0]] > -least:
        cases[count] = pop_least(bounds, queue, waiting - count)
        count += 1
    return count


@inner
def _fill_block(plan, train, count, room):
    """Lay candidates into lanes, the last one again in lanes that are left over."""
    starts, rows, last_rows, lengths = room.starts, room.rows, room.last_rows, train.lengths
    shortest, longest = lengths[room.cases[0]], ZERO
    for lane in range(len(starts)):
        case = room.cases[lesser(lane, count - 1)]
        starts[lane] = case * train.stride
        rows[lane] = lengths[case]
        last_rows[lane] = rows[lane] - 1
        shortest, longest = lesser(shortest, rows[lane]), greater(longest, rows[lane])
    pack(plan.lanes, train.values, starts, 0, longest * value_of(plan.channels), room.block)
    return Ends(last_rows, shortest, longest)


@inner
def _rank_block(plan, band, m, count, cells, room, made, best):
    """Put the candidates of a block among the k best; returns how many cells were computed."""
    rows = room.rows
    total, k, most = ZERO, ZERO, ZERO
    for lane in range(count):
        _insert(best, room.scores[lane], room.cases[lane])
        if rows[lane] != k:
            k = rows[lane]
            most = _cells(plan.banded, band, k, m, k, made.first, made.last)
        total += lesser(cells, most)
    return total


@inner
def _without_warping(plan, train, query, count, room, straight):
    """A score that the k nearest reach: that of the k-th best straight path.

    Only series as long as the query have one, and only the most promising are looked at.
    """
    size = query.length * value_of(plan.channels)
    own = query.values[query.start : query.start + size]
    fill(straight.values, -np.inf)
    for lane in range(count):
        case = room.cases[lane]
        if train.lengths[case] == query.length:
            cost = outside(train.values, case * train.stride, size, own, own)
            _insert(straight, -cost, case)
    return straight.values[-1]


@inner
def _room(plan, rows, values):
    lanes = value_of(plan.lanes)
    return _Room(
        empty(rows * value_of(plan.channels) * lanes, values),
        empty(lanes, np.int64),
        empty(lanes, np.int64),
        empty(lanes, np.int64),
        empty(lanes, values),
        empty(lanes, values),
    )


@inner
def _run_task(plan, cost, train, queries, search, output, task, tasks):
    lanes, count, values = plan.lanes, value_of(plan.lanes), output.values
    band, margin = Band(search.band_cells, search.band_share), search.margin
    most_rows, most_columns = largest(train.lengths), largest(queries.lengths)
    room = _room(plan, most_rows, values)
    work = Work(empty(most_columns * count, values), empty(0, np.uint8))
    limits = room_for_limits(lanes, plan.banded, most_rows, values)
    made = room_for_envelope(greater(most_rows, most_columns), most_columns, plan.channels, values)
    bounds, queue = empty(len(train.order), values), empty(len(train.order), np.int64)
    straight = _Best(empty(values.shape[1], values), empty(values.shape[1], np.int64))
    limited_k, limited_m = 0, 0

    for q in range(task, len(queries.lengths), tasks):
        query = Query(queries.values, q * queries.stride, queries.lengths[q])
        m, best = query.length, _Best(values[q], output.indices[q])
        _bound_all(plan, band, train, query, made, bounds)
        waiting = _queue(bounds, queries.skip[q], queue)
        worst = best.values[-1]
        while True:
            taken = _next_candidates(bounds, queue, waiting, worst / margin, room)
            if not taken:
                break
            waiting -= taken
            if worst == -np.inf:
                worst = _without_warping(plan, train, query, taken, room, straight) / margin
            ends = _fill_block(plan, train, taken, room)
            equal = ends.shortest == ends.longest
            if value_of(plan.banded) and not (
                equal and ends.longest == limited_k and m == limited_m
            ):
                lane_limits(lanes, band, room.rows, ends.longest, m, limits)
                limited_k, limited_m = ends.longest if equal else 0, m
            cells = compute_pruned(
                plan, cost, query, ends, limits, work, room.block, worst, room.scores
            )
            output.computed[task] += _rank_block(plan, band, m, taken, cells, room, made, best)
            worst = greater(worst, best.values[-1])


@entry
def _run_serial(plan, cost, train, queries, search, output, tasks):
    for task in range(tasks):
        _run_task(plan, cost, train, queries, search, output, task, tasks)


@parallel_entry
def _run_parallel(plan, cost, train, queries, search, output, tasks):
    for task in prange(tasks):
        _run_task(plan, cost, train, queries, search, output, task, tasks)


def _total_cells(
    band: Band | None,
    lengths: NDArray[np.int64],
    columns: NDArray[np.int64],
    skip: NDArray[np.int64],
) -> int:
    """How many cells the grids of all pairs have."""
    if band is not None:
        kinds = np.unique(lengths, return_counts=True)
        return int(_cells_in_band(band, lengths, columns, skip, *kinds))
    skipping = skip >= 0
    skipped = columns[skipping] @ lengths[skip[skipping]]
    return int(columns.sum() * lengths.sum() - skipped)


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
    vector = register_lanes(dtype)
    if skip is None:
        skip = np.full(len(q), -1, np.int64)
    banded, reach = Static(band is not None), band or NO_BAND
    total = _total_cells(band, lengths, columns, skip)
    few = len(x) < _FEW_BLOCKS[band is not None] * vector.value
    if few and len(q) >= vector.value:
        return _of_all(x, lengths, q, columns, k, band, skip, total, n_jobs)
    threads = worth_threads(thread_count(n_jobs), total)
    tasks = 1 if threads == 1 else min(len(q), _TASKS_PER_THREAD * threads)
    values = np.full((len(q), k), -np.inf, dtype)
    indices = np.full((len(q), k), len(x), np.int64)
    computed = np.zeros(tasks, np.int64)
    # Twice the rounding error of a sum as long as the longest path, relative to the sum.
    margin = 1 - 4 * d * (x.shape[1] + q.shape[1]) * float(np.finfo(dtype).eps)
    arguments = (
        Plan(vector, Static(1) if d == 1 else d, banded),
        Squared(),
        Train(flat(x), x.shape[1] * d, lengths, np.argsort(lengths, kind="stable")),
        Queries(flat(q), q.shape[1] * d, columns, skip),
        Search(*reach, dtype.type(margin)),
        Output(values, indices, computed),
        tasks,
    )
    in_threads(_run_serial, _run_parallel, arguments, threads)
    return Neighbors(np.abs(values), indices, int(computed.sum()), total)
