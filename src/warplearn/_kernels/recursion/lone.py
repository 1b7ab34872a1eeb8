"""A single grid: lanes are consecutive columns.

One model that is trained one example at a time offers no second grid to put into lanes.  Instead a
*stripe* of as many columns as there are lanes is swept at once, each column one row behind the
column to its left: at step t lane l is at row t - l.  What a cell needs from the column to its left
is then what the lane before had at the last step, and a vector shifted by one lane brings it.
Operands are stored the way they are read: the series *reversed*, and element (stripe, step, lane)
of the *skewed* matrix.  Grids have far fewer columns than rows, often no more than a stripe.

For series of one channel and complete grids.
"""

from __future__ import annotations

import numpy as np

from warplearn._kernels.recursion.forward import record_step
from warplearn._kernels.recursion.local import score
from warplearn._kernels.simd.arrays import fill
from warplearn._kernels.simd.compiling import entry, inlined, inner
from warplearn._kernels.simd.constants import value_of
from warplearn._kernels.simd.vector import last_lane, load, maximum, shift_in, splat, store


@entry
def skewed_size(count, n, m):
    """The size of a skewed n x m matrix."""
    return (m + count - 1) // count * (n + count - 1) * count


@inlined
def _steps_of_stripe(count, skewed, m):
    return len(skewed) // ((m + count - 1) // count * count)


@entry
def skew(count, matrix, n, m, skewed):
    """Store an n x m matrix in skewed form, which may have room for more rows; these are 0."""
    fill(skewed, 0)
    length = _steps_of_stripe(count, skewed, m)
    for i in range(n):
        for j in range(m):
            step = j // count * length + i + j % count
            skewed[step * count + j % count] = matrix[i * m + j]


@entry
def unskew(count, skewed, n, m, matrix):
    """The inverse of `skew`."""
    length = _steps_of_stripe(count, skewed, m)
    for i in range(n):
        for j in range(m):
            step = j // count * length + i + j % count
            matrix[i * m + j] = skewed[step * count + j % count]


@inner
def reverse(count, x, start, k, reversed_x):
    """Store a series of length k in the order in which lanes read it, zeros on both sides."""
    for i in range(count - 1):
        reversed_x[i] = reversed_x[k + count - 1 + i] = 0
    for i in range(k):
        reversed_x[k + count - 2 - i] = x[start + i]


@inner
def lone_forward(lanes, cost, reversed_x, k, skewed, m, kept, steps):
    """Score of the best path of one series; records the steps as `forward` does.

    Parameters
    ----------
    reversed_x : the series of length k, see `reverse`
    skewed : a matrix of m columns, see `skew`
    kept : work space of k + 2 * lanes numbers, the column to the left of a stripe
    steps : work space of two masks for each step of each stripe
    """
    count, length = value_of(lanes), _steps_of_stripe(value_of(lanes), skewed, m)
    nothing = splat(lanes, skewed.dtype.type(-np.inf))
    fill(kept, -np.inf)
    value = nothing
    diagonal = shift_in(nothing, skewed.dtype.type(0))  # every path starts from the corner
    for stripe in range((m + count - 1) // count):
        last = min(count, m - stripe * count) - 1
        value = nothing
        at = stripe * length
        for t in range(k + last):
            left = shift_in(value, kept[t + count - 1])
            record_step(steps, at, value, diagonal, left)
            local = score(
                cost, load(lanes, reversed_x, k + count - 2 - t), load(lanes, skewed, at * count)
            )
            # What comes from another lane comes last: it takes the longest.
            value = maximum(maximum(value, diagonal), left) + local
            diagonal = left
            kept[t] = last_lane(value)  # of row t - count + 1
            at += 1
        diagonal = nothing
    store(kept, 0, value)
    return kept[(m - 1) % count]


@inner
def lone_backward(lanes, reversed_x, k, m, steps, factor, skewed):
    """Add `factor * x_i` to the cells of the active path."""
    count, length = value_of(lanes), _steps_of_stripe(value_of(lanes), skewed, m)
    i, j, lane = k - 1, m - 1, (m - 1) % count
    at = (m - 1) // count * length + i + lane
    while True:
        skewed[at * count + lane] += factor * reversed_x[k + count - 2 - i]
        from_above = np.int64(steps[2 * at]) >> lane & 1
        diagonal = np.int64(steps[2 * at + 1]) >> lane & 1
        # Most steps go straight up, which a CPU learns to predict.
        if from_above and not diagonal:
            i -= 1
            at -= 1
            if i < 0:
                break
            continue
        i -= from_above
        j -= 1
        if i < 0 or j < 0:
            break
        # The column to the left is the lane before, a step earlier, or the last of a stripe before.
        at -= from_above + (length - count + 1 if lane == 0 else 1)
        lane = (lane - 1) & (count - 1)
