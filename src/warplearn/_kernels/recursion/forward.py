"""The dynamic program: scores of best warping paths, many grids at a time.

On the grid of a series x (k rows) and a matrix w (m columns) the paper's Algorithm 1 is

    s[i, j] = local score of x_i at w_ij + max(s[i-1, j], s[i-1, j-1], s[i, j-1])

with the value in the last row and column.  Each lane of a vector holds a grid of its own, and its
series may end earlier than those of other lanes.  Of the two operands one is laned and the other
shared (see `lanes`):

    bank    laned matrices, a shared series
    batch   laned series, a shared matrix

A series in the place of a matrix, the case of dynamic time warping, is a matrix whose rows are all
the same: its row stride is 0.

Some rows are swept at once, column by column: the row above is loaded and the last row stored once
for all of them, and only that row is kept.  Two rows of vectors of four registers (`lanes_for`), or
four rows of short vectors, keep the arithmetic units of the CPU busy all the time.  Where the path
is wanted, two bits a cell and lane record the step that led there: from the row above or from the
left, and if from above, diagonally or straight.  Ties prefer the diagonal, then straight up.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warplearn._kernels.recursion.local import score
from warplearn._kernels.simd.records import Static, number, switch
from warplearn._kernels.simd.vector import (
    is_short,
    load,
    matrix_at,
    maximum,
    series_at,
    splat,
    store,
    store_bits,
    where,
)

_PLAIN, _MASKED = Static(0), Static(1)


@njit(nogil=True, forceinline=True)
def cell(lanes, role, channels, cost, x, i, w, j, up, diagonal, left):
    """The value of one cell, whose elements start at x[i] and w[j]."""
    value = maximum(maximum(up, diagonal), left)
    for c in range(number(channels)):
        value = value + score(
            cost, series_at(role, lanes, x, i + c), matrix_at(role, lanes, w, j + c)
        )
    return value


@njit(nogil=True, forceinline=True)
def _inside(lanes, masked, low, high, row, column, value):
    """The value where the cell lies in the lane's band, else minus infinity."""
    if number(masked):
        below = splat(lanes, low.dtype.type(-np.inf))
        value = where(load(lanes, low, row * number(lanes)) <= column, value, below)
        value = where(load(lanes, high, row * number(lanes)) >= column, value, below)
    return value


@njit(nogil=True, forceinline=True)
def _record(traced, steps, cell, up, diagonal, left):
    """Note which neighbour the best path to a cell comes from."""
    if number(traced):
        store_bits(steps, 2 * cell, maximum(up, diagonal) >= left)
        store_bits(steps, 2 * cell + 1, diagonal >= up)


def _two_more(
    short, lanes, role, channels, traced, masked, cost,
    x, x_at, w, w_at, row, m, low, high, steps, j, b_new, b, c, e,
):  # fmt: skip
    """A short vector is few chains of operations: two more rows take their place."""
    raise NotImplementedError


def _no_more(
    short, lanes, role, channels, traced, masked, cost,
    x, x_at, w, w_at, row, m, low, high, steps, j, b_new, b, c, e,
):  # fmt: skip
    return c, b_new


def _third_and_fourth(
    short, lanes, role, channels, traced, masked, cost,
    x, x_at, w, w_at, row, m, low, high, steps, j, b_new, b, c, e,
):  # fmt: skip
    at = j * number(channels)
    c_new = cell(lanes, role, channels, cost, x, x_at[2], w, w_at[2] + at, b_new, b, c)
    c_new = _inside(lanes, masked, low, high, row + 2, j, c_new)
    e_new = cell(lanes, role, channels, cost, x, x_at[3], w, w_at[3] + at, c_new, c, e)
    e_new = _inside(lanes, masked, low, high, row + 3, j, e_new)
    _record(traced, steps, (row + 2) * m + j, b_new, b, c)
    _record(traced, steps, (row + 3) * m + j, c_new, c, e)
    return c_new, e_new


switch(_two_more, _no_more, _third_and_fourth)


@njit(nogil=True, forceinline=True)
def _sweep(
    lanes, role, channels, traced, masked, cost,
    x, x_at, w, w_at, row, m, low, high, kept, steps, first, stop, column,
):  # fmt: skip
    """Columns `first` to `stop` of some rows, whose elements start at x_at and w_at.

    `column` is the one before: the row above, and the rows.
    """
    d = number(channels)
    above, a, b, c, e = column
    for j in range(first, stop):
        up = load(lanes, kept, j * number(lanes))
        a_new = cell(lanes, role, channels, cost, x, x_at[0], w, w_at[0] + j * d, up, above, a)
        a_new = _inside(lanes, masked, low, high, row, j, a_new)
        b_new = cell(lanes, role, channels, cost, x, x_at[1], w, w_at[1] + j * d, a_new, a, b)
        b_new = _inside(lanes, masked, low, high, row + 1, j, b_new)
        _record(traced, steps, row * m + j, up, above, a)
        _record(traced, steps, (row + 1) * m + j, a_new, a, b)
        c, e = _two_more(
            is_short(lanes, kept), lanes, role, channels, traced, masked, cost,
            x, x_at, w, w_at, row, m, low, high, steps, j, b_new, b, c, e,
        )  # fmt: skip
        store(kept, j * number(lanes), e)
        above, a, b = up, a_new, b_new
    return above, a, b, c, e


@njit(nogil=True, forceinline=True)
def begin(lanes, m, kept):
    """Prepare the kept row for the first rows; returns the values known so far, which are none."""
    nothing = splat(lanes, kept.dtype.type(-np.inf))
    for j in range(m):
        store(kept, j * number(lanes), nothing)
    return nothing


@njit(nogil=True, forceinline=True)
def advance(
    lanes, role, channels, traced, banded, cost,
    x, x_start, w, w_start, w_stride, m, ends, shortest, longest, low, high, hull, kept, steps,
    start, stop_row, result,
):  # fmt: skip
    """Rows `start`, a multiple of `grid.ROWS`, to `stop_row`, after `begin` and all rows before.

    Parameters as for `forward`; returns `result` with the values of the lanes that end there.
    """
    count, d = number(lanes), number(channels)
    rows = 2 + 2 * number(is_short(lanes, kept))
    nothing = splat(lanes, kept.dtype.type(-np.inf))
    # Every path starts from the corner before (0, 0).
    above = splat(lanes, kept.dtype.type(0)) if start == 0 else nothing
    end = load(lanes, ends, 0)
    for i in range(start, stop_row, rows):
        # Rows behind the end repeat the last one: no lane's value comes from them.
        i1, i2, i3 = min(i + 1, longest - 1), min(i + 2, longest - 1), min(i + 3, longest - 1)
        last = min(i + rows, longest) - 1
        x_at = (x_start + i * d, x_start + i1 * d, x_start + i2 * d, x_start + i3 * d)
        w_at = (
            w_start + i * w_stride,
            w_start + i1 * w_stride,
            w_start + i2 * w_stride,
            w_start + i3 * w_stride,
        )
        first, inner, outer, stop = 0, 0, m, m
        if number(banded):
            first, stop = hull[i, 0], hull[last, 3] + 1
            inner = min(hull[last, 1], stop)
            outer = max(hull[i, 2] + 1, inner)
            if first > 0:
                above = load(lanes, kept, (first - 1) * count)
        column = (above, nothing, nothing, nothing, nothing)
        if number(banded):
            column = _sweep(
                lanes, role, channels, traced, _MASKED, cost, x, x_at, w, w_at,
                i, m, low, high, kept, steps, first, inner, column,
            )  # fmt: skip
        column = _sweep(
            lanes, role, channels, traced, _PLAIN, cost, x, x_at, w, w_at,
            i, m, low, high, kept, steps, inner, outer, column,
        )  # fmt: skip
        if number(banded):
            column = _sweep(
                lanes, role, channels, traced, _MASKED, cost, x, x_at, w, w_at,
                i, m, low, high, kept, steps, outer, stop, column,
            )  # fmt: skip
            if first > 0:
                store(kept, (first - 1) * count, nothing)
        above = nothing
        if i + rows >= shortest:
            result = where(end == i, column[1], result)
            result = where(end == i + 1, column[2], result)
            if rows == 4:
                result = where(end == i + 2, column[3], result)
                result = where(end == i + 3, column[4], result)
    return result


@njit(nogil=True)
def forward(
    lanes, role, channels, traced, banded, cost,
    x, x_start, w, w_start, w_stride, m, ends, shortest, longest, low, high, hull, kept, steps,
):  # fmt: skip
    """Scores of the best paths, one a lane.

    Parameters
    ----------
    lanes, role, channels, traced, banded : Static
        How many lanes; which operand is laned; channels (a plain int if not known to the
        compiler); whether to fill `steps`; whether there is a band.
    cost : local score
    x, x_start : series, flat, and where it starts
    w, w_start, w_stride : matrix, flat, where it starts and how far its rows are apart
    m : int
        Columns.
    ends : array of lanes
        Index of each lane's last row.
    shortest, longest : int
        The fewest and the most rows of any lane.
    low, high, hull : limits of the band (see `grid.lane_limits`)
    kept : work space of m vectors
    steps : work space of 2 m masks a row, for rows rounded up to a multiple of `grid.ROWS`
    """
    result = begin(lanes, m, kept)
    return advance(
        lanes, role, channels, traced, banded, cost,
        x, x_start, w, w_start, w_stride, m, ends, shortest, longest, low, high, hull, kept, steps,
        0, longest, result,
    )  # fmt: skip
