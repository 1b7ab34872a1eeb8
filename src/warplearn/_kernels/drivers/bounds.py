"""Lower bounds of dynamic time warping under the squared cost, at the price of one row.

A path passes every row i of the grid of a series x and a series q, inside the columns that the band
leaves to that row.  The least it can pay there is the squared distance of x_i from the range of q
over those columns, the *envelope*; summed over the rows this is the bound of Keogh.  In the first
and the last row it also passes the corner, so there the envelope shrinks to one element, which
takes in the bound of Kim.  Without a band the envelope is that of the whole of q.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.recursion.grid import row_limits
from warplearn._kernels.simd.arrays import empty
from warplearn._kernels.simd.compiling import inner
from warplearn._kernels.simd.constants import Static, value_of
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.reductions import total
from warplearn._kernels.simd.vector import load, maximum, splat

_RUN = Static(16)


class Envelope(NamedTuple):
    """The range of a series: `lower` and `upper` have an element for each row and channel.

    `first`, `last` and `queue` are work space: two integers for each row, one for each column.
    """

    lower: Any
    upper: Any
    first: Any
    last: Any
    queue: Any


@inner
def room_for_envelope(rows, columns, channels, like):
    """An uninitialized envelope of up to some rows and columns."""
    size = rows * value_of(channels)
    return Envelope(
        empty(size, like),
        empty(size, like),
        empty(rows, np.int64),
        empty(rows, np.int64),
        empty(columns, np.int64),
    )


@inner
def envelope(banded, channels, band, q, start, m, k, made):
    """Least and greatest element of q in the columns of each of k rows, for every channel.

    Parameters
    ----------
    banded, channels : Static
    q, start, m : series, flat, where it starts and its length
    made : Envelope
        To fill.
    """
    d, lower, upper = value_of(channels), made.lower, made.upper
    if value_of(banded):
        row_limits(band, k, m, made.first, made.last)
    for c in range(d):
        if value_of(banded):
            _running(q, start + c, d, k, made, lower, c, 1)
            _running(q, start + c, d, k, made, upper, c, -1)
        else:
            least = greatest = q[start + c]
            for j in range(1, m):
                element = q[start + j * d + c]
                least, greatest = lesser(least, element), greater(greatest, element)
            for i in range(k):
                lower[i * d + c], upper[i * d + c] = least, greatest
        end = (k - 1) * d + c
        lower[end] = upper[end] = q[start + (m - 1) * d + c]
        lower[c] = upper[c] = q[start + c]


@inner
def _running(q, start, d, k, made, target, c, sign):
    """Minima (or, with sign -1, maxima) over windows both of whose ends only move to the right."""
    first, last, queue = made.first, made.last, made.queue
    head, tail, taken = 0, 0, -1
    for i in range(k):
        while taken < last[i]:
            taken += 1
            element = sign * q[start + taken * d]
            while tail > head and sign * q[start + queue[tail - 1] * d] >= element:
                tail -= 1
            queue[tail] = taken
            tail += 1
        while queue[head] < first[i]:
            head += 1
        target[i * d + c] = q[start + queue[head] * d]


@inner
def outside(x, start, size, lower, upper):
    """Summed squared distances of elements from an envelope.

    Lanes are consecutive elements here.
    """
    nothing = splat(_RUN, lower.dtype.type(0))
    sums = nothing
    whole = size - size % value_of(_RUN)
    for t in range(0, whole, value_of(_RUN)):
        element = load(_RUN, x, start + t)
        over, under = element - load(_RUN, upper, t), load(_RUN, lower, t) - element
        excess = maximum(maximum(over, under), nothing)
        sums = sums + excess * excess
    summed = total(sums)
    for t in range(whole, size):
        excess = greater(x[start + t] - upper[t], lower[t] - x[start + t])
        if excess > 0:
            summed += excess * excess
    return summed
