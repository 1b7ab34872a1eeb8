"""Small matrices that slide along series, in groups, and pooled outputs.

Matrices come in *groups* of eight that share everything but their weights.  Half a group is
computed at once (`slide`), with consecutive positions in lanes.  With m = 1 a filter is a dilated
convolution, and a shapelet a dilated subsequence.  The outputs of a group, a row for each matrix,
stay in the cache until they are pooled (`pooling`).  Groups whose matrices are the first columns of
those of another group come out of the same recursion.

A series is read from a margin of zeros on both sides.  Lanes behind the last position start from
minus infinity instead of zero, so that no pooling needs to know where the positions end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from warplearn._kernels.drivers.pooling import Work, pool
from warplearn._kernels.drivers.slide import GROUP, HALF, Plan, Target, Window, normalize, slide
from warplearn._kernels.simd.arrays import empty, fill, flat
from warplearn._kernels.simd.compiling import entry, inlined, inner, parallel_entry
from warplearn._kernels.simd.constants import ONE, ZERO, Static, value_of, when
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.target import register_lanes
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import load

# Columns of the table of groups.
COLUMNS = 8
(
    ROWS, DILATION, PADDING, NORMALIZED, REPRESENTATION, CHANNELS_FROM, CHANNELS_TO, WEIGHTS_FROM,
) = range(COLUMNS)  # fmt: skip

_MOST_COPIES = 2**17  # numbers, half a megabyte: they stay in the cache


class Group(NamedTuple):
    """A row of the table of groups."""

    rows: int
    dilation: int
    padding: int
    normalized: int
    representation: int
    channels_from: int
    channels_to: int
    weights_from: int


class Series(NamedTuple):
    """Series (cases, representations, channels, time), and lengths (cases, representations)."""

    values: Any
    lengths: Any


class Groups(NamedTuple):
    """The table of groups, in which order they are computed, and what all of them have.

    That is channels, weights, a bias for each matrix, and which groups have the first columns of
    their matrices.
    """

    table: Any
    order: Any
    picked: Any
    weights: Any
    biases: Any
    places: Any


class Matrices(NamedTuple):
    """Matrices with the same number of columns, from Python.

    Attributes
    ----------
    shapelets : bool
        Whether they are shapelets, else filters.
    groups : array (groups, COLUMNS)
        Rows, dilation, padding on either side, whether windows are normalized (of shapelets),
        representation, which of `picked` are the channels (from, to), and where the weights begin.
    places : array (groups, columns)
        The place of the group whose matrices are the first j + 1 columns, among all groups whose
        outputs are wanted; -1 if there is none.
    outputs : tuple of int
        The columns j that may have a group, ascending, up to the last.
    picked : array
        Channels of all groups.
    weights : array
        Of each group (half, row, channel, column, matrix of the half).
    biases : array (places, 8)
    poolings : int
        The sum of some of SHARE, MAXIMUM, PLACE, WINS and LOSSES.
    """

    shapelets: bool
    groups: NDArray[np.int64]
    places: NDArray[np.int64]
    outputs: tuple[int, ...]
    picked: NDArray[np.int64]
    weights: NDArray[np.float32]
    biases: NDArray[np.float32]
    poolings: int

    def in_memory_order(self) -> Groups:
        """What kernels take."""
        table = np.ascontiguousarray(self.groups)
        order = np.arange(len(table))
        if self.shapelets:  # those that read the same windows stand together
            channel = self.picked[table[:, CHANNELS_FROM]]
            order = np.lexsort([channel, *table[:, :CHANNELS_FROM].T])
        places = np.ascontiguousarray(self.places)
        return Groups(
            table, order, flat(self.picked), flat(self.weights), flat(self.biases), places
        )


class Geometry(NamedTuple):
    """How work space is laid out.

    `margin` zeros stand before a series, series are `stride` apart, and there are at most
    `positions` windows, of which `copies` elements are kept at most.  Each matrix has `outputs`
    outputs, after different numbers of columns.
    """

    margin: int
    stride: int
    positions: int
    copies: int
    outputs: int


class Features(NamedTuple):
    """Features (cases, width), flat, so many for each matrix."""

    values: Any
    width: int
    per_matrix: int


class Sample(NamedTuple):
    """Outputs that are kept as they are: of matrix g of the group in place i on `cases[i, g]`.

    An empty sample means that outputs are pooled.
    """

    cases: Any
    outputs: Any
    positions: Any


class _Room(NamedTuple):
    """Work space of a task.

    One series with its margins; 0 for lanes that count, followed by minus infinity; the outputs of
    a group, of which those of a matrix are `positions` apart; where channels begin in `series`;
    windows that are normalized, and where channels begin in these.
    """

    series: Any
    starts: Any
    outputs: Any
    channels: Any
    windows: Any
    own_channels: Any


@inlined
def _group_of(groups, i):
    """Row i of the table of groups."""
    return Group(
        groups[i, ROWS],
        groups[i, DILATION],
        groups[i, PADDING],
        groups[i, NORMALIZED],
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
def _other_windows(a, b, picked):
    """Whether two groups read other windows of a series."""
    shape, another = (a.rows, a.dilation, a.padding), (b.rows, b.dilation, b.padding)
    kind, other_kind = (a.normalized, a.representation), (b.normalized, b.representation)
    size = a.channels_to - a.channels_from
    if shape != another or kind != other_kind or size != b.channels_to - b.channels_from:
        return True
    for c in range(size):
        if picked[a.channels_from + c] != picked[b.channels_from + c]:
            return True
    return False


@inner
def _copy(plan, series, normalized, first, stop, copies):
    """Copy the windows at positions `first`, ..., normalized if so asked."""
    rows, several = series.rows, series.n_channels
    for p in range(first, stop, value_of(plan.lanes)):
        at, place = series.at + p, (p - first) * rows * several
        source = Window(series.x, at, series.step, rows, series.channels, several)
        target = Window(copies.x, place, copies.step, rows, copies.channels, several)
        normalize(plan, source, normalized, target)


@inner
def _score(plan, window, per_position, first, stop, positions, group, groups, geometry, room):
    """The scores of the windows at positions `first`, ... for each matrix of a group.

    Those of its first columns come before them, where they are wanted.  The window at `first` is
    given; the next ones begin `per_position` numbers further.
    """
    lanes, count = plan.lanes, value_of(plan.lanes)
    half, stride = value_of(HALF), geometry.positions
    rows, several = window.rows, window.n_channels
    half_weights = rows * several * value_of(plan.columns) * half
    for p in range(first, stop, count):
        start = load(lanes, room.starts, greater(0, count - (positions - p)))
        at = window.at + (p - first) * per_position
        here = Window(window.x, at, window.step, rows, window.channels, several)
        for h in range(2):
            target = Target(room.outputs, h * half * stride + p, stride)
            weights_from = group.weights_from + h * half_weights
            slide(plan, start, here, groups.weights, weights_from, target)


@inlined
def _outputs(plan, group, groups, n_channels, geometry, room, positions, fresh):
    """The scores of all windows for each matrix of a group.

    Windows that meet shapelets are copies.  If there is room for those of the whole series, groups
    that read the same ones find them there; only the first of these is `fresh`.
    """
    rows, several = group.rows, group.channels_to - group.channels_from
    for c in range(several):
        channel = groups.picked[group.channels_from + c]
        room.channels[c] = (group.representation * n_channels + channel) * geometry.stride
    begin = geometry.margin - group.padding
    series = Window(room.series, begin, group.dilation, rows, room.channels, several)
    if not value_of(plan.shapelets):
        _score(plan, series, ONE, ZERO, positions, positions, group, groups, geometry, room)
        return
    count, size = value_of(plan.lanes), rows * several
    copies = Window(room.windows, ZERO, count, rows, room.own_channels, several)
    most = len(room.windows) // (size * count) * count
    for first in range(0, positions, most):
        stop = lesser(positions, first + most)
        if fresh or most < positions:
            when(plan.shapelets, _copy, plan, series, group.normalized, first, stop, copies)
        _score(plan, copies, size, first, stop, positions, group, groups, geometry, room)


@inner
def _room(lanes, geometry, values):
    count = value_of(lanes)
    starts = empty(2 * count, values)
    for lane in range(count):
        starts[lane], starts[count + lane] = 0, -np.inf
    return _Room(
        empty(values.shape[1] * values.shape[2] * geometry.stride, values),
        starts,
        empty(geometry.outputs * GROUP * geometry.positions, values),
        empty(values.shape[2], np.int64),
        empty(geometry.copies, values),
        empty(values.shape[2], np.int64),
    )


@inner
def _work(lanes, geometry, values, starts):
    count = value_of(lanes)
    lane_numbers = empty(count, values)
    for lane in range(count):
        lane_numbers[lane] = lane
    best, worst = empty(geometry.positions, values), empty(geometry.positions, values)
    largest, counts = empty(GROUP * count, values), empty(3 * GROUP * count, np.int32)
    return Work(starts, best, worst, lane_numbers, largest, counts)


@inner
def _is_sampled(sample, places, case):
    """Whether outputs of groups in some places on a series are kept."""
    for place in places:
        for g in range(GROUP):
            if place >= 0 and sample.cases[place, g] == case:
                return True
    return False


@inner
def _keep(sample, place, case, outputs, at, stride, positions):
    """Copy what is sampled of the outputs of the group in a place, from outputs[at] on."""
    for g in range(GROUP):
        if sample.cases[place, g] == case:
            sample.positions[place, g] = positions
            for p in range(positions):
                sample.outputs[place, g, p] = outputs[at + g * stride + p]


@inner
def _slide_case(plan, geometry, series, case, groups, features, sample, room, work):
    """Slide all groups along a series."""
    n_channels, stride = series.values.shape[2], geometry.positions
    sampling = len(sample.cases) > 0
    _spread_out(series, case, geometry, room)
    last = -1
    for i in groups.order:
        places = groups.places[i]
        if sampling and not _is_sampled(sample, places, case):
            continue
        group, before = _group_of(groups.table, i), _group_of(groups.table, greater(0, last))
        fresh = last < 0 or _other_windows(group, before, groups.picked)
        last = i
        positions = _positions(group, series.lengths[case, group.representation])
        _outputs(plan, group, groups, n_channels, geometry, room, positions, fresh)
        elements = group.rows * (group.channels_to - group.channels_from)
        at = ZERO
        for column in range(value_of(plan.columns)):
            if not (value_of(plan.outputs) >> column) & 1:
                continue
            place = places[column]
            if place >= 0 and sampling:
                _keep(sample, place, case, room.outputs, at, stride, positions)
            elif place >= 0:
                first = case * features.width + place * GROUP * features.per_matrix
                pool(
                    plan, room.outputs, at, stride, positions, groups.biases, place * GROUP,
                    elements, work, features.values, first, features.per_matrix,
                )  # fmt: skip
            at += GROUP * stride


@inner
def _slide_task(plan, geometry, series, groups, features, sample, task, tasks):
    """Slide all groups along some of the series.

    Arrays are allocated here, and no references are counted in the loop over groups.
    """
    room = _room(plan.lanes, geometry, series.values)
    work = _work(plan.lanes, geometry, series.values, room.starts)
    for case in range(task, len(series.values), tasks):
        _slide_case(plan, geometry, series, case, groups, features, sample, room, work)


@entry
def _slide_serial(plan, geometry, series, groups, features, sample, tasks):
    for task in range(tasks):
        _slide_task(plan, geometry, series, groups, features, sample, task, tasks)


@parallel_entry
def _slide_parallel(plan, geometry, series, groups, features, sample, tasks):
    for task in prange(tasks):
        _slide_task(plan, geometry, series, groups, features, sample, np.int64(task), tasks)


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


def _plan(matrices: Matrices) -> Plan:
    """A vector fills one register: short series have few positions."""
    groups = matrices.groups
    several = (groups[:, CHANNELS_TO] - groups[:, CHANNELS_FROM]).max() > 1
    return Plan(
        register_lanes(np.float32),
        Static(matrices.places.shape[1]),
        Static(sum(1 << column for column in matrices.outputs)),
        Static(several),
        Static(matrices.shapelets),
        Static(matrices.poolings),
    )


def _geometry(matrices: Matrices, time: int) -> Geometry:
    """Room for the longest series and the widest windows."""
    groups, lanes = matrices.groups, register_lanes(np.float32).value
    spans = (groups[:, ROWS] - 1) * groups[:, DILATION]
    margin = int(groups[:, PADDING].max())
    stride = margin + time + int(spans.max()) + 2 * lanes
    positions = time + 2 * margin + 1
    positions = -(-positions // lanes) * lanes + lanes
    n_channels = groups[:, CHANNELS_TO] - groups[:, CHANNELS_FROM]
    size = int((groups[:, ROWS] * n_channels).max()) if matrices.shapelets else 0
    copies = max(lanes * size, min(positions * size, _MOST_COPIES))
    return Geometry(margin, stride, positions, copies, len(matrices.outputs))


def _slide(
    matrices: Matrices, series: Series, features: Features, sample: Sample, threads: int
) -> None:
    """Pool the outputs of all matrices, or keep some."""
    plan = _plan(matrices)
    geometry = _geometry(matrices, series.values.shape[3])
    tasks = 1 if threads == 1 else min(4 * threads, len(series.values))
    arguments = (plan, geometry, series, matrices.in_memory_order(), features, sample, tasks)
    in_threads(_slide_serial, _slide_parallel, arguments, threads)


def _new_sample(cases: NDArray[np.int64], positions: int) -> Sample:
    """Room for a sample of at most so many positions."""
    outputs = np.full((*cases.shape, positions), np.nan, np.float32)
    return Sample(np.ascontiguousarray(cases), outputs, np.zeros(cases.shape, np.int64))


def pooled_outputs(
    matrices: Matrices,
    values: NDArray[np.float32],
    lengths: NDArray[np.int64],
    features: NDArray[np.float32],
    n_jobs: int | None = None,
) -> None:
    """Pool the outputs of all matrices, and write them where `places` says.

    Parameters
    ----------
    matrices : Matrices
    values : array (cases, representations, channels, time)
    lengths : array (cases, representations)
    features : array (cases, features)
        The features of a matrix are neighbours, and so are the matrices of a group.
    """
    per_matrix = int(matrices.poolings).bit_count()
    target = Features(features.reshape(-1), features.shape[1], per_matrix)
    nothing = _new_sample(np.empty((0, GROUP), np.int64), 0)
    threads = min(thread_count(n_jobs), len(values))
    _slide(matrices, Series(values, lengths), target, nothing, threads)


def window_outputs(
    matrices: Matrices,
    values: NDArray[np.float32],
    lengths: NDArray[np.int64],
    cases: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The outputs (places, 8, positions) of each matrix on one series, and how many there are.

    Parameters
    ----------
    matrices : Matrices
        Biases are not needed.
    values, lengths
        As for `pooled_outputs`.
    cases : array (places, 8)
        The series of each matrix.

    Returns
    -------
    outputs : array (places, 8, positions)
        NaN behind the last position.
    positions : array (places, 8)
    """
    geometry = _geometry(matrices, values.shape[3])
    sample = _new_sample(cases, geometry.positions)
    nowhere = Features(np.empty(0, np.float32), 0, 0)
    _slide(matrices, Series(values, lengths), nowhere, sample, threads=1)
    return sample.outputs[:, :, : sample.positions.max()], sample.positions
