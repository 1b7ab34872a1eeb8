"""What is done to weights between steps: penalties, shrinking, averaging, projection.

Weights are blocks of matrices in lanes.  The lane of a block belongs to an output, its *unit*.  If
a task has a single matrix (see `lone`), all lanes of its block belong to the only unit.
"""

from __future__ import annotations

import numpy as np

from warplearn._kernels.drivers.components import penalty_slope, penalty_value
from warplearn._kernels.simd.arrays import zeros
from warplearn._kernels.simd.compiling import entry, inlined, inner
from warplearn._kernels.simd.constants import value_of
from warplearn._kernels.simd.reductions import total as sum_of
from warplearn._kernels.simd.vector import absolute, like, load, maximum, minimum, store, where

_NEGLIGIBLE = 1e-30


@inlined
def unit_of(lone, lanes, block, lane):
    """The output that a lane of a block belongs to."""
    return block if value_of(lone) else block * value_of(lanes) + lane


@inner
def shrink(lanes, penalty, amounts, matrix, scratch):
    """One step down the penalty, by `amounts` (a number a lane).

    Weights that only ever shrink become denormal numbers, on which CPUs are slow: they end at 0.
    """
    count = value_of(lanes)
    for lane in range(count):
        scratch[lane] = amounts[lane]
    amount = load(lanes, scratch, 0)
    for at in range(0, len(matrix), count):
        w = load(lanes, matrix, at)
        w = w - amount * penalty_slope(penalty, w)
        store(matrix, at, where(absolute(w) < _NEGLIGIBLE, like(w, 0.0), w))


@inner
def fold(lone, lanes, below, scale, matrices, scratch):
    """Multiply the matrices whose scale is less than `below` by it; the scale becomes 1."""
    count = value_of(lanes)
    for block in range(len(matrices)):
        for lane in range(count):
            own = scale[unit_of(lone, lanes, block, lane)]
            scratch[lane] = own if own < below else 1.0
        factor = load(lanes, scratch, 0)
        for at in range(0, matrices.shape[1], count):
            w = load(lanes, matrices[block], at) * factor
            store(matrices[block], at, where(absolute(w) < _NEGLIGIBLE, like(w, 0.0), w))
    for unit in range(len(scale)):
        if scale[unit] < below:
            scale[unit] = 1.0


@inner
def penalties(lanes, penalty, matrix, out):
    """The penalty of each lane's matrix."""
    total = like(load(lanes, matrix, 0), 0.0)
    for at in range(0, len(matrix), value_of(lanes)):
        total = total + penalty_value(penalty, load(lanes, matrix, at))
    store(out, 0, total)


@entry
def penalty_of(lanes, penalty, weights, slopes):
    """The penalty of weights, and its derivative; their number is a multiple of the lanes."""
    total = like(load(lanes, weights, 0), 0.0)
    for at in range(0, len(weights), value_of(lanes)):
        w = load(lanes, weights, at)
        total = total + penalty_value(penalty, w)
        store(slopes, at, penalty_slope(penalty, w))
    return sum_of(total)


@inner
def blend(lanes, share, source, target):
    """Move `target` to `source` by a share from 0 to 1."""
    for at in range(0, len(target), value_of(lanes)):
        new, old = load(lanes, source, at), load(lanes, target, at)
        store(target, at, old + share * (new - old))


@inner
def keep(lanes, bounds, source, target):
    """Copy the lanes of `source` whose bound is infinity; that of others is minus infinity.

    A choice by a mask would become a masked store, which takes many times as long on AMD's AVX2.
    """
    for at in range(0, len(target), value_of(lanes)):
        bound = load(lanes, bounds, 0)
        new, old = minimum(load(lanes, source, at), bound), minimum(load(lanes, target, at), -bound)
        store(target, at, maximum(new, old))


@inner
def _norms(lanes, matrix, out):
    """The squared norm of each lane's matrix."""
    total = like(load(lanes, matrix, 0), 0.0)
    for at in range(0, len(matrix), value_of(lanes)):
        w = load(lanes, matrix, at)
        total = total + w * w
    store(out, 0, total)


@inner
def project(lone, lanes, limit, matrices, bias, size, models, scratch):
    """Project the parameters of every model onto the ball of radius `limit`."""
    count = value_of(lanes)
    norms = zeros(models, np.float64)
    for unit in range(models * size):
        norms[unit // size] += bias[unit] * bias[unit]
    for block in range(len(matrices)):
        _norms(lanes, matrices[block], scratch)
        for lane in range(count):
            unit = unit_of(lone, lanes, block, lane)
            if unit < models * size:
                norms[unit // size] += scratch[lane]
    for unit in range(models * size):
        if norms[unit // size] > limit * limit:
            bias[unit] *= limit / np.sqrt(norms[unit // size])
    for block in range(len(matrices)):
        for lane in range(count):
            unit = unit_of(lone, lanes, block, lane)
            if unit < models * size and norms[unit // size] > limit * limit:
                factor = limit / np.sqrt(norms[unit // size])
                for at in range(lane, matrices.shape[1], count):
                    matrices[block, at] *= matrices.dtype.type(factor)
