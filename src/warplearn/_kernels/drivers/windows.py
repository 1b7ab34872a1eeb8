"""Small matrices that slide along a series: lanes are consecutive positions.

At each position of a series a window of k elements, `dilation` apart, is scored against a k x m
matrix by the recursion of `forward`.  All windows of a series have the same shape, so neighbouring
ones go side by side: a row of the grid is one contiguous load, and the weights are broadcast.  The
m values of the last row, all that the recursion keeps, stay in registers; m is known to the
compiler.  With m = 1 this is a dilated convolution.

Matrices come in *groups* of eight that share everything but their weights, and half a group is
computed at once: an element is loaded once for four grids, which also make four independent
chains of operations.  The outputs of a group, a row for each matrix, stay in the cache until they
are pooled.

A series is read from a margin of zeros on both sides.  Lanes behind the last position start from
minus infinity instead of zero, so that no pooling needs to know where the positions end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from warplearn._kernels.simd.arrays import empty, fill, flat
from warplearn._kernels.simd.compiling import entry, inlined, inner, parallel_entry
from warplearn._kernels.simd.constants import Static, constants, value_of
from warplearn._kernels.simd.numbers import greater
from warplearn._kernels.simd.target import register_lanes
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import (
    FUSE,
    address_of,
    fields_of,
    larger_of,
    load,
    maximum,
    splat,
    spread,
    store,
    total,
    where,
)

GROUP = 8
_HALF = Static(GROUP // 2)

# Columns of the table of groups.
ROWS, DILATION, PADDING, REPRESENTATION, CHANNELS_FROM, CHANNELS_TO, WEIGHTS_FROM = range(7)

SHARE, MAXIMUM, WINS, LOSSES = (1 << i for i in range(4))


@constants
class Plan(NamedTuple):
    """What a kernel is compiled for.

    Lanes, columns of the matrices, whether matrices have several channels, and the poolings.
    """

    lanes: Static
    columns: Static
    several: Static
    poolings: Static


class Group(NamedTuple):
    """A row of the table of groups."""

    rows: int
    dilation: int
    padding: int
    representation: int
    channels_from: int
    channels_to: int
    weights_from: int


class Series(NamedTuple):
    """Series (cases, representations, channels, time), and lengths (cases, representations)."""

    values: Any
    lengths: Any


class Filters(NamedTuple):
    """The table of groups, the channels and weights of all of them, and a bias for each matrix."""

    groups: Any
    picked: Any
    weights: Any
    biases: Any


class Geometry(NamedTuple):
    """How work space is laid out.

    `margin` zeros stand before a series, series are `stride` apart, and there are at most
    `positions` windows.
    """

    margin: int
    stride: int
    positions: int


class Table(NamedTuple):
    """Features (cases, width), flat; those of the first matrix start in column `first`."""

    features: Any
    width: int
    first: int
    per_filter: int


class _Room(NamedTuple):
    """Work space of a task.

    One series with its margins; 0 for lanes that count, followed by minus infinity; the outputs of
    a group, of which those of a matrix are `positions` apart; where channels begin in `series`.
    """

    series: Any
    starts: Any
    outputs: Any
    channels: Any


class _Window(NamedTuple):
    """Elements x[at], x[at + step], ... of some rows, in channels that begin at `channels[c]`."""

    x: Any
    at: int
    step: int
    rows: int
    channels: Any
    n_channels: int


class _Target(NamedTuple):
    """Where outputs go: those of matrix g to outputs[at + g * stride]."""

    outputs: Any
    at: int
    stride: int


class _SlideCode:
    """Emits the code of `_slide`; `kept` and `local` hold a vector for each (matrix, column)."""

    def __init__(self, context, builder, columns, several, start):
        self.context, self.builder, self.several, self.start = context, builder, several, start
        self.grids = [(g, j) for j in range(columns) for g in range(_HALF.value)]
        self.kept = {grid: cgutils.alloca_once(builder, start.type) for grid in self.grids}
        self.local = {grid: cgutils.alloca_once(builder, start.type) for grid in self.grids}

    def read_from(self, kind, window, weights_kind, weights, first):
        """Set where windows and weights are read."""
        self.kinds, self.window = fields_of(self.builder, kind, window)
        self.weights_kind, self.weights = weights_kind, weights
        self.weight = cgutils.alloca_once_value(self.builder, first)
        self.element = cgutils.alloca_once_value(self.builder, self.window.at)

    def address(self, kind, array, index, pointee):
        return address_of(self.context, self.builder, kind, array, index, pointee)

    def products(self, channel):
        """x_i w_ij for each grid, of one channel; moves on to the next weights."""
        builder, vector, word = self.builder, self.start.type, channel.type
        place = self.address(self.kinds.channels, self.window.channels, channel, word)
        index = builder.add(builder.load(place), builder.load(self.element))
        xi = builder.load(self.address(self.kinds.x, self.window.x, index, vector), align=4)
        result = {}
        position = builder.load(self.weight)
        for order, grid in enumerate(self.grids):
            place = builder.add(position, word(order))
            address = self.address(self.weights_kind, self.weights, place, vector.element)
            wij = spread(builder, builder.load(address), vector.count)
            result[grid] = builder.fmul(xi, wij, flags=FUSE)
        builder.store(builder.add(position, word(len(self.grids))), self.weight)
        return result

    def scores(self):
        """The local scores of a row: sums over the channels."""
        builder, word = self.builder, self.window.n_channels.type
        if not self.several:
            return self.products(word(0))
        for grid, product in self.products(word(0)).items():
            builder.store(product, self.local[grid])
        with cgutils.for_range(builder, builder.sub(self.window.n_channels, word(1))) as loop:
            for grid, product in self.products(builder.add(loop.index, word(1))).items():
                summed = builder.fadd(builder.load(self.local[grid]), product, flags=FUSE)
                builder.store(summed, self.local[grid])
        return {grid: builder.load(place) for grid, place in self.local.items()}

    def row(self, best):
        """A row of every grid; `best(j, up, diagonal, left)` is what leads to a cell."""
        builder, scores = self.builder, self.scores()
        left, diagonal = [None] * _HALF.value, [None] * _HALF.value
        for g, j in self.grids:
            up = builder.load(self.kept[g, j])
            value = builder.fadd(best(j, up, diagonal[g], left[g]), scores[g, j], flags=FUSE)
            builder.store(value, self.kept[g, j])
            left[g], diagonal[g] = value, up

    def first_row(self):
        """In the first row a path can only come from the left."""
        self.row(lambda j, up, diagonal, left: left if j else self.start)

    def next_row(self):
        """Any other row: the recursion of `forward`."""
        builder = self.builder
        builder.store(builder.add(builder.load(self.element), self.window.step), self.element)

        def best(j, up, diagonal, left):
            above = larger_of(builder, up, diagonal) if j else up
            return larger_of(builder, above, left) if j else above

        self.row(best)


@intrinsic
def _slide(typingctx, columns, several, start, window, weights, first, target):
    """Score windows at consecutive positions against half a group of matrices.

    `start` is 0 for lanes that count and minus infinity for others.  Weights are read one after
    the other, from `first` on, in the order (row, channel, column, matrix).
    """

    def codegen(context, builder, sig, args):
        _, _, start_value, window_value, weights_value, first_value, target_value = args
        code = _SlideCode(context, builder, columns.value, several.value, start_value)
        code.read_from(window, window_value, weights, weights_value, first_value)
        code.first_row()
        more = builder.sub(code.window.rows, code.window.rows.type(1))
        with cgutils.for_range(builder, more):
            code.next_row()
        kinds, into = fields_of(builder, target, target_value)
        for g in range(_HALF.value):
            place = builder.add(into.at, builder.mul(into.stride, into.stride.type(g)))
            address = code.address(kinds.outputs, into.outputs, place, start_value.type)
            builder.store(builder.load(code.kept[g, columns.value - 1]), address, align=4)
        return context.get_dummy_value()

    signature = types.void(columns, several, start, window, weights, types.intp, target)
    return signature, codegen


@inlined
def _group_of(groups, i):
    """Row i of the table of groups."""
    return Group(
        groups[i, ROWS],
        groups[i, DILATION],
        groups[i, PADDING],
        groups[i, REPRESENTATION],
        groups[i, CHANNELS_FROM],
        groups[i, CHANNELS_TO],
        groups[i, WEIGHTS_FROM],
    )


@inner
def _positions(group, length):
    """How many windows a series has; one that is shorter than a window has one."""
    span = (group.rows - 1) * group.dilation
    return greater(1, length + 2 * group.padding - span)


@inner
def _spread_out(series, case, geometry, room):
    """Copy the channels of all representations of a series to where windows are read."""
    values, lengths, target = series.values, series.lengths, room.series
    fill(target, 0)
    for r in range(values.shape[1]):
        for c in range(values.shape[2]):
            begin = (r * values.shape[2] + c) * geometry.stride + geometry.margin
            for t in range(lengths[case, r]):
                target[begin + t] = values[case, r, c, t]


@inner
def _outputs(plan, group, filters, n_channels, geometry, room, positions):
    """The scores of all windows for each matrix of a group."""
    lanes, columns, count = plan.lanes, plan.columns, value_of(plan.lanes)
    series, starts, outputs, channels = room.series, room.starts, room.outputs, room.channels
    weights, picked = filters.weights, filters.picked
    several = group.channels_to - group.channels_from
    for c in range(several):
        channel = picked[group.channels_from + c]
        channels[c] = (group.representation * n_channels + channel) * geometry.stride
    half_weights = group.rows * several * value_of(columns) * value_of(_HALF)
    begin = geometry.margin - group.padding
    for p in range(0, positions, count):
        start = load(lanes, starts, greater(0, count - (positions - p)))
        window = _Window(series, begin + p, group.dilation, group.rows, channels, several)
        for h in range(2):
            at = h * value_of(_HALF) * geometry.positions + p
            target = _Target(outputs, at, geometry.positions)
            first = group.weights_from + h * half_weights
            _slide(columns, plan.several, start, window, weights, first, target)


class _Extremes(NamedTuple):
    """The largest and the smallest output of a group at each position, and a vector of scratch."""

    best: Any
    worst: Any
    scratch: Any


@inner
def _find_extremes(lanes, outputs, stride, positions, extremes):
    """Fill in the extremes; behind the last position they are NaN."""
    count, best, worst = value_of(lanes), extremes.best, extremes.worst
    for p in range(0, positions, count):
        largest = smallest = load(lanes, outputs, p)
        for g in range(1, GROUP):
            value = load(lanes, outputs, g * stride + p)
            largest = maximum(largest, value)
            smallest = -maximum(-smallest, -value)
        store(best, p, largest)
        store(worst, p, smallest)
    for p in range(positions, (positions + count - 1) // count * count):
        best[p] = worst[p] = np.nan


@inlined
def _largest_of(lanes, vector, scratch):
    """The largest number of a vector."""
    store(scratch, 0, vector)
    greatest = scratch[0]
    for lane in range(1, value_of(lanes)):
        greatest = greater(greatest, scratch[lane])
    return greatest


@inlined
def _pool(plan, outputs, at, positions, bias, extremes, features, place):
    """Pool the outputs of one matrix, from outputs[at] on; features go to features[place], ..."""
    lanes, count, wanted = plan.lanes, value_of(plan.lanes), value_of(plan.poolings)
    best, worst = extremes.best, extremes.worst
    zero = splat(lanes, outputs.dtype.type(0))
    one = splat(lanes, outputs.dtype.type(1))
    above, wins, losses = zero, zero, zero
    largest = splat(lanes, outputs.dtype.type(-np.inf))
    for p in range(0, positions, count):
        value = load(lanes, outputs, at + p)
        if wanted & SHARE:
            above = above + where(value > bias, one, zero)
        if wanted & MAXIMUM:
            largest = maximum(largest, value)
        if wanted & WINS:
            wins = wins + where(value >= load(lanes, best, p), one, zero)
        if wanted & LOSSES:
            losses = losses + where(value <= load(lanes, worst, p), one, zero)
    size = outputs.dtype.type(positions)
    if wanted & SHARE:
        features[place] = total(above) / size
        place += 1
    if wanted & MAXIMUM:
        features[place] = _largest_of(lanes, largest, extremes.scratch)
        place += 1
    if wanted & WINS:
        features[place] = total(wins) / size
        place += 1
    if wanted & LOSSES:
        features[place] = total(losses) / size


@inner
def _room(lanes, geometry, values):
    count = value_of(lanes)
    starts = empty(2 * count, values)
    for lane in range(count):
        starts[lane], starts[count + lane] = 0, -np.inf
    return _Room(
        empty(values.shape[1] * values.shape[2] * geometry.stride, values),
        starts,
        empty(GROUP * geometry.positions, values),
        empty(values.shape[2], np.int64),
    )


@inner
def _features_task(plan, geometry, series, filters, table, task, tasks):
    lanes, values, lengths, stride = plan.lanes, series.values, series.lengths, geometry.positions
    groups, biases, features = filters.groups, filters.biases, table.features
    room = _room(lanes, geometry, values)
    extremes = _Extremes(
        empty(stride, values),
        empty(stride, values),
        empty(value_of(lanes), values),
    )
    for case in range(task, len(values), tasks):
        _spread_out(series, case, geometry, room)
        for i in range(len(groups)):
            group = _group_of(groups, i)
            positions = _positions(group, lengths[case, group.representation])
            _outputs(plan, group, filters, values.shape[2], geometry, room, positions)
            if value_of(plan.poolings) & (WINS | LOSSES):
                _find_extremes(lanes, room.outputs, stride, positions, extremes)
            for g in range(GROUP):
                index = i * GROUP + g
                place = case * table.width + table.first + index * table.per_filter
                _pool(
                    plan, room.outputs, g * stride, positions, biases[index], extremes,
                    features, place,
                )  # fmt: skip


@entry
def _features_serial(plan, geometry, series, filters, table, tasks):
    for task in range(tasks):
        _features_task(plan, geometry, series, filters, table, task, tasks)


@parallel_entry
def _features_parallel(plan, geometry, series, filters, table, tasks):
    for task in prange(tasks):
        _features_task(plan, geometry, series, filters, table, np.int64(task), tasks)


@entry
def _outputs_on(plan, geometry, series, filters, cases, result, positions):
    """The outputs of group i on the series `cases[i]`."""
    lengths, groups, stride = series.lengths, filters.groups, geometry.positions
    n_channels = series.values.shape[2]
    room = _room(plan.lanes, geometry, series.values)
    outputs = room.outputs
    for i in range(len(groups)):
        group = _group_of(groups, i)
        _spread_out(series, cases[i], geometry, room)
        positions[i] = _positions(group, lengths[cases[i], group.representation])
        _outputs(plan, group, filters, n_channels, geometry, room, positions[i])
        for g in range(GROUP):
            for p in range(positions[i]):
                result[i, g, p] = outputs[g * stride + p]


@entry
def centre_columns(groups, elasticities, weights):
    """Take the mean from each column of each matrix, channel by channel; k = 1 stays as it is."""
    for i in range(len(groups)):
        rows = groups[i, ROWS]
        several = groups[i, CHANNELS_TO] - groups[i, CHANNELS_FROM]
        step = several * elasticities[i] * (GROUP // 2)
        for half in range(2 if rows > 1 else 0):
            begin = groups[i, WEIGHTS_FROM] + half * rows * step
            for column in range(begin, begin + step):
                mean = weights.dtype.type(0)
                for row in range(rows):
                    mean += weights[column + row * step]
                mean /= rows
                for row in range(rows):
                    weights[column + row * step] -= mean


def _plan(m: int, poolings: int, groups: NDArray[np.int64]) -> Plan:
    """A vector fills one register: short series have few positions."""
    lanes = register_lanes(np.float32)
    several = (groups[:, CHANNELS_TO] - groups[:, CHANNELS_FROM]).max() > 1
    return Plan(lanes, Static(m), Static(several), Static(poolings))


def _geometry(time: int, groups: NDArray[np.int64], lanes: int) -> Geometry:
    """Room for the longest series and the widest windows of some groups."""
    spans = (groups[:, ROWS] - 1) * groups[:, DILATION]
    margin = int(groups[:, PADDING].max())
    stride = margin + time + int(spans.max()) + 2 * lanes
    positions = time + 2 * margin + 1
    return Geometry(margin, stride, -(-positions // lanes) * lanes + lanes)


def pooled_outputs(
    m: int,
    poolings: int,
    values: NDArray[np.float32],
    lengths: NDArray[np.int64],
    groups: NDArray[np.int64],
    picked: NDArray[np.int64],
    weights: NDArray[np.float32],
    biases: NDArray[np.float32],
    features: NDArray[np.float32],
    first: int = 0,
    n_jobs: int | None = None,
) -> None:
    """Pool the outputs of all matrices, and write them to columns `first`, ... of `features`.

    Parameters
    ----------
    m : int
        Columns of the matrices.
    poolings : int
        The sum of some of SHARE, MAXIMUM, WINS and LOSSES.
    values : array (cases, representations, channels, time)
    lengths : array (cases, representations)
    groups : array (groups, 7)
        Rows, dilation, padding on either side, representation, which of `picked` are the channels
        (from, to), and where the weights begin.
    picked : array
        Channels of all groups.
    weights : array
        Of each group (half, row, channel, column, matrix of the half).
    biases : array (8 groups,)
    features : array (cases, features)
        The features of a matrix are neighbours.
    """
    plan = _plan(m, poolings, groups)
    geometry = _geometry(values.shape[3], groups, plan.lanes.value)
    filters = Filters(np.ascontiguousarray(groups), flat(picked), flat(weights), flat(biases))
    table = Table(features.reshape(-1), features.shape[1], first, int(poolings).bit_count())
    threads = min(thread_count(n_jobs), len(values))
    tasks = 1 if threads == 1 else min(4 * threads, len(values))
    arguments = (plan, geometry, Series(values, lengths), filters, table, tasks)
    in_threads(_features_serial, _features_parallel, arguments, threads)


def window_outputs(
    m: int,
    values: NDArray[np.float32],
    lengths: NDArray[np.int64],
    groups: NDArray[np.int64],
    picked: NDArray[np.int64],
    weights: NDArray[np.float32],
    cases: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The outputs (groups, 8, positions) of each group on one series, and how many there are.

    Parameters are those of `pooled_outputs`, and `cases`, the series of each group.
    """
    plan = _plan(m, 0, groups)
    geometry = _geometry(values.shape[3], groups, plan.lanes.value)
    biases = np.zeros(0, np.float32)
    filters = Filters(np.ascontiguousarray(groups), flat(picked), flat(weights), biases)
    outputs = np.full((len(groups), GROUP, geometry.positions), np.nan, np.float32)
    positions = np.empty(len(groups), np.int64)
    _outputs_on(plan, geometry, Series(values, lengths), filters, cases, outputs, positions)
    return outputs[:, :, : positions.max()], positions
