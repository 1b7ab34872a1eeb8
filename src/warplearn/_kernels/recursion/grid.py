"""Which cells of a grid exist: all, or those of a Sakoe-Chiba band.

On a grid of k rows and m columns the band of radius r holds the cells (i, j), counted from 0, with

    |i (m - 1) - j (k - 1)| <= r (min(k, m) - 1),

those at most r cells from the line between the corners, measured along the longer side.  On a
square grid this is |i - j| <= r; a grid of one row or column is always complete.  A `Band` gives
the radius in cells, or as a share of the longer side.

In a ragged batch every lane has a grid, and so a band, of its own.  For each row the kernels need
the lanes' limits and the hull of these: columns from `outer low` to `outer high` exist in some
lane, those from `inner low` to `inner high` in every one, and only what lies between needs a mask.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.simd.arrays import empty
from warplearn._kernels.simd.compiling import entry, inner
from warplearn._kernels.simd.constants import value_of
from warplearn._kernels.simd.numbers import greater, lesser


class Band(NamedTuple):
    """A Sakoe-Chiba band: its radius in cells, or as a share of the longer side; the other is 0."""

    cells: int = 0
    share: float = 0.0


NO_BAND = Band()  # what kernels that have no band get in its place
ROWS = 4  # of a grid are computed at once, at most


class Limits(NamedTuple):
    """The band of a block: first and last column (row, lane), and the hull (row, 5) of these.

    The columns of `hull` are outer low, inner low, inner high, outer high, and the place of the
    row's steps: those of column j are at `place + j`.  So only cells that exist take up memory.
    """

    low: Any
    high: Any
    hull: Any


@entry
def radius_on(band, k, m):
    """The radius on a k x m grid; the tiny term forgives the rounding of shares like 0.29."""
    return band.cells + int(band.share * greater(k, m) + 1e-9)


@entry
def row_limits(band, k, m, low, high):
    """First and last column of each row, by stepping: both only ever move to the right."""
    reach = radius_on(band, k, m) * (lesser(k, m) - 1)
    first, last = 0, 0
    for i in range(k):
        centre = i * (m - 1)
        while first < m - 1 and centre - first * (k - 1) > reach:
            first += 1
        while last < m - 1 and (last + 1) * (k - 1) - centre <= reach:
            last += 1
        low[i] = first
        high[i] = last


@entry
def leaves_no_path(band, k, m):
    """Whether the band cuts every warping path of a k x m grid."""
    low, high = empty(k, np.int64), empty(k, np.int64)
    row_limits(band, k, m, low, high)
    for i in range(k):
        if low[i] > high[i] or (i > 0 and low[i] > high[i - 1] + 1):
            return True
    return False


@inner
def padded_rows(rows):
    """Rows rounded up to a multiple of `ROWS`."""
    return (rows + ROWS - 1) // ROWS * ROWS


@inner
def room_for_limits(lanes, banded, rows, like):
    """Uninitialized limits of blocks of up to some rows; empty without a band.

    The recursion may look a few rows further.
    """
    rows = rows + ROWS if value_of(banded) else 0
    size = rows * value_of(lanes)
    low, high = empty(size, like), empty(size, like)
    return Limits(low, high, empty((rows, 5), np.int64))


@inner
def lane_limits(lanes, band, rows, longest, m, limits):
    """Fill in the limits of a block whose lanes have `rows` rows.

    Rows behind the end of a lane repeat its last row, which keeps the hull tight.  Returns the
    number of cells whose steps may be recorded.
    """
    count, low, high, hull = value_of(lanes), limits.low, limits.high, limits.hull
    first, last = empty(longest, np.int64), empty(longest, np.int64)
    for lane in range(count):
        k = rows[lane]
        if lane == 0 or k != rows[lane - 1]:
            row_limits(band, k, m, first, last)
        for i in range(longest):
            low[i * count + lane] = first[lesser(i, k - 1)]
            high[i * count + lane] = last[lesser(i, k - 1)]
    for i in range(longest):
        outer_low, inner_low, inner_high, outer_high = m, 0, m, 0
        for cell in range(i * count, (i + 1) * count):
            outer_low = lesser(outer_low, int(low[cell]))
            inner_low = greater(inner_low, int(low[cell]))
            inner_high = lesser(inner_high, int(high[cell]))
            outer_high = greater(outer_high, int(high[cell]))
        hull[i, 0] = outer_low
        hull[i, 1] = inner_low
        hull[i, 2] = inner_high
        hull[i, 3] = outer_high
    return _place_steps(longest, hull)


@inner
def _place_steps(longest, hull):
    """Put the steps of rows behind each other; rows that are swept at once have equal columns."""
    cells = 0
    for i in range(0, longest, ROWS):
        first = hull[i, 0]
        width = hull[lesser(i + ROWS, longest) - 1, 3] + 1 - first
        for row in range(i, i + ROWS):
            hull[row, 4] = cells - first
            cells += width
    return cells
