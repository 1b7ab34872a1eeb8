"""What is kept of the outputs of a matrix at all positions of a series.

Lanes behind the last position hold minus infinity, so that no pooling needs to know where the
positions end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.drivers.slide import GROUP, WHOLE
from warplearn._kernels.simd.compiling import inlined, inner
from warplearn._kernels.simd.constants import value_of
from warplearn._kernels.simd.numbers import greater
from warplearn._kernels.simd.reductions import largest_lane, store_largest, store_totals
from warplearn._kernels.simd.vector import (
    counted,
    like,
    load,
    maximum,
    minimum,
    splat,
    store,
    where,
)

# In the order of the features of a matrix.
SHARE, MAXIMUM, PLACE, WINS, LOSSES = (1 << i for i in range(5))


class Work(NamedTuple):
    """What pooling works with.

    What lanes start from (`windows`); the largest and the smallest output of a group at each
    position; the numbers 0, 1, ... of the lanes.  And, in lanes, the largest output of each matrix,
    and the positions that each matrix has so far for "share", "wins" and "losses".
    """

    starts: Any
    best: Any
    worst: Any
    lane_numbers: Any
    largest: Any
    counts: Any


@inner
def _find_extremes(lanes, outputs, at, stride, positions, work):
    """Fill in the extremes; behind the last position they are NaN."""
    count = value_of(lanes)
    for p in range(0, positions, count):
        largest = smallest = load(lanes, outputs, at + p)
        for g in range(1, GROUP):
            value = load(lanes, outputs, at + g * stride + p)
            largest = maximum(largest, value)
            smallest = minimum(smallest, value)
        start = load(lanes, work.starts, greater(0, count - (positions - p)))
        store(work.best, p, largest - start)
        store(work.worst, p, smallest - start)


@inlined
def _pool_matrix(plan, outputs, at, positions, bias, work, g, features, place):
    """Pool the outputs of matrix g of a group, from outputs[at] on; results in lanes go to `work`.

    The position of the largest output goes to features[place], if PLACE is wanted.
    """
    lanes, count, wanted = plan.lanes, value_of(plan.lanes), value_of(plan.poolings)
    number = outputs.dtype.type
    above = wins = losses = splat(lanes, np.int32(0))
    largest, where_largest = splat(lanes, number(-np.inf)), splat(lanes, number(0))
    lane_numbers = load(lanes, work.lane_numbers, 0)
    for p in range(0, positions, count):
        value = load(lanes, outputs, at + p)
        if wanted & SHARE:
            above = counted(above, value > bias)
        if wanted & PLACE:
            where_largest = where(value > largest, lane_numbers + number(p), where_largest)
        if wanted & (MAXIMUM | PLACE):
            largest = maximum(largest, value)
        if wanted & WINS:
            wins = counted(wins, value >= load(lanes, work.best, p))
        if wanted & LOSSES:
            losses = counted(losses, value <= load(lanes, work.worst, p))
    if wanted & SHARE:
        store(work.counts, g * count, above)
    if wanted & MAXIMUM:
        store(work.largest, g * count, largest)
    if wanted & PLACE:
        first = where(largest == largest_lane(largest), -where_largest, like(largest, -np.inf))
        features[place] = -largest_lane(first) / number(positions)
    if wanted & WINS:
        store(work.counts, (GROUP + g) * count, wins)
    if wanted & LOSSES:
        store(work.counts, (2 * GROUP + g) * count, losses)


@inlined
def pool(
    plan, outputs, at, stride, positions, biases, first, elements, work, features, place, step
):
    """Pool the outputs of a group from outputs[at] on; those of a matrix are `stride` apart.

    Its biases begin at biases[first].  `elements` are those of a window, over which the squared
    distance to a shapelet is averaged.  The features of a matrix go to features[place], ..., those
    of the next one begin `step` further.
    """
    lanes, count, wanted = plan.lanes, value_of(plan.lanes), value_of(plan.poolings)
    number = outputs.dtype.type
    each = number(1) / number(positions)
    if wanted & (WINS | LOSSES):
        _find_extremes(lanes, outputs, at, stride, positions, work)
    position_at = place + (wanted & SHARE != 0) + (wanted & MAXIMUM != 0)
    for g in range(GROUP):
        _pool_matrix(
            plan, outputs, at + g * stride, positions, biases[first + g], work, g,
            features, position_at + g * step,
        )  # fmt: skip
    if wanted & SHARE:
        store_totals(work.counts, 0, WHOLE, lanes, each, features, place, step)
        place += 1
    if wanted & MAXIMUM:
        store_largest(work.largest, 0, WHOLE, lanes, number(1), features, place, step)
        if value_of(plan.shapelets):
            for g in range(GROUP):  # the smallest distance
                squared = -features[place + g * step] / number(elements)
                features[place + g * step] = math.sqrt(squared)
        place += 1
    if wanted & PLACE:
        place += 1
    if wanted & WINS:
        store_totals(work.counts, GROUP * count, WHOLE, lanes, each, features, place, step)
        place += 1
    if wanted & LOSSES:
        store_totals(work.counts, 2 * GROUP * count, WHOLE, lanes, each, features, place, step)
