"""Blocks: items (series or matrices) side by side in lanes.

Item p of a flat array is the run of numbers from `p * stride` on; in a block, element t of lane l
stands at `t * lanes + l`.  Series are put into lanes in the order of their lengths, so that those
of a block end about the same row.
"""

from __future__ import annotations

import numpy as np
from numba.extending import intrinsic

from warplearn._kernels.simd.arrays import empty
from warplearn._kernels.simd.compiling import inner
from warplearn._kernels.simd.constants import static_type, value_of
from warplearn._kernels.simd.numbers import lesser
from warplearn._kernels.simd.vector import transpose

_TILE_BYTES = 32


@intrinsic
def tile_of(typingctx, array):
    """The side of the square tiles in which rows are turned into lanes, as a `Static`.

    A row of a tile has twice 16 bytes.
    """
    result = static_type(8 * _TILE_BYTES // array.dtype.bitwidth)

    def codegen(context, builder, sig, args):
        return context.get_dummy_value()

    return result(array), codegen


@inner
def pack(lanes, source, starts, first, size, block):
    """Copy `size` elements of each item, from its `first` on, into its lane."""
    tile = tile_of(source)
    count, side = value_of(lanes), value_of(tile)
    if size < side:
        for lane in range(count):
            for t in range(size):
                block[t * count + lane] = source[starts[lane] + first + t]
        return
    for t in range(0, size, side):
        column = lesser(t, size - side)  # the last tile overlaps the one before
        for lane in range(0, count, side):
            at = column * count + lane
            transpose(tile, source, starts, lane, first + column, block, at, count)


@inner
def unpack(lanes, block, first, many, size, target):
    """Copy the numbers of some lanes, a multiple of a tile, from `first` on, out of a block."""
    tile = tile_of(block)
    count, side = value_of(lanes), value_of(tile)
    if size < side:
        for lane in range(many):
            for t in range(size):
                target[lane * size + t] = block[t * count + first + lane]
        return
    rows = empty(side, np.int64)
    for t in range(0, size, side):
        start = lesser(t, size - side)
        for i in range(side):
            rows[i] = (start + i) * count
        for lane in range(0, many, side):
            transpose(tile, block, rows, 0, first + lane, target, lane * size + start, size)


@inner
def unpack_lane(lanes, block, lane, size, target, start):
    """Add the numbers of one lane to an item."""
    count = value_of(lanes)
    for t in range(size):
        target[start + t] += block[t * count + lane]
