"""The matrices of a task in lanes: score an example, update them along its paths, score many.

A task is *lone* if it has a single matrix: then its lanes hold the rows of that matrix (see
`lone`), else each lane holds a matrix.  The functions here have an implementation for either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.drivers.blocks import pack, unpack
from warplearn._kernels.recursion.backward import Gradients, Trace, Wanted, backward
from warplearn._kernels.recursion.forward import Config, Ends, Operands, Work, forward
from warplearn._kernels.recursion.grid import Band, lane_limits, room_for_limits
from warplearn._kernels.recursion.lone import (
    Lone,
    all_rows,
    lone_backward,
    lone_forward,
    reverse,
    reversed_size,
    room_for_grid,
    steps_of_stripe,
    unskew,
)
from warplearn._kernels.recursion.steps import step_bytes
from warplearn._kernels.simd.arrays import empty, fill, largest
from warplearn._kernels.simd.compiling import inner
from warplearn._kernels.simd.constants import (
    NO,
    YES,
    ZERO,
    Static,
    constants,
    switch,
    value_of,
    when,
)
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.vector import BANK, BATCH, splat, store

_GROUP = 16  # matrices that are taken out of their lanes at a time


@constants
class Plan(NamedTuple):
    """What training is compiled for.

    Attributes
    ----------
    lanes : Static
        Lanes of a bank of matrices.
    in_bank, wide : Static
        Whether the series by which models are judged meet the whole bank, one after the other.
        Else they are lanes, as many as `wide`, and meet the matrices one after the other.
    channels : Static or int
    banded, lone : Static
    penalised, scaled : Static
        Whether some model has a penalty; whether it is applied by a scale beside the matrices.
    projected, averaged : Static
        Whether parameters are projected onto a ball; whether means over epochs are taken.
    """

    lanes: Static
    in_bank: Static
    wide: Static
    channels: Static | int
    banded: Static
    lone: Static
    penalised: Static
    scaled: Static
    projected: Static
    averaged: Static


class Series(NamedTuple):
    """All series: a flat array, how far they are apart, and their lengths."""

    values: Any
    stride: int
    lengths: Any


class Grids(NamedTuple):
    """Columns of the grids and the band, flat."""

    m: int
    band_cells: int
    band_share: float


class Room(NamedTuple):
    """Work space of a bank: for the recursion, and for its steps, a row for each block.

    The last three are for a lone matrix.
    """

    kept: Any
    last_rows: Any
    rows: Any
    values: Any
    limits: Any
    steps: Any
    marks: Any
    cells: Any
    series: Any
    stripes: Any
    grid: Any


@inner
def room_for_bank(plan, lengths, grids, matrices):
    """Uninitialized work space."""
    count, m, n = value_of(plan.lanes), grids.m, largest(lengths)
    values = empty(count, matrices)
    like = splat(plan.lanes, matrices.dtype.type(0))
    return Room(
        empty((m + 1) * count, matrices),
        empty(count, matrices),
        empty(count, np.int64),
        values,
        room_for_limits(plan.lanes, plan.banded, n, matrices),
        empty((len(matrices), (n + count) * (m + count) * step_bytes(like)), np.uint8),
        empty(m, np.int64),
        empty((0, 3), np.int64),
        empty(reversed_size(count, n), matrices),
        all_rows(count, n, m, steps_of_stripe(count, matrices[0], m)),
        room_for_grid(plan.lanes, n, matrices),
    )


def score_example(lone, plan, cost, series, case, grids, matrices, room, f):
    """Score one series against the matrices of a task, without the biases."""
    raise NotImplementedError


@inner
def _set_limits(lanes, grids, k, room):
    """The band of k rows, the same in all lanes."""
    fill(room.rows, k)
    band = Band(grids.band_cells, grids.band_share)
    lane_limits(lanes, band, room.rows, k, grids.m, room.limits)


@inner
def _score_matrices(traced, plan, cost, series, case, grids, matrices, room, f):
    """Score one series against the matrices of a bank."""
    lanes, count, m, values = plan.lanes, value_of(plan.lanes), grids.m, room.values
    k, start, stride = series.lengths[case], case * series.stride, m * value_of(plan.channels)
    config = Config(lanes, BANK, plan.channels, traced, plan.banded)
    store(room.last_rows, 0, splat(lanes, values.dtype.type(k - 1)))
    ends = Ends(room.last_rows, k, k)
    when(plan.banded, _set_limits, lanes, grids, k, room)
    for block in range(len(matrices)):
        operands = Operands(series.values, start, matrices[block], ZERO, stride, m)
        work = Work(room.kept, room.steps[block])
        store(values, 0, forward(config, cost, operands, ends, room.limits, work))
        for lane in range(lesser(count, len(f) - block * count)):
            f[block * count + lane] = values[lane]


def _score_bank(lone, plan, cost, series, case, grids, matrices, room, f):
    _score_matrices(YES, plan, cost, series, case, grids, matrices, room, f)


def _score_lone(lone, plan, cost, series, case, grids, matrices, room, f):
    k, x, stripes, steps = series.lengths[case], room.series, room.stripes, room.steps[0]
    reverse(value_of(plan.lanes), series.values, case * series.stride, 1, k, 1, x)
    fill(stripes.last, k - 1)
    config = Lone(plan.lanes, plan.channels, YES, YES, NO)
    f[0] = lone_forward(config, cost, x, k, matrices[0], grids.m, stripes, room.grid, steps)


def add_gradient(lone, plan, cost, series, case, m, matrix, block, factors, room):
    """Add `factors` times the generalized gradient of the scores to a block of matrices."""
    raise NotImplementedError


def _add_to_bank(lone, plan, cost, series, case, m, matrix, block, factors, room):
    x, k, stride = series.values, series.lengths[case], m * value_of(plan.channels)
    backward(
        Config(plan.lanes, BANK, plan.channels, YES, plan.banded),
        Wanted(NO, YES, NO, NO),
        cost,
        Operands(x, case * series.stride, matrix, ZERO, stride, m),
        Ends(room.last_rows, k, k),
        room.limits,
        Trace(room.steps[block], room.marks, room.cells),
        factors,
        Gradients(x, ZERO, matrix, ZERO, room.values),
    )


def _add_to_lone(lone, plan, cost, series, case, m, matrix, block, factors, room):
    k, begins, steps = series.lengths[case], room.stripes.begins, room.steps[0]
    if factors[0] != 0.0:
        lone_backward(plan.lanes, room.series, k, m, begins, steps, factors[0], matrix)


def _take_out(lone, lanes, matrices, first, many, n, m, d, plain):
    """Copy the matrices of some outputs, from `first` on, out of their lanes."""
    raise NotImplementedError


def _take_out_of_bank(lone, lanes, matrices, first, many, n, m, d, plain):
    block = first // value_of(lanes)
    unpack(lanes, matrices[block], first % value_of(lanes), many, n * m * d, plain)


def _take_out_lone(lone, lanes, matrices, first, many, n, m, d, plain):
    unskew(value_of(lanes), matrices[0], n, m, plain)


switch(score_example, _score_bank, _score_lone)
switch(add_gradient, _add_to_bank, _add_to_lone)
switch(_take_out, _take_out_of_bank, _take_out_lone)


class _Block(NamedTuple):
    """Series in lanes: their elements, where they start, and how many rows they have."""

    values: Any
    starts: Any
    rows: Any
    last_rows: Any


@inner
def _fill_block(plan, series, cases, first, block):
    """Lay series into lanes, the last one again in lanes that are left over."""
    lengths, starts, rows, last_rows = series.lengths, block.starts, block.rows, block.last_rows
    shortest, longest = lengths[cases[first]], ZERO
    for lane in range(len(starts)):
        case = cases[lesser(first + lane, len(cases) - 1)]
        starts[lane], rows[lane] = case * series.stride, lengths[case]
        last_rows[lane] = rows[lane] - 1
        shortest, longest = lesser(shortest, rows[lane]), greater(longest, rows[lane])
    pack(plan.wide, series.values, starts, 0, longest * value_of(plan.channels), block.values)
    return Ends(last_rows, shortest, longest)


def score_cases(in_bank, plan, cost, series, cases, grids, used, matrices, room, table):
    """Score some series, a row of `table` each."""
    raise NotImplementedError


def _score_in_bank(in_bank, plan, cost, series, cases, grids, used, matrices, room, table):
    """Here lanes are matrices."""
    for row in range(len(cases)):
        _score_matrices(NO, plan, cost, series, cases[row], grids, matrices, room, table[row])


def _score_in_batches(in_bank, plan, cost, series, cases, grids, used, matrices, room, table):
    """Here lanes are series, some matrices at a time."""
    wide, count, d, m = plan.wide, value_of(plan.wide), value_of(plan.channels), grids.m
    x, n = series.values, largest(series.lengths)
    group = 1 if value_of(plan.lone) else lesser(_GROUP, value_of(plan.lanes))
    config = Config(wide, BATCH, plan.channels, NO, plan.banded)
    band = Band(grids.band_cells, grids.band_share)
    plain = empty(group * n * m * d, x)
    values = empty(count, x)
    block = _Block(
        empty(n * d * count, x),
        empty(count, np.int64),
        empty(count, np.int64),
        empty(count, x),
    )
    limits = room_for_limits(wide, plan.banded, n, x)
    work = Work(empty(m * count, x), empty(0, np.uint8))
    for first_unit in range(0, used, group):
        _take_out(plan.lone, plan.lanes, matrices, first_unit, group, n, m, d, plain)
        for first in range(0, len(cases), count):
            ends = _fill_block(plan, series, cases, first, block)
            when(plan.banded, lane_limits, wide, band, block.rows, ends.longest, m, limits)
            for unit in range(first_unit, lesser(first_unit + group, used)):
                start = (unit - first_unit) * n * m * d
                operands = Operands(block.values, ZERO, plain, start, m * d, m)
                store(values, 0, forward(config, cost, operands, ends, limits, work))
                for lane in range(lesser(count, len(cases) - first)):
                    table[first + lane, unit] = values[lane]


switch(score_cases, _score_in_batches, _score_in_bank)
