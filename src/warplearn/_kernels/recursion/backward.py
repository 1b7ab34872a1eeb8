"""Active paths: the way back through the grids of a block, and what is gathered along it.

The sweep walks the rows from the last to the first, two at once, and carries, for each column, the
set of lanes whose path passes there (see `steps`).  One visit serves all lanes that share a cell,
and columns that no path touches are never looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.recursion.forward import steps_of
from warplearn._kernels.recursion.local import gradient
from warplearn._kernels.recursion.steps import (
    bit_of,
    in_lanes,
    places_of,
    set_above,
    set_diagonal,
    step_at,
)
from warplearn._kernels.simd.compiling import inlined, inner
from warplearn._kernels.simd.constants import ZERO, Static, constants, value_of
from warplearn._kernels.simd.numbers import lesser
from warplearn._kernels.simd.vector import (
    add_to_matrix,
    add_to_series,
    load,
    matrix_at,
    series_at,
)


@constants
class Wanted(NamedTuple):
    """What is gathered along the paths.

    Attributes
    ----------
    series, matrix : Static
        The generalized gradient with respect to the series, and with respect to the matrix.
    visits : Static
        For each cell of the matrix, the sum of the factors of the lanes whose path passes there.
    cells : Static
        A list of the cells (row, column, lanes), in the order of the way back.
    """

    series: Static
    matrix: Static
    visits: Static
    cells: Static


class Gradients(NamedTuple):
    """Where gradients are added: arrays laid out like the operands, and where they start.

    `visits` is laid out like the gradient of the matrix, with one channel.
    """

    to_x: Any
    x_start: int
    to_w: Any
    w_start: int
    visits: Any


class Trace(NamedTuple):
    """The steps that `forward` recorded, work space of m integers, and the list of cells."""

    steps: Any
    marks: Any
    cells: Any


@inlined
def _add_gradient(
    config, wanted, cost, operands, gradients, first, row, cell, places, here, factor
):
    """Add the local derivatives of one cell, times `factor`, in the lanes on whose path it is.

    In other lanes they may be infinite or NaN, and a product with 0 would be NaN.  `row` and
    `cell` are where the elements stand, counted from the starts of the operands; `first` is the
    first element of the row.
    """
    lanes, role = config.lanes, config.role
    for c in range(value_of(config.channels)):
        x = first
        if c > 0:
            x = series_at(role, lanes, operands.x, operands.x_start + row + c)
        w = matrix_at(role, lanes, operands.w, operands.w_start + cell + c)
        x_slope, w_slope = gradient(cost, x, w)
        if value_of(wanted.series):
            added = in_lanes(places, here, factor * x_slope)
            add_to_series(role, gradients.to_x, gradients.x_start + row + c, added)
        if value_of(wanted.matrix):
            added = in_lanes(places, here, factor * w_slope)
            add_to_matrix(role, gradients.to_w, gradients.w_start + cell + c, added)


@inlined
def _gather(config, wanted, cost, operands, gradients, first, i, j, places, here, factor):
    """Add what is wanted of cell (i, j) in the lanes of the set `here`."""
    if value_of(wanted.series) + value_of(wanted.matrix) + value_of(wanted.visits):
        d = value_of(config.channels)
        cell = i * operands.w_stride + j * d
        if value_of(wanted.visits):
            added = in_lanes(places, here, factor)
            place = (gradients.w_start + cell) // d
            add_to_matrix(config.role, gradients.visits, place, added)
        row = i * d
        _add_gradient(
            config, wanted, cost, operands, gradients, first, row, cell, places, here, factor
        )


@inlined
def _prepare(config, like, trace, hull, m, longest):
    """No marks yet; and no step leads out of the grid or the band, also where scores overflowed."""
    steps, marks = trace.steps, trace.marks
    low_before, high_before = 0, -1
    for i in range(longest):
        low, high = 0, m - 1
        if value_of(config.banded):
            low, high = hull[i, 0], hull[i, 3]
        start = steps_of(config, hull, m, i)
        # In columns that the row above does not have, the way is to the left, or diagonally.
        for j in range(high_before + 1, high + 1):
            if j > high_before + 1 or i == 0:
                set_above(like, steps, start + j, False)
            set_diagonal(like, steps, start + j, True)
        set_above(like, steps, start + low, True)
        if low == low_before:
            set_diagonal(like, steps, start + low, False)
        low_before, high_before = low, high
    for j in range(m):
        marks[j] = 0


@inlined
def _ending(like, count, ends, i):
    """The set of lanes whose paths end in row i."""
    ending, last_rows = ZERO, ends.last_rows
    if ends.shortest <= i + 1 <= ends.longest:
        if ends.shortest == ends.longest:
            return ~ZERO
        for lane in range(count):
            if int(last_rows[lane]) == i:
                ending |= bit_of(like, lane)
    return ending


@inlined
def _not_zero(like, count, factors):
    """The set of lanes whose factor is not 0."""
    chosen = ZERO
    for lane in range(count):
        if factors[lane] != 0:
            chosen |= bit_of(like, lane)
    return chosen


@inlined
def _leave(like, steps, cell, here):
    """Where lanes of the set `here` leave a cell: to the left, straight up, or diagonally."""
    above, diagonal = step_at(like, steps, cell)
    up = here & above
    straight = up & ~diagonal
    return here ^ up, straight, up ^ straight


@inlined
def _list(wanted, cells, count, i, j, here):
    """List cell (i, j), if cells are wanted and a path passes there; returns how many there are."""
    if value_of(wanted.cells) and here:
        cells[count, 0] = i
        cells[count, 1] = j
        cells[count, 2] = here
        count += 1
    return count


@inner
def backward(config, wanted, cost, operands, ends, limits, trace, upstream, gradients):
    """Visit the active paths of the lanes whose factor is not 0.

    Parameters
    ----------
    config, cost, operands, ends, limits
        As for `forward`.
    wanted : Wanted
    trace : Trace
    upstream : array of lanes
        The factor of each lane in what is added to the gradients and visits.
    gradients : Gradients

    Returns
    -------
    The number of cells listed.
    """
    # Arrays are taken out of their tuples before the loops, which would count references to them.
    lanes, m, longest = config.lanes, operands.m, ends.longest
    d = value_of(config.channels)
    steps, marks, cells, hull = trace.steps, trace.marks, trace.cells, limits.hull
    factor = load(lanes, upstream, 0)
    chosen = _not_zero(factor, value_of(lanes), upstream)
    if not chosen:
        return 0
    _prepare(config, factor, trace, hull, m, longest)
    count, places = ZERO, places_of(factor)
    low, high = m, -1  # columns that hold marks of the rows at hand
    # Rows i and i - 1.  Of an odd number of rows the last is the second of a pair whose first does
    # not exist: no lane is there, and nothing is added to the cells that stand in for it.
    for i in range((longest - 1) | 1, 0, -2):
        below = lesser(i, longest - 1)
        # Lanes that start here, or come from the cell to the right.
        arrived = chosen & _ending(factor, value_of(lanes), ends, i)
        arrived_above = chosen & _ending(factor, value_of(lanes), ends, i - 1)
        if arrived | arrived_above:
            high = m - 1
        crossed, crossed_above = ZERO, ZERO  # lanes that left the cell to the right diagonally
        start, start_above = steps_of(config, hull, m, i), steps_of(config, hull, m, i - 1)
        # Loaded here: the compiler cannot tell that gradients are not written to the series.
        first = series_at(config.role, lanes, operands.x, operands.x_start + below * d)
        first_above = series_at(config.role, lanes, operands.x, operands.x_start + (i - 1) * d)
        j = high
        while j >= low or arrived | crossed | arrived_above | crossed_above:
            column = np.uint64(j)  # unsigned, no index counts from the end
            here = marks[column] | arrived
            arrived, straight, crossing = _leave(factor, steps, start + j, here)
            count = _list(wanted, cells, count, i, j, here)
            _gather(
                config, wanted, cost, operands, gradients, first, below, j, places, here, factor
            )
            here = straight | crossed | arrived_above
            crossed = crossing
            arrived_above, straight, crossing = _leave(factor, steps, start_above + j, here)
            count = _list(wanted, cells, count, i - 1, j, here)
            _gather(
                config, wanted, cost, operands, gradients, first_above, i - 1, j, places, here,
                factor,
            )  # fmt: skip
            marks[column] = straight | crossed_above
            crossed_above = crossing
            j -= 1
        # The sweep ends in a column from which lanes go straight up.
        low = j + 1
        while high >= low and marks[high] == 0:
            high -= 1
    return count


@inner
def path_of_lane(own, cells, count, path):
    """Pick the cells of one lane, the set `own`, in the order of the way back; returns how many."""
    length = 0
    for cell in range(count):
        if cells[cell, 2] & own:
            path[length, 0] = cells[cell, 0]
            path[length, 1] = cells[cell, 1]
            length += 1
    return length
