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

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import flat
from warplearn._kernels.simd.records import Static, number
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import (
    _FUSE,
    _address,
    _spread,
    aligned_empty,
    fill,
    lanes_for,
    load,
    maximum,
    splat,
    store,
    total,
    where,
)

GROUP = 8
_HALF = Static(GROUP // 2)

# Columns of the table of groups.
ROWS, DILATION, PADDING, REPRESENTATION, CHANNELS_FROM, CHANNELS_TO, WEIGHTS_FROM = range(7)

SHARE, MAXIMUM, WINS, LOSSES = (1 << i for i in range(4))


@intrinsic
def _slide(
    typingctx, half, columns, several, start, x, at, step, rows,
    channels, first, stop, weights, w, outputs, out, stride,
):  # fmt: skip
    """Score the windows that begin at x[at], x[at + 1], ... against half a group of matrices.

    `start` is 0 for lanes that count and minus infinity for others.  Weights are read one after
    the other, in the order (row, channel, column, matrix); `channels[first:stop]` says where the
    channels begin in x.  The scores of matrix g go to outputs[out + g * stride].
    """
    m, count = columns.value, half.value
    integer = types.intp

    def codegen(context, builder, sig, args):
        (
            _, _, _, start_value, x_value, at_value, step_value, rows_value,
            channels_value, first_value, stop_value, weights_value, w_value,
            outputs_value, out_value, stride_value,
        ) = args  # fmt: skip
        vector, word = start_value.type, w_value.type
        one = word(1)
        grids = [(g, j) for j in range(m) for g in range(count)]
        kept = {grid: cgutils.alloca_once(builder, vector) for grid in grids}
        local = {grid: cgutils.alloca_once(builder, vector) for grid in grids}
        weight = cgutils.alloca_once_value(builder, w_value)
        element = cgutils.alloca_once_value(builder, at_value)

        def products(channel):
            """x_i w_ij for each grid, of one channel; moves on to the next weights."""
            where_ = _address(context, builder, channels, channels_value, channel, word)
            index = builder.add(builder.load(where_), builder.load(element))
            address = _address(context, builder, x, x_value, index, vector)
            xi = builder.load(address, align=4)
            found = {}
            position = builder.load(weight)
            for number_, grid in enumerate(grids):
                place = builder.add(position, word(number_))
                address = _address(context, builder, weights, weights_value, place, vector.element)
                wij = _spread(builder, builder.load(address), vector.count)
                found[grid] = builder.fmul(xi, wij, flags=_FUSE)
            builder.store(builder.add(position, word(len(grids))), weight)
            return found

        def scores():
            """The local scores of a row: sums over the channels."""
            if not several.value:
                return products(first_value)
            for grid, product in products(first_value).items():
                builder.store(product, local[grid])
            more = builder.sub(stop_value, builder.add(first_value, one))
            with cgutils.for_range(builder, more) as loop:
                channel = builder.add(builder.add(first_value, one), loop.index)
                for grid, product in products(channel).items():
                    summed = builder.fadd(builder.load(local[grid]), product, flags=_FUSE)
                    builder.store(summed, local[grid])
            return {grid: builder.load(place) for grid, place in local.items()}

        def larger(a, b):
            return builder.select(builder.fcmp_ordered(">", a, b), a, b)

        def row(best):
            """A row of every grid; `best` gives what leads to a cell."""
            found = scores()
            left = [None] * count
            diagonal = [None] * count
            for g, j in grids:
                up = builder.load(kept[g, j])
                value = builder.fadd(best(j, up, diagonal[g], left[g]), found[g, j], flags=_FUSE)
                builder.store(value, kept[g, j])
                left[g], diagonal[g] = value, up

        # In the first row a path can only come from the left.
        row(lambda j, up, diagonal, left: left if j else start_value)
        with cgutils.for_range(builder, builder.sub(rows_value, one)):
            builder.store(builder.add(builder.load(element), step_value), element)
            row(lambda j, up, diagonal, left: larger(larger(up, diagonal), left) if j else up)
        for g in range(count):
            place = builder.add(out_value, builder.mul(stride_value, word(g)))
            address = _address(context, builder, outputs, outputs_value, place, vector)
            builder.store(builder.load(kept[g, m - 1]), address, align=4)
        return context.get_dummy_value()

    signature = types.void(
        half, columns, several, start, x, integer, integer, integer,
        channels, integer, integer, weights, integer, outputs, integer, integer,
    )  # fmt: skip
    return signature, codegen


@njit(nogil=True)
def _positions(group, length):
    """How many windows a series has; one that is shorter than a window has one."""
    span = (group[ROWS] - 1) * group[DILATION]
    return max(1, length + 2 * group[PADDING] - span)


@njit(nogil=True)
def _spread_out(values, case, lengths, margin, stride, room):
    """Copy the channels of all representations of a series to where windows are read."""
    fill(room, 0)
    for r in range(values.shape[1]):
        for c in range(values.shape[2]):
            begin = (r * values.shape[2] + c) * stride + margin
            for t in range(lengths[case, r]):
                room[begin + t] = values[case, r, c, t]


@njit(nogil=True)
def _outputs(
    lanes, columns, several, group, n_channels, picked, weights,
    room, margin, stride, starts, channels, positions, outputs, out_stride,
):  # fmt: skip
    """The scores of all windows for each matrix of a group."""
    count = number(lanes)
    first, stop = group[CHANNELS_FROM], group[CHANNELS_TO]
    for c in range(first, stop):
        channels[c - first] = (group[REPRESENTATION] * n_channels + picked[c]) * stride
    half_weights = group[ROWS] * (stop - first) * number(columns) * number(_HALF)
    begin = margin - group[PADDING]
    for p in range(0, positions, count):
        start = load(lanes, starts, max(0, count - (positions - p)))
        for h in range(2):
            _slide(
                _HALF, columns, several, start, room, begin + p, group[DILATION], group[ROWS],
                channels, 0, stop - first,
                weights, group[WEIGHTS_FROM] + h * half_weights,
                outputs, h * number(_HALF) * out_stride + p, out_stride,
            )  # fmt: skip


@njit(nogil=True)
def _extremes(lanes, outputs, out_stride, positions, best, worst):
    """The largest and the smallest output of a group at each position, behind the last NaN."""
    count = number(lanes)
    for p in range(0, positions, count):
        largest = smallest = load(lanes, outputs, p)
        for g in range(1, GROUP):
            value = load(lanes, outputs, g * out_stride + p)
            largest = maximum(largest, value)
            smallest = -maximum(-smallest, -value)
        store(best, p, largest)
        store(worst, p, smallest)
    for p in range(positions, (positions + count - 1) // count * count):
        best[p] = worst[p] = np.nan


@njit(nogil=True, forceinline=True)
def _pool(lanes, poolings, outputs, at, positions, bias, best, worst, scratch, features, place):
    """Pool the outputs of one matrix; the features go to features[place], ..."""
    count, wanted = number(lanes), number(poolings)
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
        store(scratch, 0, largest)
        greatest = scratch[0]
        for lane in range(1, count):
            greatest = max(greatest, scratch[lane])
        features[place] = greatest
        place += 1
    if wanted & WINS:
        features[place] = total(wins) / size
        place += 1
    if wanted & LOSSES:
        features[place] = total(losses) / size


@njit(nogil=True)
def _work_space(lanes, geometry, values):
    """Where one task keeps the series, where lanes start, and the outputs of a group."""
    _, stride, most, _, _, _ = geometry
    count = number(lanes)
    room = aligned_empty(values.shape[1] * values.shape[2] * stride, values)
    starts = aligned_empty(2 * count, values)
    for lane in range(count):
        starts[lane], starts[count + lane] = 0, -np.inf
    outputs = aligned_empty(GROUP * most, values)
    return room, starts, outputs, np.empty(values.shape[2], np.int64)


@njit(nogil=True)
def _features_task(plan, geometry, data, kernels, features, task, tasks):
    lanes, columns, several, poolings = plan
    margin, stride, most, per_kernel, width, first = geometry
    values, lengths = data
    groups, picked, weights, biases = kernels
    room, starts, outputs, channels = _work_space(lanes, geometry, values)
    best, worst = aligned_empty(most, values), aligned_empty(most, values)
    scratch = aligned_empty(number(lanes), values)
    for case in range(task, len(values), tasks):
        _spread_out(values, case, lengths, margin, stride, room)
        for i in range(len(groups)):
            positions = _positions(groups[i], lengths[case, groups[i, REPRESENTATION]])
            _outputs(
                lanes, columns, several, groups[i], values.shape[2], picked, weights,
                room, margin, stride, starts, channels, positions, outputs, most,
            )  # fmt: skip
            if number(poolings) & (WINS | LOSSES):
                _extremes(lanes, outputs, most, positions, best, worst)
            for kernel in range(i * GROUP, (i + 1) * GROUP):
                _pool(
                    lanes, poolings, outputs, (kernel - i * GROUP) * most, positions,
                    biases[kernel], best, worst, scratch,
                    features, case * width + first + kernel * per_kernel,
                )  # fmt: skip


@njit(nogil=True, cache=True)
def _features_serial(plan, geometry, data, kernels, features, tasks):
    for task in range(tasks):
        _features_task(plan, geometry, data, kernels, features, task, tasks)


@njit(nogil=True, cache=True, parallel=True)
def _features_parallel(plan, geometry, data, kernels, features, tasks):
    for task in prange(tasks):
        _features_task(plan, geometry, data, kernels, features, np.int64(task), tasks)


@njit(nogil=True, cache=True)
def _outputs_on(plan, geometry, data, kernels, cases, found, positions):
    """The outputs of group i on the series `cases[i]`."""
    lanes, columns, several, _ = plan
    margin, stride, most, _, _, _ = geometry
    values, lengths = data
    groups, picked, weights, _ = kernels
    room, starts, outputs, channels = _work_space(lanes, geometry, values)
    for i in range(len(groups)):
        _spread_out(values, cases[i], lengths, margin, stride, room)
        positions[i] = _positions(groups[i], lengths[cases[i], groups[i, REPRESENTATION]])
        _outputs(
            lanes, columns, several, groups[i], values.shape[2], picked, weights,
            room, margin, stride, starts, channels, positions[i], outputs, most,
        )  # fmt: skip
        for g in range(GROUP):
            for p in range(positions[i]):
                found[i, g, p] = outputs[g * most + p]


@njit(nogil=True, cache=True)
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


def _lanes() -> Static:
    """A vector fills one register: short series have few positions."""
    return Static(lanes_for(np.float32).value // 4)


def _arguments(
    m: int,
    poolings: int,
    values: NDArray[np.float32],
    lengths: NDArray[np.int64],
    groups: NDArray[np.int64],
    picked: NDArray[np.int64],
    weights: NDArray[np.float32],
    biases: NDArray[np.float32],
    width: int = 0,
    first: int = 0,
) -> tuple[Any, Any, Any, Any]:
    lanes = _lanes()
    spans = (groups[:, ROWS] - 1) * groups[:, DILATION]
    margin = int(groups[:, PADDING].max())
    stride = margin + values.shape[3] + int(spans.max()) + 2 * lanes.value
    most = values.shape[3] + 2 * margin + 1
    most = -(-most // lanes.value) * lanes.value + lanes.value
    several = Static((groups[:, CHANNELS_TO] - groups[:, CHANNELS_FROM]).max() > 1)
    plan = (lanes, Static(m), several, Static(poolings))
    geometry = (margin, stride, most, int(poolings).bit_count(), width, first)
    kernels = (np.ascontiguousarray(groups), flat(picked), flat(weights), flat(biases))
    return plan, geometry, (values, lengths), kernels


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
    plan, geometry, data, kernels = _arguments(
        m, poolings, values, lengths, groups, picked, weights, biases, features.shape[1], first
    )
    threads = min(thread_count(n_jobs), len(values))
    tasks = 1 if threads == 1 else min(4 * threads, len(values))
    arguments = (plan, geometry, data, kernels, features.reshape(-1), tasks)
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
    biases = np.zeros(0, np.float32)
    plan, geometry, data, kernels = _arguments(
        m, 0, values, lengths, groups, picked, weights, biases
    )
    found = np.full((len(groups), GROUP, geometry[2]), np.nan, np.float32)
    positions = np.empty(len(groups), np.int64)
    _outputs_on(plan, geometry, data, kernels, cases, found, positions)
    return found[:, :, : positions.max()], positions
