"""Scores of a block of candidates, without the cells that cannot matter.

Cells are pruned as in EAPruned (Herrmann and Webb, "Early abandoning and pruning for elastic
distances including dynamic time warping", 2021), for all lanes together.  Scores only fall along a
path, so a cell below the worst score that still counts need not be continued.  Four rows at a time
are computed, from the first column of the row above that some lane can be continued from, to the
first column behind these in which no lane has a cell to continue.  If none is left in the last of
the rows, the block is abandoned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from warplearn._kernels.recursion.forward import (
    Column,
    Config,
    Operands,
    begin,
    ended,
    stripe_at,
    sweep,
)
from warplearn._kernels.recursion.grid import ROWS
from warplearn._kernels.simd.compiling import inlined, inner
from warplearn._kernels.simd.constants import NO, YES, ZERO, value_of
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.vector import BATCH, bits, load, maximum, splat, store, where

_COLUMNS = 8  # computed between two looks at whether a row can end


class _Rows(NamedTuple):
    """The first and the last row of a stripe."""

    first: int
    last: int


@inlined
def _alive(lanes, value, worst):
    """Whether a lane's value reaches the score `worst`."""
    return bits(value >= splat(lanes, worst)) != 0


@inlined
def _sweep_columns(config, cost, operands, stripe, limits, work, rows, start, stop, column):
    """The columns from `start` to `stop` of a stripe; masked where not all lanes have the cell."""
    x, w, kept, steps, hull = operands.x, operands.w, work.kept, work.steps, limits.hull
    if value_of(config.banded):
        inner = lesser(greater(hull[rows.last, 1], start), stop)
        outer = lesser(greater(hull[rows.first, 2] + 1, inner), stop)
        column = sweep(config, YES, cost, x, w, stripe, limits, kept, steps, start, inner, column)
        column = sweep(config, NO, cost, x, w, stripe, limits, kept, steps, inner, outer, column)
        start = outer
    return sweep(
        config, config.banded, cost, x, w, stripe, limits, kept, steps, start, stop, column
    )


@inlined
def _narrow(lanes, kept, start, stop, running, worst):
    """The columns, of those computed, from the first to the last that a path can continue from."""
    nothing = splat(lanes, kept.dtype.type(-np.inf))
    count = value_of(lanes)
    while start < stop and not _alive(
        lanes, where(running, load(lanes, kept, start * count), nothing), worst
    ):
        start += 1
    while start < stop and not _alive(
        lanes, where(running, load(lanes, kept, (stop - 1) * count), nothing), worst
    ):
        stop -= 1
    return start, stop


@inner
def _cells_of_rows(banded, hull, rows, start, stop):
    """How many cells the columns from `start` to `stop` of some rows have."""
    if not value_of(banded):
        return (rows.last + 1 - rows.first) * (stop - start)
    count = ZERO
    for i in range(rows.first, rows.last + 1):
        count += greater(0, lesser(stop, hull[i, 3] + 1) - greater(start, hull[i, 0]))
    return count


@inner
def compute_pruned(plan, cost, query, ends, limits, work, block, worst, scores):
    """Compute the scores of a block; returns how many cells of a lane were computed.

    The score of a lane whose best path does not reach `worst` may be minus infinity instead.

    Parameters
    ----------
    plan : nearest.Plan
    cost : local score
    query : nearest.Query
        Shared by all lanes.
    ends : Ends
    limits : grid.Limits
        Of the band; not looked at without one.
    work : Work
    block : array
        The candidates in lanes.
    worst : float
    scores : array (lanes,)
    """
    lanes, m, longest, hull, kept = plan.lanes, query.length, ends.longest, limits.hull, work.kept
    config = Config(lanes, BATCH, plan.channels, NO, plan.banded)
    operands = Operands(block, 0, query.values, query.start, 0, m)
    nothing = begin(lanes, m, kept)
    result = nothing
    end = load(lanes, ends.last_rows, 0)
    low, high, cells = ZERO, ZERO, ZERO
    above = splat(lanes, kept.dtype.type(0))
    for i in range(0, longest, ROWS):
        rows = _Rows(i, lesser(i + ROWS, longest) - 1)
        stripe = stripe_at(config, operands, hull, i, longest)
        first, limit = low, m
        if value_of(plan.banded):
            first, limit = greater(low, hull[i, 0]), hull[rows.last, 3] + 1
        if first > 0:
            above = load(lanes, kept, (first - 1) * value_of(lanes))
        column = Column(above, nothing, nothing, nothing, nothing)
        start, stop = first, lesser(greater(high + 1, first + _COLUMNS), limit)
        while start < stop:
            column = _sweep_columns(
                config, cost, operands, stripe, limits, work, rows, start, stop, column
            )
            best = maximum(
                maximum(column.first, column.second), maximum(column.third, column.fourth)
            )
            start = stop
            if _alive(lanes, best, worst):
                stop = lesser(stop + _COLUMNS, limit)
        above = nothing
        if first > 0:
            store(kept, (first - 1) * value_of(lanes), nothing)
        cells += _cells_of_rows(plan.banded, hull, rows, first, stop)
        if stop == m and rows.last >= ends.shortest - 1:
            result = ended(end, i, ROWS, column, result)
        low, high = _narrow(lanes, kept, first, stop, end > rows.last, worst)
        if low == high:
            break
    store(scores, 0, result)
    return cells
