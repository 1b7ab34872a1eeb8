"""What is kept of the outputs of a matrix at all positions of a series.

Lanes behind the last position hold minus infinity, so that no pooling needs to know where the
positions end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.drivers.slide import GROUP
from warplearn._kernels.simd.compiling import inlined, inner
from warplearn._kernels.simd.constants import value_of
from warplearn._kernels.simd.vector import (
    largest_lane,
    load,
    maximum,
    splat,
    store,
    total,
    where,
)

# In the order of the features of a matrix.
SHARE, MAXIMUM, PLACE, WINS, LOSSES = (1 << i for i in range(5))


class Extremes(NamedTuple):
    """What pooling works with.

    The largest and the smallest output of a group at each position; the numbers 0, 1, ... of the
    lanes.
    """

    best: Any
    worst: Any
    lane_numbers: Any


@inner
def find_extremes(lanes, outputs, stride, positions, extremes):
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
def pool(plan, outputs, at, positions, bias, elements, extremes, features, place):
    """Pool the outputs of one matrix, from outputs[at] on; features go to features[place], ...

    `elements` are those of a window, over which the squared distance to a shapelet is averaged.
    """
    lanes, count, wanted = plan.lanes, value_of(plan.lanes), value_of(plan.poolings)
    best, worst = extremes.best, extremes.worst
    number = outputs.dtype.type
    zero, one = splat(lanes, number(0)), splat(lanes, number(1))
    above, wins, losses, where_largest = zero, zero, zero, zero
    largest = splat(lanes, number(-np.inf))
    lane_numbers = load(lanes, extremes.lane_numbers, 0)
    for p in range(0, positions, count):
        value = load(lanes, outputs, at + p)
        if wanted & SHARE:
            above = above + where(value > bias, one, zero)
        if wanted & PLACE:
            where_largest = where(value > largest, lane_numbers + number(p), where_largest)
        if wanted & (MAXIMUM | PLACE):
            largest = maximum(largest, value)
        if wanted & WINS:
            wins = wins + where(value >= load(lanes, best, p), one, zero)
        if wanted & LOSSES:
            losses = losses + where(value <= load(lanes, worst, p), one, zero)
    size = number(positions)
    if wanted & SHARE:
        features[place] = total(above) / size
        place += 1
    if wanted & (MAXIMUM | PLACE):
        greatest = largest_lane(largest)
        earliest = where(largest == greatest, -where_largest, splat(lanes, number(-np.inf)))
        if wanted & MAXIMUM:
            if value_of(plan.shapelets):
                greatest = math.sqrt(-greatest / number(elements))  # the smallest distance
            features[place] = greatest
            place += 1
        if wanted & PLACE:
            features[place] = -largest_lane(earliest) / size
            place += 1
    if wanted & WINS:
        features[place] = total(wins) / size
        place += 1
    if wanted & LOSSES:
        features[place] = total(losses) / size
