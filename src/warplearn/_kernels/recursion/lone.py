"""A single grid: lanes are consecutive columns.

One model that is trained one example at a time, and one pair of series, offer no second grid to put
into lanes.  Instead a *stripe* of as many columns as there are lanes is swept at once, each column
one row behind the column to its left: at step t lane l is at row t - l.  What a cell needs from the
column to its left is then what the lane before had at the last step, and a vector shifted by one
lane brings it.  Operands are stored the way they are read: the series *reversed*, and element
(stripe, step, lane) of the *skewed* matrix.  A series in the place of the matrix stands as it is,
for a column is one element of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.recursion.local import score
from warplearn._kernels.recursion.steps import bit_of, record_step, step_at
from warplearn._kernels.simd.arrays import empty, fill
from warplearn._kernels.simd.compiling import entry, inlined, inner
from warplearn._kernels.simd.constants import Static, constants, value_of
from warplearn._kernels.simd.numbers import lesser
from warplearn._kernels.simd.vector import (
    last_lane,
    load,
    maximum,
    shift_in,
    splat,
    store,
    where,
)


@constants
class Lone(NamedTuple):
    """What the recursion is compiled for.

    Attributes
    ----------
    lanes : Static
    channels : Static or int
    skewed : Static
        Whether the columns are those of a skewed matrix, or elements of a series.
    traced, banded : Static
        Whether to record the steps; whether there is a band.
    """

    lanes: Static
    channels: Static | int
    skewed: Static
    traced: Static
    banded: Static


class Stripes(NamedTuple):
    """Which rows of each column exist: first, last; and where the steps of a stripe are recorded.

    A step t of a stripe stands at `begins[stripe] + t`.
    """

    first: Any
    last: Any
    begins: Any


@entry
def skewed_size(count, n, m):
    """The size of a skewed n x m matrix."""
    return (m + count - 1) // count * (n + count - 1) * count


@inlined
def steps_of_stripe(count, skewed, m):
    """How many steps there are in each stripe of a skewed matrix."""
    return len(skewed) // ((m + count - 1) // count * count)


@entry
def skew(count, matrix, n, m, skewed):
    """Store an n x m matrix in skewed form, which may have room for more rows; these are 0."""
    fill(skewed, 0)
    length = steps_of_stripe(count, skewed, m)
    for i in range(n):
        for j in range(m):
            step = j // count * length + i + j % count
            skewed[step * count + j % count] = matrix[i * m + j]


@entry
def unskew(count, skewed, n, m, matrix):
    """The inverse of `skew`."""
    length = steps_of_stripe(count, skewed, m)
    for i in range(n):
        for j in range(m):
            step = j // count * length + i + j % count
            matrix[i * m + j] = skewed[step * count + j % count]


@inlined
def reversed_size(count, k):
    """The size of one channel of a reversed series of length k."""
    return k + 2 * count - 2


@inner
def reverse(count, x, start, stride, k, channels, reversed_x):
    """Store a series of length k in the order in which lanes read it, zeros on both sides.

    Element i of channel c stands at `x[start + i * stride + c]`; channels follow each other.
    """
    for c in range(channels):
        at = c * reversed_size(count, k)
        for i in range(count - 1):
            reversed_x[at + i] = reversed_x[at + k + count - 1 + i] = 0
        for i in range(k):
            reversed_x[at + k + count - 2 - i] = x[start + i * stride + c]


@inner
def all_rows(count, k, m, length):
    """The stripes of a complete grid; `length` steps are recorded for each."""
    first, last = empty(m, np.int64), empty(m, np.int64)
    begins = empty((m + count - 1) // count, np.int64)
    fill(first, 0)
    fill(last, k - 1)
    for stripe in range(len(begins)):
        begins[stripe] = stripe * length
    return Stripes(first, last, begins)


class Room(NamedTuple):
    """Work space: the column to the left of a stripe, and the limits of a stripe's columns."""

    kept: Any
    low: Any
    high: Any


@inner
def room_for_grid(lanes, k, like):
    """Uninitialized work space for a grid of k rows."""
    count = value_of(lanes)
    return Room(empty(k + 2 * count, like), empty(count, like), empty(count, like))


@inlined
def _local(config, cost, x, k, t, w, at, stride):
    """Local scores of step t of a series and the columns that stand at w[at]."""
    lanes, count = config.lanes, value_of(config.lanes)
    x_at = k + count - 2 - t
    local = score(cost, load(lanes, x, x_at), load(lanes, w, at))
    for _ in range(1, value_of(config.channels)):
        x_at += reversed_size(count, k)
        at += stride
        local = local + score(cost, load(lanes, x, x_at), load(lanes, w, at))
    return local


@inlined
def _exists(config, t, low, high, value):
    """The value in the lanes whose row exists at step t, else minus infinity."""
    if value_of(config.banded):
        nothing = splat(config.lanes, low.dtype.type(-np.inf))
        value = where(load(config.lanes, low, 0) <= t, value, nothing)
        value = where(load(config.lanes, high, 0) >= t, value, nothing)
    return value


@inlined
def _set_limits(stripes, begin, m, low, high):
    """First and last step of each column of a stripe, which begins with column `begin`."""
    for lane in range(len(low)):
        column = lesser(begin + lane, m - 1)
        low[lane] = stripes.first[column] + lane
        high[lane] = stripes.last[column] + lane


@inner
def lone_forward(config, cost, x, k, w, m, stripes, room, steps):
    """Score of the best path on one grid; records the steps as `forward` does.

    Parameters
    ----------
    config : Lone
    x : the series of length k, see `reverse`
    w : a skewed matrix of m columns (of one channel), or a series of length m, its channels one
        after the other with zeros up to a multiple of the lanes
    stripes : Stripes
    room : `Room`
    steps : `step_bytes` for each recorded step
    """
    lanes, count = config.lanes, value_of(config.lanes)
    kept, low, high = room.kept, room.low, room.high
    first, last, begins = stripes.first, stripes.last, stripes.begins
    padded = (m + count - 1) // count * count
    nothing = splat(lanes, w.dtype.type(-np.inf))
    fill(kept, -np.inf)
    kept[count - 2] = 0  # every path starts from the corner
    value = nothing
    for stripe in range(len(begins)):
        begin = stripe * count
        end = lesser(begin + count, m)
        value, start, recorded = nothing, first[begin], begins[stripe]
        diagonal = shift_in(nothing, kept[start + count - 2])
        if value_of(config.banded):
            _set_limits(stripes, begin, m, low, high)
        for t in range(start, last[end - 1] + end - begin):
            left = shift_in(value, kept[t + count - 1])
            at = recorded + t
            if value_of(config.traced):
                record_step(steps, at, value, diagonal, left)
            column = at * count if value_of(config.skewed) else begin
            local = _local(config, cost, x, k, t, w, column, padded)
            # What comes from another lane comes last: it takes the longest.
            value = maximum(maximum(value, diagonal), left) + local
            value = _exists(config, w.dtype.type(t), low, high, value)
            diagonal = left
            kept[t] = last_lane(value)  # of row t - count + 1
    store(kept, 0, value)
    return kept[(m - 1) % count]


@inlined
def _climb(like, count, begins, steps, i, j):
    """Follow the best path to cell (i, j) straight up: the row where it enters the column.

    Also returns the row of the cell to the left that it comes from.  Along the edges there is one
    way only, also where scores overflowed.
    """
    if j == 0:
        return 0, -1
    lane = j & (count - 1)
    own, at = bit_of(like, lane), begins[j // count] + i + lane
    while i > 0:
        above, diagonal = step_at(like, steps, at)
        if not above & own:
            break
        if diagonal & own:
            return i, i - 1
        i -= 1
        at -= 1
    return i, i


@inner
def lone_backward(lanes, x, k, m, begins, steps, factor, skewed):
    """Add `factor * x_i` to the cells of the active path, of a series of one channel."""
    like, count, i = splat(lanes, x.dtype.type(0)), value_of(lanes), k - 1
    for j in range(m - 1, -1, -1):
        top, before = _climb(like, count, begins, steps, i, j)
        lane = j & (count - 1)
        column = (begins[j // count] + lane) * count + lane
        for row in range(top, i + 1):
            skewed[column + row * count] += factor * x[k + count - 2 - row]
        i = before


@inner
def lone_path(lanes, x, k, m, begins, steps, path, length):
    """Write the cells of the active path, from its end, and how many there are to `length[0]`."""
    like, i, count = splat(lanes, x.dtype.type(0)), k - 1, 0
    for j in range(m - 1, -1, -1):
        top, before = _climb(like, value_of(lanes), begins, steps, i, j)
        for row in range(i, top - 1, -1):
            path[count, 0] = row
            path[count, 1] = j
            count += 1
        i = before
    length[0] = count
