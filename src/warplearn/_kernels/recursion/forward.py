"""The dynamic program: scores of best warping paths, many grids at a time.

On the grid of a series x (k rows) and a matrix w (m columns) the paper's Algorithm 1 is

    s[i, j] = local score of x_i at w_ij + max(s[i-1, j], s[i-1, j-1], s[i, j-1])

with the value in the last row and column.  Each lane of a vector holds a grid of its own, and its
series may end earlier than those of other lanes.  Of the two operands one is laned and the other
shared (see `vector`):

    bank    laned matrices, a shared series
    batch   laned series, a shared matrix

A series in the place of a matrix, the case of dynamic time warping, is a matrix whose rows are all
the same: its row stride is 0.

Some rows are swept at once, column by column: the row above is loaded and the last row stored once
for all of them, and only that row is kept.  Two rows of long vectors or four rows of short ones
(`vector.sweeps_four_rows`) keep the arithmetic units of the CPU busy all the time.  Where the path
is wanted, the step that led to each cell is recorded (see `steps`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.recursion.local import score
from warplearn._kernels.recursion.steps import record_step
from warplearn._kernels.simd.compiling import inlined, inner
from warplearn._kernels.simd.constants import NO, YES, Static, constants, switch, value_of
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.vector import (
    keeps_elements,
    load,
    matrix_at,
    maximum,
    series_at,
    splat,
    store,
    sweeps_four_rows,
    where,
)


@constants
class Config(NamedTuple):
    """What the recursion is compiled for.

    Attributes
    ----------
    lanes : Static
    role : Static
        BATCH or BANK: which operand is laned.
    channels : Static or int
        A plain integer if not known to the compiler.
    traced, banded : Static
        Whether to record the steps; whether there is a band.
    """

    lanes: Static
    role: Static
    channels: Static | int
    traced: Static
    banded: Static


class Operands(NamedTuple):
    """A series and a matrix of m columns: flat arrays, where they start, the stride of w's rows.

    Starts and stride are counted in elements of the operand, which are vectors if it is laned.
    """

    x: Any
    x_start: int
    w: Any
    w_start: int
    w_stride: int
    m: int


class Ends(NamedTuple):
    """Where grids end: the last row of each lane, and the fewest and most rows of any lane."""

    last_rows: Any
    shortest: int
    longest: int


class Work(NamedTuple):
    """Work space of the recursion.

    `kept` holds m vectors, the row above.  `steps` has `step_bytes` for each cell, of rows rounded
    up to a multiple of `grid.ROWS`; it is empty unless the steps are recorded.
    """

    kept: Any
    steps: Any


class Stripe(NamedTuple):
    """Four rows from `row` on: where the elements of each start in x and in w, and its steps.

    `elements` are what stands there in x, of several channels the first.
    """

    row: int
    elements: tuple[Any, Any, Any, Any]
    x: tuple[int, int, int, int]
    w: tuple[int, int, int, int]
    steps: tuple[int, int, int, int]


class Column(NamedTuple):
    """The values of a column: in the row above a stripe, and in its rows."""

    above: Any
    first: Any
    second: Any
    third: Any
    fourth: Any


@inlined
def best_of(left_last, up, diagonal, left):
    """The best score with which a path can reach a cell.

    What is known last is compared last: the value to the left in the first row of a stripe, whose
    row above is complete, and the value above in the others.  Where steps are recorded, the latter
    is compared with the diagonal anyway.
    """
    if value_of(left_last):
        return maximum(maximum(up, diagonal), left)
    return maximum(maximum(diagonal, left), up)


@inlined
def cell(config, left_last, cost, element, x, i, w, j, up, diagonal, left):
    """The value of one cell, whose elements start at x[i] and w[j].

    `element` is x[i], in a register where these suffice (`vector.keeps_elements`): the compiler
    cannot tell that nothing is written to x, and would load it for each cell.  `left_last` is the
    order of comparisons, see `best_of`.
    """
    value = best_of(left_last, up, diagonal, left)
    lanes, role = config.lanes, config.role
    for c in range(value_of(config.channels)):
        own = element
        if c > 0 or not value_of(keeps_elements(role, config.traced)):
            own = series_at(role, lanes, x, i + c)
        value = value + score(cost, own, matrix_at(role, lanes, w, j + c))
    return value


@inlined
def _inside(lanes, masked, limits, row, column, value):
    """The value where the cell lies in the lane's band, else minus infinity."""
    if value_of(masked):
        at = row * value_of(lanes)
        nothing = splat(lanes, limits.low.dtype.type(-np.inf))
        value = where(load(lanes, limits.low, at) <= column, value, nothing)
        value = where(load(lanes, limits.high, at) >= column, value, nothing)
    return value


def _two_more_rows(four, config, masked, cost, x, w, stripe, limits, steps, j, second, column):
    """The third and fourth row of a stripe at column j, if four rows are swept at once.

    `second` is the value of the second row, `column` are the values of the column before.  Returns
    the values of the third row, and of the last.
    """
    raise NotImplementedError


def _no_more_rows(four, config, masked, cost, x, w, stripe, limits, steps, j, second, column):
    return column.third, second


def _third_and_fourth(four, config, masked, cost, x, w, stripe, limits, steps, j, second, column):
    row, elements = stripe.row, stripe.elements
    at, lanes = j * value_of(config.channels), config.lanes
    third = cell(
        config, config.traced, cost, elements[2], x, stripe.x[2], w, stripe.w[2] + at, second,
        column.second, column.third,
    )  # fmt: skip
    third = _inside(lanes, masked, limits, row + 2, j, third)
    fourth = cell(
        config, config.traced, cost, elements[3], x, stripe.x[3], w, stripe.w[3] + at, third,
        column.third, column.fourth,
    )  # fmt: skip
    fourth = _inside(lanes, masked, limits, row + 3, j, fourth)
    if value_of(config.traced):
        record_step(steps, stripe.steps[2] + j, second, column.second, column.third)
        record_step(steps, stripe.steps[3] + j, third, column.third, column.fourth)
    return third, fourth


switch(_two_more_rows, _no_more_rows, _third_and_fourth)


@inlined
def sweep(config, masked, cost, x, w, stripe, limits, kept, steps, start, stop, column):
    """Columns `start` to `stop` of the rows of a stripe, after `column`; returns the last one."""
    lanes, d, row = config.lanes, value_of(config.channels), stripe.row
    x_first, x_second, elements = stripe.x[0], stripe.x[1], stripe.elements
    w_first, w_second = stripe.w[0], stripe.w[1]
    first_steps, second_steps = stripe.steps[0], stripe.steps[1]
    four_rows = sweeps_four_rows(lanes, kept, config.traced)
    # Variables of their own, not a tuple: LLVM then keeps the values in registers.
    above, before_first, before_second = column.above, column.first, column.second
    before_third, before_fourth = column.third, column.fourth
    for j in range(start, stop):
        up = load(lanes, kept, j * value_of(lanes))
        first = cell(
            config, YES, cost, elements[0], x, x_first, w, w_first + j * d, up, above, before_first
        )
        first = _inside(lanes, masked, limits, row, j, first)
        second = cell(
            config, config.traced, cost, elements[1], x, x_second, w, w_second + j * d, first,
            before_first, before_second,
        )  # fmt: skip
        second = _inside(lanes, masked, limits, row + 1, j, second)
        if value_of(config.traced):
            record_step(steps, first_steps + j, up, above, before_first)
            record_step(steps, second_steps + j, first, before_first, before_second)
        before = Column(above, before_first, before_second, before_third, before_fourth)
        before_third, before_fourth = _two_more_rows(
            four_rows, config, masked, cost, x, w, stripe, limits, steps, j, second, before
        )
        store(kept, j * value_of(lanes), before_fourth)
        above, before_first, before_second = up, first, second
    return Column(above, before_first, before_second, before_third, before_fourth)


def _sweep_rows(banded, config, cost, x, w, stripe, limits, kept, steps, m, last, above):
    """All columns of the rows of a stripe up to row `last`; `above` is above the first column."""
    raise NotImplementedError


def _complete_rows(banded, config, cost, x, w, stripe, limits, kept, steps, m, last, above):
    nothing = splat(config.lanes, kept.dtype.type(-np.inf))
    column = Column(above, nothing, nothing, nothing, nothing)
    return sweep(config, NO, cost, x, w, stripe, limits, kept, steps, 0, m, column)


def _rows_of_band(banded, config, cost, x, w, stripe, limits, kept, steps, m, last, above):
    lanes, hull, i = config.lanes, limits.hull, stripe.row
    nothing = splat(lanes, kept.dtype.type(-np.inf))
    first, stop = hull[i, 0], hull[last, 3] + 1
    inner = lesser(hull[last, 1], stop)
    outer = greater(hull[i, 2] + 1, inner)
    if first > 0:
        above = load(lanes, kept, (first - 1) * value_of(lanes))
    column = Column(above, nothing, nothing, nothing, nothing)
    column = sweep(config, YES, cost, x, w, stripe, limits, kept, steps, first, inner, column)
    column = sweep(config, NO, cost, x, w, stripe, limits, kept, steps, inner, outer, column)
    column = sweep(config, YES, cost, x, w, stripe, limits, kept, steps, outer, stop, column)
    if first > 0:
        store(kept, (first - 1) * value_of(lanes), nothing)
    return column


switch(_sweep_rows, _complete_rows, _rows_of_band)


@inlined
def begin(lanes, m, kept):
    """Prepare the kept row for the first rows; returns minus infinity for every lane."""
    nothing = splat(lanes, kept.dtype.type(-np.inf))
    for j in range(m):
        store(kept, j * value_of(lanes), nothing)
    return nothing


@inlined
def steps_of(config, hull, m, i):
    """Where the steps of row i stand, as if it had a column 0."""
    return hull[i, 4] if value_of(config.banded) else i * m


@inlined
def stripe_at(config, operands, hull, i, longest):
    """The rows from i on.  Those behind the end repeat the last: no value comes from them."""
    d, m = value_of(config.channels), operands.m
    x_start, w_start, stride = operands.x_start, operands.w_start, operands.w_stride
    i1, i2, i3 = lesser(i + 1, longest - 1), lesser(i + 2, longest - 1), lesser(i + 3, longest - 1)
    x, role, lanes = operands.x, config.role, config.lanes
    at = (x_start + i * d, x_start + i1 * d, x_start + i2 * d, x_start + i3 * d)
    return Stripe(
        i,
        (
            series_at(role, lanes, x, at[0]),
            series_at(role, lanes, x, at[1]),
            series_at(role, lanes, x, at[2]),
            series_at(role, lanes, x, at[3]),
        ),
        at,
        (w_start + i * stride, w_start + i1 * stride, w_start + i2 * stride, w_start + i3 * stride),
        (
            steps_of(config, hull, m, i),
            steps_of(config, hull, m, i + 1),
            steps_of(config, hull, m, i + 2),
            steps_of(config, hull, m, i + 3),
        ),
    )


@inlined
def ended(end, i, rows, column, result):
    """`result`, with the values of the lanes that end in one of the rows from i on."""
    result = where(end == i, column.first, result)
    result = where(end == i + 1, column.second, result)
    if rows == 4:
        result = where(end == i + 2, column.third, result)
        result = where(end == i + 3, column.fourth, result)
    return result


@inlined
def advance(config, cost, operands, ends, limits, work, start, stop_row, result):
    """Rows `start`, a multiple of `grid.ROWS`, to `stop_row`, after `begin` and all rows before.

    Parameters as for `forward`; returns `result` with the values of the lanes that end there.
    """
    # Arrays are taken out of their tuples before the loops, which would count references to them.
    x, w, kept, steps, hull = operands.x, operands.w, work.kept, work.steps, limits.hull
    lanes, banded, m, longest = config.lanes, config.banded, operands.m, ends.longest
    rows = 2 + 2 * value_of(sweeps_four_rows(lanes, kept, config.traced))
    nothing = splat(lanes, kept.dtype.type(-np.inf))
    # Every path starts from the corner before (0, 0).
    above = splat(lanes, kept.dtype.type(0)) if start == 0 else nothing
    end = load(lanes, ends.last_rows, 0)
    for i in range(start, stop_row, rows):
        stripe = stripe_at(config, operands, hull, i, longest)
        last = lesser(i + rows, longest) - 1
        column = _sweep_rows(
            banded, config, cost, x, w, stripe, limits, kept, steps, m, last, above
        )
        above = nothing
        if i + rows >= ends.shortest:
            result = ended(end, i, rows, column, result)
    return result


@inner
def forward(config, cost, operands, ends, limits, work):
    """Scores of the best paths, one a lane.

    Parameters
    ----------
    config : Config
    cost : local score
    operands : Operands
    ends : Ends
    limits : grid.Limits
        Of the band; not looked at without one.
    work : Work
    """
    result = begin(config.lanes, operands.m, work.kept)
    return advance(config, cost, operands, ends, limits, work, 0, ends.longest, result)
