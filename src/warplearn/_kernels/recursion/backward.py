"""Active paths: the way back through the grids of a block, and what is gathered along it.

The sweep walks the rows from the last to the first and carries, for each column, the set of lanes
whose path passes there, as the bits of an integer.  One visit so serves all lanes that share a
cell, and columns that no path touches are never looked at.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warplearn._kernels.recursion.local import gradient
from warplearn._kernels.simd.records import number
from warplearn._kernels.simd.vector import (
    add_to_matrix,
    add_to_series,
    like,
    load,
    matrix_at,
    series_at,
    splat,
    unpack,
    where,
)


@njit(nogil=True, forceinline=True)
def _add_gradient(
    lanes, role, channels, want_series, want_matrix, cost,
    x, x_cell, w, w_cell, to_x, to_x_cell, to_w, to_w_cell, on_path, factor,
):  # fmt: skip
    """Add the local derivatives of one cell, times `factor`, in the lanes on whose path it is.

    In others they may be infinite or NaN, which no factor of 0 would hide.
    """
    zero = like(factor, 0.0)
    for c in range(number(channels)):
        x_slope, w_slope = gradient(
            cost, series_at(role, lanes, x, x_cell + c), matrix_at(role, lanes, w, w_cell + c)
        )
        if number(want_series):
            add_to_series(role, to_x, to_x_cell + c, where(on_path, factor * x_slope, zero))
        if number(want_matrix):
            add_to_matrix(role, to_w, to_w_cell + c, where(on_path, factor * w_slope, zero))


@njit(nogil=True)
def backward(
    lanes, role, channels, want_series, want_matrix, want_visits, want_cells, cost,
    x, x_start, w, w_start, w_stride, m, ends, shortest, longest, steps, wanted, upstream,
    to_x, to_x_start, to_w, to_w_start, visits, marks, cells,
):  # fmt: skip
    """Visit the active paths of the lanes whose bit is set in `wanted`.

    Parameters
    ----------
    lanes, role, channels, cost, x, x_start, w, w_start, w_stride, m, ends, shortest, longest
        As for `forward`.
    want_series, want_matrix : Static
        Whether to add the generalized gradient with respect to the series to `to_x`, with respect
        to the matrix to `to_w`, each lane's multiplied by its number in `upstream`.
    want_visits : Static
        Whether to add each lane's number in `upstream` to the cells of `visits` on its path;
        `visits` is laid out like the matrix, with one channel.
    want_cells : Static
        Whether to list the cells (row, column, lanes) in `cells`, in the order of the way back.
    steps : what `forward` recorded
    marks : work space of m integers

    Returns
    -------
    The number of cells listed.
    """
    d = number(channels)
    zero = splat(lanes, upstream.dtype.type(0))
    factor = load(lanes, upstream, 0)
    # Along the edges there is one way only, also where all scores have overflown.
    for i in range(longest):
        steps[2 * i * m] = ~steps.dtype.type(0)
        steps[2 * i * m + 1] = 0
    for j in range(1, m):
        steps[2 * j] = 0
    for j in range(m):
        marks[j] = 0
    count = 0
    low, high = m, -1  # columns that hold marks of the row at hand
    for i in range(longest - 1, -1, -1):
        arrived = 0  # lanes that start in this row, or come from the cell to the right
        if i + 1 >= shortest:
            for lane in range(number(lanes)):
                if int(ends[lane]) == i:
                    arrived |= wanted & (1 << lane)
            if arrived:
                high = m - 1
        crossed = 0  # lanes that left the cell to the right diagonally
        j = high
        while j >= low or arrived | crossed:
            column, word = np.uint64(j), 2 * (i * m + j)  # unsigned, no index counts from the end
            here = marks[column] | arrived
            above = np.int64(steps[np.uint64(word)])
            diagonal = np.int64(steps[np.uint64(word + 1)])
            marks[column] = crossed | (here & (above & ~diagonal))
            arrived = here & ~above
            crossed = here & (above & diagonal)
            if number(want_cells) and here:
                cells[count, 0] = i
                cells[count, 1] = j
                cells[count, 2] = here
                count += 1
            if number(want_series) + number(want_matrix) + number(want_visits):
                cell = i * w_stride + j * d
                on_path = unpack(lanes, here)
                if number(want_visits):
                    here_factor = where(on_path, factor, zero)
                    add_to_matrix(role, visits, (to_w_start + cell) // d, here_factor)
                _add_gradient(
                    lanes, role, channels, want_series, want_matrix, cost,
                    x, x_start + i * d, w, w_start + cell,
                    to_x, to_x_start + i * d, to_w, to_w_start + cell,
                    on_path, factor,
                )  # fmt: skip
            j -= 1
        # The sweep ends in a column from which lanes go straight up.
        low = j + 1
        while high >= low and marks[high] == 0:
            high -= 1
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
