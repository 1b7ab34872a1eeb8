"""One sample at a time: the row of the dynamic program that a new sample adds.

Lanes are streams, each with a row of its own; the matrices are shared.  The value of the row's
last column is the score of the series seen so far.
"""

from __future__ import annotations

import numpy as np

from warplearn._kernels.recursion.forward import Config, cell
from warplearn._kernels.simd.compiling import entry
from warplearn._kernels.simd.constants import NO, YES, value_of
from warplearn._kernels.simd.vector import BATCH, load, series_at, splat, store


@entry
def advance(lanes, channels, cost, samples, matrices, row, kept, values):
    """Take one sample of each stream.

    Parameters
    ----------
    lanes, channels : Static (channels may be a plain int)
    samples : array (blocks, channels * lanes)
    matrices : array (units, n, m * channels)
    row : int
        How many samples were taken before.
    kept : array (blocks, units, m * lanes)
        The last row of each stream and unit; overwritten by the new one.
    values : array (blocks, units, lanes)
        Receives the scores.
    """
    config = Config(lanes, BATCH, channels, NO, NO)
    count, d = value_of(lanes), value_of(channels)
    units = len(matrices)
    m = matrices.shape[2] // d
    for block in range(len(samples)):
        for unit in range(units):
            x, w, old = samples[block], matrices[unit, row], kept[block, unit]
            nothing = splat(lanes, old.dtype.type(-np.inf))
            start = splat(lanes, old.dtype.type(0 if row == 0 else -np.inf))
            above, left = start, nothing
            element = series_at(BATCH, lanes, x, 0)
            for j in range(m):
                up = nothing
                if row > 0:
                    up = load(lanes, old, j * count)
                left = cell(config, YES, cost, element, x, 0, w, j * d, up, above, left)
                above = up
                store(old, j * count, left)
            store(values[block, unit], 0, left)
