"""A single grid: lanes are consecutive rows.

One model that is trained one example at a time offers no second grid to put into lanes.  Instead a
*stripe* of as many rows as there are lanes is swept at once, each row one column behind the row
above: at step t lane l is at column t - l.  What a cell needs from the row above is then what the
lane before had at the last step, and a vector shifted by one lane brings it.  The matrix is stored
the way it is read: element (stripe, step, lane) of the *skewed* matrix.

For series of one channel and complete grids.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from warplearn._kernels.recursion.forward import best_of, record_step
from warplearn._kernels.recursion.local import score
from warplearn._kernels.simd.arrays import fill
from warplearn._kernels.simd.compiling import inner
from warplearn._kernels.simd.constants import value_of
from warplearn._kernels.simd.vector import last_lane, load, shift_in, splat, store


@njit(nogil=True, cache=True)
def skewed_size(count, n, m):
    """The size of a skewed n x m matrix."""
    return (n + count - 1) // count * (m + count - 1) * count


@njit(nogil=True, cache=True)
def skew(count, matrix, n, m, skewed):
    """Store an n x m matrix in skewed form; cells outside of it are 0."""
    fill(skewed, 0)
    for i in range(n):
        stripe, lane = i // count, i % count
        for j in range(m):
            skewed[(stripe * (m + count - 1) + j + lane) * count + lane] = matrix[i * m + j]


@njit(nogil=True, cache=True)
def unskew(count, skewed, n, m, matrix):
    """The inverse of `skew`."""
    for i in range(n):
        stripe, lane = i // count, i % count
        for j in range(m):
            matrix[i * m + j] = skewed[(stripe * (m + count - 1) + j + lane) * count + lane]


@inner
def lone_forward(lanes, cost, x, k, skewed, m, kept, steps):
    """Score of the best path of one series; records the steps as `forward` does.

    Parameters
    ----------
    x : the series, followed by zeros up to a multiple of the lanes
    kept : work space of m + lanes numbers, the row above a stripe
    steps : work space of two masks for each step of each stripe
    """
    count = value_of(lanes)
    nothing = splat(lanes, x.dtype.type(-np.inf))
    fill(kept, -np.inf)
    value = nothing
    diagonal = shift_in(nothing, x.dtype.type(0))  # every path starts from the corner
    for stripe in range((k + count - 1) // count):
        first = stripe * count
        x_rows = load(lanes, x, first)
        last = min(count, k - first) - 1
        value = nothing
        at = stripe * (m + count - 1)
        for t in range(m + last):
            up = shift_in(value, kept[t])
            record_step(steps, at, up, diagonal, value)
            local = score(cost, x_rows, load(lanes, skewed, at * count))
            value = best_of(up, diagonal, value) + local
            diagonal = up
            if t >= count - 1:
                kept[t - count + 1] = last_lane(value)
            at += 1
        diagonal = nothing
    store(kept, 0, value)
    return kept[(k - 1) % count]


@inner
def lone_backward(lanes, x, k, m, steps, factor, skewed):
    """Add `factor * x_i` to the cells of the active path."""
    count = value_of(lanes)
    i, j, lane = k - 1, m - 1, (k - 1) % count
    at = (k - 1) // count * (m + count - 1) + j + lane
    while i >= 0 and j >= 0:
        skewed[at * count + lane] += factor * x[i]
        from_above = np.int64(steps[2 * at]) >> lane & 1
        to_left = 1 - from_above + (from_above & (np.int64(steps[2 * at + 1]) >> lane))
        # The row above is the lane before, a step earlier, or the last lane of the stripe before.
        at -= to_left + from_above * (m if lane == 0 else 1)
        lane = (lane - from_above) & (count - 1)
        i -= from_above
        j -= to_left
