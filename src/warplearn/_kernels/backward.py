"""Active paths: the way back through the grids of a block, and what is gathered along it.

The sweep walks the rows from the last to the first and carries, for each column, the set of lanes
whose path passes there, as the bits of an integer.  One visit so serves all lanes that share a
cell, and columns that no path touches are never looked at.  The result is a list of *cells*
(row, column, lanes), from which everything else follows: paths, embeddings, gradients.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warplearn._kernels.lanes import (
    add_to_matrix,
    add_to_series,
    load,
    matrix_at,
    series_at,
    splat,
    unpack,
    where,
)
from warplearn._kernels.local import gradient
from warplearn._kernels.records import number


@njit(nogil=True)
def trace(lanes, steps, m, ends, longest, wanted, marks, cells):
    """List the cells on the active paths of the lanes whose bit is set in `wanted`.

    Parameters
    ----------
    steps : what `forward` recorded
    ends : index of each lane's last row
    marks : work space of m integers
    cells : array (capacity, 3); min(k m, lanes (k + m)) entries are enough

    Returns
    -------
    The number of cells, in the order of the way back.
    """
    for j in range(m):
        marks[j] = 0
    count = 0
    low, high = m, -1  # columns that hold marks of the row at hand
    for i in range(longest - 1, -1, -1):
        arrived = 0  # lanes that come to this cell from the right or start here
        for lane in range(number(lanes)):
            if int(ends[lane]) == i:
                arrived |= wanted & (1 << lane)
        if arrived:
            high = m - 1
        j = high
        crossed = 0  # lanes whose step from the cell to the right was diagonal
        next_low, next_high = m, -1
        while j >= 0 and (j >= low or arrived or crossed):
            here = marks[j] | arrived
            arrived = 0
            goes_on = crossed
            crossed = 0
            if here:
                cells[count, 0] = i
                cells[count, 1] = j
                cells[count, 2] = here
                count += 1
                word = 2 * (i * m + j)
                crossed = here & np.int64(steps[word])
                straight = here & ~crossed & np.int64(steps[word + 1])
                arrived = here & ~crossed & ~straight
                goes_on |= straight
            marks[j] = goes_on
            if goes_on:
                next_low = j
                next_high = max(next_high, j)
            j -= 1
        low, high = next_low, next_high
    return count


@njit(nogil=True)
def path_of_lane(lane, cells, count, path):
    """Pick the cells of one lane, in the order of the way back; returns how many."""
    length = 0
    for cell in range(count):
        if cells[cell, 2] >> lane & 1:
            path[length, 0] = cells[cell, 0]
            path[length, 1] = cells[cell, 1]
            length += 1
    return length


@njit(nogil=True)
def gather(
    lanes, role, channels, want_series, want_matrix, cost,
    x, x_start, w, w_start, w_stride, upstream, cells, count, to_x, to_x_start, to_w, to_w_start,
):  # fmt: skip
    """Add the generalized gradient along the active paths, times `upstream`, to `to_x`, `to_w`."""
    d = number(channels)
    zero = splat(lanes, upstream.dtype.type(0))
    factor = load(lanes, upstream, 0)
    for cell in range(count):
        i, j = cells[cell, 0], cells[cell, 1]
        here = where(unpack(lanes, cells[cell, 2]), factor, zero)
        x_cell, w_cell = i * d, i * w_stride + j * d
        for c in range(d):
            x_slope, w_slope = gradient(
                cost,
                series_at(role, lanes, x, x_start + x_cell + c),
                matrix_at(role, lanes, w, w_start + w_cell + c),
            )
            if number(want_series):
                add_to_series(role, to_x, to_x_start + x_cell + c, here * x_slope)
            if number(want_matrix):
                add_to_matrix(role, to_w, to_w_start + w_cell + c, here * w_slope)
