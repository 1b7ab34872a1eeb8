"""A SIMD vector type for Numba.

One recursion over a grid is a chain of dependent operations and leaves most of a core idle.
Many recursions of the same shape, one in each *lane* of a vector, do not.  This module teaches
Numba the vector: `Vec(dtype, lanes)` is an LLVM vector, a comparison gives a `Mask(lanes)`, and
every function below is one LLVM instruction or a short shuffle.  LLVM splits a vector into the
registers the CPU has (AVX2, AVX-512, NEON): one source, no dispatch code.

Arithmetic is IEEE with one exception: a product and the sum it enters may be fused.  Memory
access is unchecked; arrays are addressed flat, by element.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model

from warplearn._kernels.simd.arrays import CACHE_LINE
from warplearn._kernels.simd.constants import Static, static_type
from warplearn._kernels.simd.target import TARGET

_INT32 = ir.IntType(32)
FUSE = ("contract",)  # flags of an operation that may be fused with another


@intrinsic
def sweeps_four_rows(typingctx, lanes, array, traced):
    """Whether four rows of a grid are swept at once, else two, as a `Static`.

    Vectors up to a cache line do not hide the latency of the recursion in two rows.  AVX2 has too
    few registers for four rows whose steps are recorded.
    """
    short = lanes.value * array.dtype.bitwidth <= 8 * CACHE_LINE
    result = static_type(int(short and not (TARGET.packs_masks and traced.value)))

    def codegen(context, builder, sig, args):
        return context.get_dummy_value()

    return result(lanes, array, traced), codegen


@intrinsic
def keeps_elements(typingctx, role, traced):
    """Whether the elements of the rows that are swept stay in registers, as a `Static`.

    Those of a shared series do.  Those of laned series are whole vectors, which takes more than
    sixteen registers.  Where steps are recorded, nothing was gained by it.
    """
    roomy = TARGET.n_registers > 16 and not traced.value
    result = static_type(int(role.value != BATCH.value or roomy))

    def codegen(context, builder, sig, args):
        return context.get_dummy_value()

    return result(role, traced), codegen


class Vec(types.Type):
    """A vector of `lanes` floating-point numbers, or integers that count."""

    def __init__(self, dtype: types.Float, lanes: int) -> None:
        self.dtype = dtype
        self.lanes = lanes
        super().__init__(name=f"Vec({dtype}, {lanes})")


class Mask(types.Type):
    """One truth value for each lane."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        super().__init__(name=f"Mask({lanes})")


@register_model(Vec)
class _VecModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        element = dmm.lookup(fe_type.dtype).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(element, fe_type.lanes))


@register_model(Mask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.VectorType(ir.IntType(1), fe_type.lanes))


# Helpers for writing intrinsics.


def spread(builder, scalar, lanes):
    """The vector with the same scalar in every lane."""
    vector = ir.VectorType(scalar.type, lanes)
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, _INT32(0))
    return builder.shuffle_vector(first, undefined, indices([0] * lanes))


def indices(order):
    """The order of lanes that a shuffle takes."""
    return ir.Constant(ir.VectorType(_INT32, len(order)), list(order))


def part_of(builder, vec, first, count):
    """Some consecutive lanes of a vector."""
    undefined = ir.Constant(vec.type, ir.Undefined)
    return builder.shuffle_vector(vec, undefined, indices(range(first, first + count)))


def joined(builder, parts):
    """Vectors of one length, as many as a power of two, one behind the other."""
    while len(parts) > 1:
        order = indices(range(2 * parts[0].type.count))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [builder.shuffle_vector(*pair, order) for pair in pairs]
    return parts[0]


def address_of(context, builder, array_type, array, offset, pointee):
    """The address of element `offset` of an array, as a pointer to `pointee`."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), pointee.as_pointer())


def larger_of(builder, a, b):
    """The larger number of each lane."""
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def fields_of(builder, kind, value):
    """The fields of a `NamedTuple`: their types and their values, each as a `NamedTuple`."""
    values = cgutils.unpack_tuple(builder, value)
    return kind.instance_class(*kind.types), kind.instance_class(*values)


def reduced(builder, vec, combine):
    """Halves combined pairwise: the order of a sum is the same on every CPU."""
    width = vec.type.count
    while width > 1:
        width //= 2
        vec = combine(part_of(builder, vec, 0, width), part_of(builder, vec, width, width))
    return builder.extract_element(vec, _INT32(0))


def _call(builder, name, operands):
    """Call the LLVM intrinsic `name` that maps vectors to a vector of the same type."""
    vector = operands[0].type
    suffix = f"v{vector.count}f{32 if vector.element == ir.FloatType() else 64}"
    kind = ir.FunctionType(vector, [vector] * len(operands))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}")
    return builder.call(function, operands)


# Operators.  A scalar operand is spread over the lanes.


def _define_operator(symbol, instruct, result):
    @infer_global(symbol)
    class Template(AbstractTemplate):
        def generic(self, args, kws):
            vec = next((t for t in args if isinstance(t, Vec)), None)
            if vec is None or not all(t == vec or isinstance(t, types.Number) for t in args):
                return None
            return signature(result(vec), *(t if t == vec else vec.dtype for t in args))

    def lower(context, builder, sig, args):
        lanes = next(t.lanes for t in sig.args if isinstance(t, Vec))
        operands = [
            value if isinstance(typ, Vec) else spread(builder, value, lanes)
            for typ, value in zip(sig.args, args, strict=True)
        ]
        return instruct(builder, *operands)

    for kinds in ((Vec, Vec), (Vec, types.Float), (types.Float, Vec)):
        lower_builtin(symbol, *kinds)(lower)


def _same(vec):
    return vec


def _mask(vec):
    return Mask(vec.lanes)


_define_operator(operator.add, lambda builder, a, b: builder.fadd(a, b, flags=FUSE), _same)
_define_operator(operator.sub, lambda builder, a, b: builder.fsub(a, b, flags=FUSE), _same)
_define_operator(operator.mul, lambda builder, a, b: builder.fmul(a, b, flags=FUSE), _same)
_define_operator(operator.truediv, lambda builder, a, b: builder.fdiv(a, b), _same)
_define_operator(operator.gt, lambda builder, a, b: builder.fcmp_ordered(">", a, b), _mask)
_define_operator(operator.ge, lambda builder, a, b: builder.fcmp_ordered(">=", a, b), _mask)
_define_operator(operator.lt, lambda builder, a, b: builder.fcmp_ordered("<", a, b), _mask)
_define_operator(operator.le, lambda builder, a, b: builder.fcmp_ordered("<=", a, b), _mask)
_define_operator(operator.eq, lambda builder, a, b: builder.fcmp_ordered("==", a, b), _mask)


@infer_global(operator.neg)
class _Negate(AbstractTemplate):
    def generic(self, args, kws):
        return signature(args[0], args[0]) if isinstance(args[0], Vec) else None


@lower_builtin(operator.neg, Vec)
def _lower_negate(context, builder, sig, args):
    return builder.fneg(args[0])


# Making vectors, memory.


@intrinsic
def splat(typingctx, lanes, scalar):
    """The same number in every lane."""

    def codegen(context, builder, sig, args):
        return spread(builder, args[1], lanes.value)

    return Vec(scalar, lanes.value)(lanes, scalar), codegen


@intrinsic
def like(typingctx, vec, scalar):
    """A scalar spread over as many lanes, and in the dtype, of `vec`."""

    def codegen(context, builder, sig, args):
        return spread(builder, args[1], vec.lanes)

    return vec(vec, vec.dtype), codegen


@intrinsic
def load(typingctx, lanes, array, offset):
    """`lanes` consecutive numbers of a contiguous array, from element `offset` on."""

    def codegen(context, builder, sig, args):
        vector = context.get_value_type(sig.return_type)
        address = address_of(context, builder, array, args[1], args[2], vector)
        return builder.load(address, align=array.dtype.bitwidth // 8)

    return Vec(array.dtype, lanes.value)(lanes, array, types.intp), codegen


@intrinsic
def store(typingctx, array, offset, vec):
    """Write a vector to a contiguous array, from element `offset` on."""

    def codegen(context, builder, sig, args):
        address = address_of(context, builder, array, args[0], args[1], args[2].type)
        builder.store(args[2], address, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vec), codegen


# Operands.  A recursion reads a series x and a matrix w, of which at least one is *laned*: its
# element is a vector with a number for each lane.  The element of a shared operand is one number.
# The role says which, and is known to the compiler.

BATCH, BANK = Static(1), Static(2)  # bit 0: the series is laned; bit 1: the matrix is


def _reader(bit):
    @intrinsic
    def read(typingctx, role, lanes, array, offset):
        """Element `offset` of an operand, as a vector."""

        def codegen(context, builder, sig, args):
            vector = context.get_value_type(sig.return_type)
            _, _, value, index = args
            if role.value & bit:
                index = builder.mul(index, index.type(lanes.value))
                address = address_of(context, builder, array, value, index, vector)
                return builder.load(address, align=array.dtype.bitwidth // 8)
            address = address_of(context, builder, array, value, index, vector.element)
            return spread(builder, builder.load(address), lanes.value)

        return Vec(array.dtype, lanes.value)(role, lanes, array, types.intp), codegen

    return read


def _adder(bit):
    @intrinsic
    def add(typingctx, role, array, offset, vec):
        """Add to element `offset` of an operand's gradient: the counterpart of reading it."""

        def codegen(context, builder, sig, args):
            _, value, index, vector = args
            align = array.dtype.bitwidth // 8
            if role.value & bit:
                index = builder.mul(index, index.type(vec.lanes))
            else:
                vector = reduced(builder, vector, builder.fadd)
            address = address_of(context, builder, array, value, index, vector.type)
            increased = builder.fadd(builder.load(address, align=align), vector)
            builder.store(increased, address, align=align)
            return context.get_dummy_value()

        return types.void(role, array, types.intp, vec), codegen

    return add


series_at, matrix_at = _reader(1), _reader(2)
add_to_series, add_to_matrix = _adder(1), _adder(2)


def _transposed_halves(builder, block):
    """Transpose two squares that lie side by side in the rows of `block`.

    Interleaving the first half of the rows with the second, log2(rows) times, does it.
    """
    half = len(block)
    first_quarters, second_quarters = (
        [start + i // 2 + 2 * half * (i % 2) for start in starts for i in range(half)]
        for starts in ((0, half), (half // 2, half + half // 2))
    )
    for _ in range(half.bit_length() - 1):
        pairs = zip(block[: half // 2], block[half // 2 :], strict=True)
        block = [
            builder.shuffle_vector(a, b, indices(order))
            for a, b in pairs
            for order in (first_quarters, second_quarters)
        ]
    return block


@intrinsic
def transpose(typingctx, tile, source, rows, first, column, target, offset, stride):
    """Turn rows into lanes, a square tile at a time.

    `target[offset + t * stride + l] = source[rows[first + l] + column + t]` for t, l < tile.
    The second half of the rows is loaded beside the first, which leaves squares of half the side,
    two by two.  CPUs are quickest at transposing within 16 bytes (see `blocks.tile_of`).
    """
    count, half = tile.value, tile.value // 2

    def codegen(context, builder, sig, args):
        _, source_value, rows_value, first_value, column_value, target_value, start, step = args
        vector = context.get_value_type(Vec(source.dtype, count))
        short = context.get_value_type(Vec(source.dtype, half))
        align = source.dtype.bitwidth // 8
        int64 = ir.IntType(64)
        begins = []
        for lane in range(count):
            index = builder.add(first_value, int64(lane))
            row = builder.load(address_of(context, builder, rows, rows_value, index, int64))
            begins.append(builder.add(row, column_value))
        for side in range(0, count, half):
            loaded = []
            for begin in begins:
                at = builder.add(begin, int64(side))
                address = address_of(context, builder, source, source_value, at, short)
                loaded.append(builder.load(address, align=align))
            block = [
                builder.shuffle_vector(low, high, indices(range(count)))
                for low, high in zip(loaded[:half], loaded[half:], strict=True)
            ]
            for vec in _transposed_halves(builder, block):
                address = address_of(context, builder, target, target_value, start, vector)
                builder.store(vec, address, align=align)
                start = builder.add(start, step)
        return context.get_dummy_value()

    integer = types.intp
    return (
        types.void(tile, source, rows, integer, integer, target, integer, integer),
        codegen,
    )


# Arithmetic beyond the operators.


@intrinsic
def maximum(typingctx, a, b):
    """The larger number of each lane."""

    def codegen(context, builder, sig, args):
        return larger_of(builder, *args)

    return a(a, a), codegen


@intrinsic
def minimum(typingctx, a, b):
    """The smaller number of each lane."""

    def codegen(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return a(a, a), codegen


@intrinsic
def absolute(typingctx, a):
    """The absolute value of each lane."""

    def codegen(context, builder, sig, args):
        return _call(builder, "fabs", args)

    return a(a), codegen


@intrinsic
def root(typingctx, a):
    """The square root of each lane."""

    def codegen(context, builder, sig, args):
        return _call(builder, "sqrt", args)

    return a(a), codegen


@intrinsic
def exponential(typingctx, a):
    """The exponential of each lane."""

    def codegen(context, builder, sig, args):
        return _call(builder, "exp", args)

    return a(a), codegen


@intrinsic
def shift_in(typingctx, vec, scalar):
    """Every lane takes the number of the lane before, the first one the scalar."""

    def codegen(context, builder, sig, args):
        order = indices([vec.lanes, *range(vec.lanes - 1)])
        return builder.shuffle_vector(args[0], spread(builder, args[1], vec.lanes), order)

    return vec(vec, vec.dtype), codegen


@intrinsic
def last_lane(typingctx, vec):
    """The number of the last lane."""

    def codegen(context, builder, sig, args):
        return builder.extract_element(args[0], _INT32(vec.lanes - 1))

    return vec.dtype(vec), codegen


# Masks.


@intrinsic
def where(typingctx, mask, a, b):
    """Per lane: `a` where the mask is set, else `b`."""

    def codegen(context, builder, sig, args):
        return builder.select(*args)

    return a(mask, a, a), codegen


@intrinsic
def counted(typingctx, counts, mask):
    """One more in the lanes where the mask is set."""

    def codegen(context, builder, sig, args):
        return builder.add(args[0], builder.zext(args[1], args[0].type))

    return counts(counts, mask), codegen


@intrinsic
def bits(typingctx, mask):
    """The mask as an integer, lane 0 in the lowest bit."""

    def codegen(context, builder, sig, args):
        packed = builder.bitcast(args[0], ir.IntType(mask.lanes))
        return packed if mask.lanes == 64 else builder.zext(packed, ir.IntType(64))

    return types.int64(mask), codegen
