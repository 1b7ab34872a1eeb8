"""From the lanes of vectors to numbers: sums over the lanes, and the largest of them."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from warplearn._kernels.simd.vector import address_of, indices, larger_of, reduced

_INT32 = ir.IntType(32)


@intrinsic
def total(typingctx, a):
    """The sum over the lanes."""

    def codegen(context, builder, sig, args):
        return reduced(builder, args[0], builder.fadd)

    return a.dtype(a), codegen


@intrinsic
def largest_lane(typingctx, a):
    """The largest number of the lanes."""

    def codegen(context, builder, sig, args):
        return reduced(builder, args[0], lambda left, right: larger_of(builder, left, right))

    return a.dtype(a), codegen


# Several vectors at once.


def _across(builder, rows, lanes, combine):
    """For each of several vectors, a power of two, its lanes combined to one number.

    Neighbouring lanes of two vectors are combined at once, so that few operations serve all.
    """

    def neighbours(a, b):
        even, odd = (
            builder.shuffle_vector(a, b, indices(range(first, 2 * lanes, 2))) for first in (0, 1)
        )
        return combine(even, odd)

    count, width = len(rows), lanes  # width: lanes that a result has left
    while width > 1:
        pairs = zip(rows[::2], rows[1::2], strict=True) if len(rows) > 1 else [rows * 2]
        rows, width = [neighbours(*pair) for pair in pairs], width // 2
    places = [divmod(i, lanes) for i in range(count)]
    return [builder.extract_element(rows[row], _INT32(lane)) for row, lane in places]


def _across_stored(combine):
    """An intrinsic that combines the lanes of vectors and writes the numbers, times a factor."""

    def store_across(typingctx, source, first, vectors, lanes, factor, target, offset, step):
        def codegen(context, builder, sig, args):
            word = args[1].type
            block = ir.VectorType(context.get_value_type(source.dtype), lanes.value)
            address = address_of(context, builder, source, args[0], args[1], block)
            rows = [
                builder.load(builder.gep(address, [word(i)]), align=source.dtype.bitwidth // 8)
                for i in range(vectors.value)
            ]
            numbers = _across(builder, rows, lanes.value, lambda a, b: combine(builder, a, b))
            for place, number in enumerate(numbers):
                if isinstance(source.dtype, types.Integer):
                    number = builder.sitofp(number, args[4].type)
                index = builder.add(args[6], builder.mul(args[7], word(place)))
                address = address_of(context, builder, target, args[5], index, args[4].type)
                builder.store(builder.fmul(number, args[4]), address)
            return context.get_dummy_value()

        number, word = target.dtype, types.intp
        return types.void(source, word, vectors, lanes, number, target, word, word), codegen

    return intrinsic(store_across)


# Of `vectors` vectors, one after the other from `source[first]` on, the sums or the largest of the
# lanes, times a factor, go to `target[offset]`, `target[offset + step]`, ...
store_totals = _across_stored(lambda builder, a, b: builder.add(a, b))
store_largest = _across_stored(larger_of)
