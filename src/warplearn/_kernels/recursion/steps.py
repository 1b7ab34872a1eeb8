"""Recorded steps of best paths, and sets of lanes.

A path comes to a cell from the row above or from the left, and if from above, diagonally or
straight.  The *step* of a cell records this with two bits a lane.  Ties prefer the diagonal, then
straight up.

A set of lanes is an integer with one bit a lane.  Where masks have registers of their own
(AVX-512), bit l is lane l, and a step is two such integers, one after the other.  AVX2 has an
instruction that takes 32 bits out of a register, but none that puts many lanes into it in their
order.  There the comparisons *above* and *diagonal* of a register alternate in its halves of
elements, and those of two registers are packed into one.  So the bits of above and diagonal
alternate, and the lanes are permuted.  The bits of a set then stand in this order, too: `bit_of` is
the place of a lane.  Wider elements fill two bits each.

Functions take a vector, `like`, for its type alone.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from warplearn._kernels.simd.compiling import inlined
from warplearn._kernels.simd.target import TARGET
from warplearn._kernels.simd.vector import Vec, address_of, indices, joined, maximum, part_of

_BYTE, _SHORT, _INT32, _INT64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_OWN_BITS = 0x5555555555555555  # of a packed step: those of `above`, and shifted of `diagonal`


def _per_register(like: Vec) -> int:
    """How many lanes a register has."""
    return 8 * TARGET.register_bytes // like.dtype.bitwidth


def _registers(like: Vec) -> int:
    """How many registers of AVX2 a vector fills if its steps are packed, else 0."""
    count = like.lanes // _per_register(like)
    return count if TARGET.packs_masks and count in (2, 4) else 0


def _step_bytes(like: Vec) -> int:
    return 2 * _registers(like) or 2 * like.lanes // 8


def _bit_of(like: Vec, lane: int) -> int:
    """The place of a lane in a set."""
    if not _registers(like):
        return lane
    per_register = _per_register(like)
    register, element = divmod(lane, per_register)
    pair, side = divmod(register, 2)
    half, place = divmod(element, per_register // 2)
    return 32 * pair + 16 * half + 8 * side + 16 // per_register * place


def _all_bits(like: Vec) -> int:
    """The set of all lanes."""
    count = _registers(like)
    return _OWN_BITS & (1 << 16 * count) - 1 if count else (1 << like.lanes) - 1


@intrinsic
def step_bytes(typingctx, like):
    """How many bytes the step of a cell takes up."""

    def codegen(context, builder, sig, args):
        return context.get_constant(types.intp, _step_bytes(like))

    return types.intp(like), codegen


@intrinsic
def bit_of(typingctx, like, lane):
    """The set of one lane."""

    def codegen(context, builder, sig, args):
        table = [1 << _bit_of(like, lane) for lane in range(like.lanes)]
        sets = ir.Constant(ir.VectorType(_INT64, like.lanes), [_signed(bits) for bits in table])
        return builder.extract_element(sets, args[1])

    return types.int64(like, types.intp), codegen


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >= 1 << 63 else bits


@intrinsic
def places_of(typingctx, like):
    """Where the lanes stand in a set, as `in_lanes` wants it; to be looked up before a loop.

    For a packed set these are the distances of the bits from the signs of their elements.
    """
    if not _registers(like):
        return types.none(like), lambda context, builder, sig, args: context.get_dummy_value()
    width, per_register = like.dtype.bitwidth, _per_register(like)
    distances = [width - 1 - _bit_of(like, lane) % width for lane in range(like.lanes)]

    def codegen(context, builder, sig, args):
        kind = ir.VectorType(ir.IntType(width), per_register)
        # An empty piece of assembly hides that they are constants, which the compiler would read
        # again, in two instructions, wherever they are used.
        hide = ir.InlineAsm(ir.FunctionType(kind, [kind]), "", "=x,0")
        registers = [
            ir.Constant(kind, distances[first : first + per_register])
            for first in range(0, like.lanes, per_register)
        ]
        return joined(builder, [builder.call(hide, [register]) for register in registers])

    return Vec(types.Integer.from_bitwidth(width), like.lanes)(like), codegen


@intrinsic
def in_lanes(typingctx, places, lane_set, vec):
    """The numbers of the lanes in a set, and 0 in others; `places` as from `places_of`."""

    def codegen(context, builder, sig, args):
        distances, bits, values = args
        if _registers(vec):
            return _chosen(builder, vec, distances, bits, values)
        if vec.lanes < 64:
            bits = builder.trunc(bits, ir.IntType(vec.lanes))
        mask = builder.bitcast(bits, ir.VectorType(ir.IntType(1), vec.lanes))
        return builder.select(mask, values, ir.Constant(values.type, None))

    return vec(places, types.int64, vec), codegen


def _chosen(builder, kind, distances, bits, values):
    """Numbers in the lanes of a packed set, a register at a time.

    The bit of a lane becomes the sign of its element, by which an instruction of AVX2 chooses.
    """
    width, per_register = kind.dtype.bitwidth, _per_register(kind)
    integer = ir.IntType(width)
    words = [builder.trunc(builder.lshr(bits, _INT64(at)), integer) for at in range(0, 64, width)]
    signs = ir.Constant(distances.type, ir.Undefined)
    for lane in range(kind.lanes):
        word = words[_bit_of(kind, lane) // width]
        signs = builder.insert_element(signs, word, _INT32(lane))
    signs = builder.bitcast(builder.shl(signs, distances), values.type)
    zeros = ir.Constant(ir.VectorType(values.type.element, per_register), None)
    choose = f"avx.blendv.p{'s' if width == 32 else 'd'}.256"
    parts = []
    for first in range(0, kind.lanes, per_register):
        value, sign = (part_of(builder, each, first, per_register) for each in (values, signs))
        parts.append(_call(builder, choose, zeros.type, [zeros, value, sign]))
    return joined(builder, parts)


def _integer_at(context, builder, array_type, array, offset, bits):
    return address_of(context, builder, array_type, array, offset, ir.IntType(bits))


@intrinsic
def step_at(typingctx, like, steps, cell):
    """The lanes that come to a cell from the row above; and those for which this is diagonal.

    Only the bits of lanes have a meaning, so these are for `&` with a set; of a packed step, others
    are set, too.
    """

    def codegen(context, builder, sig, args):
        _, array, index = args
        size = _step_bytes(like)
        offset = builder.mul(index, index.type(size))
        address = _integer_at(context, builder, steps, array, offset, 8 * size)
        count = _registers(like)
        if count:
            word = builder.load(address, align=1)
            word = builder.zext(word, _INT64) if size < 8 else word
            sets = [builder.lshr(word, _INT64(at)) for at in (0, 1)]
        else:
            integer = ir.IntType(like.lanes)
            address = builder.bitcast(address, integer.as_pointer())
            sets = [
                builder.load(builder.gep(address, [_INT32(place)]), align=1) for place in (0, 1)
            ]
            if like.lanes < 64:
                sets = [builder.zext(each, _INT64) for each in sets]
        return context.make_tuple(builder, sig.return_type, sets)

    return types.UniTuple(types.int64, 2)(like, steps, types.intp), codegen


def _setter(part):
    @intrinsic
    def set_all(typingctx, like, steps, cell, value):
        """Let all lanes, or none, come to a cell in one way."""

        def codegen(context, builder, sig, args):
            _, array, index, value = args
            size, count = _step_bytes(like), _registers(like)
            offset = builder.mul(index, index.type(size))
            if count:
                address = _integer_at(context, builder, steps, array, offset, 8 * size)
                word = builder.load(address, align=1)
                own = word.type(_signed(_all_bits(like) << part))
                filled = builder.or_(word, own)
                cleared = builder.and_(word, builder.not_(own))
                builder.store(builder.select(value, filled, cleared), address, align=1)
            else:
                offset = builder.add(offset, offset.type(part * size // 2))
                address = _integer_at(context, builder, steps, array, offset, like.lanes)
                integer = ir.IntType(like.lanes)
                builder.store(builder.select(value, integer(-1), integer(0)), address, align=1)
            return context.get_dummy_value()

        return types.void(like, steps, types.intp, types.boolean), codegen

    return set_all


set_above, set_diagonal = _setter(0), _setter(1)


@intrinsic
def _store_step(typingctx, steps, cell, best, above, left, diagonal, up):
    """Write where above >= left, and where diagonal >= up."""
    count, size = _registers(above), _step_bytes(above)

    def codegen(context, builder, sig, args):
        array, index, best, over, left, diagonal, up = args
        offset = builder.mul(index, index.type(size))
        if count:
            integer, words = _INT32, _packed(builder, above, best, over, diagonal)
        else:
            integer = ir.IntType(above.lanes)
            masks = [builder.fcmp_ordered(">=", *pair) for pair in ((over, left), (diagonal, up))]
            words = [builder.bitcast(mask, integer) for mask in masks]
        address = address_of(context, builder, steps, array, offset, integer)
        for place, word in enumerate(words):
            builder.store(word, builder.gep(address, [_INT32(place)]), align=1)
        return context.get_dummy_value()

    return types.void(steps, types.intp, above, above, above, above, above), codegen


def _packed(builder, kind, best, above, diagonal):
    """The bits of two masks, 32 from each two registers of both.

    The larger of two numbers is compared with one of them, bit by bit: integers are compared beside
    the arithmetic, which keeps the units for floating-point numbers busy.  Equal numbers have equal
    bits here, but for 0 and -0, of which the second comes from an underflow only: such a tie may
    prefer another way.
    """
    width = kind.dtype.bitwidth
    integers = ir.VectorType(ir.IntType(width), kind.lanes)
    bits = [builder.bitcast(value, integers) for value in (best, above, diagonal)]
    masks = [builder.sext(builder.icmp_signed("==", *bits[i : i + 2]), integers) for i in (0, 1)]
    shorts, per_register = ir.VectorType(_SHORT, 16), _per_register(kind)
    alternate = indices([i + 16 * (i % 2) for i in range(16)])
    parts = []
    for first in range(0, kind.lanes, per_register):
        both = [part_of(builder, mask, first, per_register) for mask in masks]
        both = [builder.bitcast(part, shorts) for part in both]
        parts.append(builder.shuffle_vector(*both, alternate))
    words = []
    for pair in zip(parts[::2], parts[1::2], strict=True):
        packed = _call(builder, "avx2.packsswb", ir.VectorType(_BYTE, 32), pair)
        words.append(_call(builder, "avx2.pmovmskb", _INT32, [packed]))
    return words


def _call(builder, name, result, operands):
    """Call an instruction of AVX2."""
    kind = ir.FunctionType(result, [operand.type for operand in operands])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.{name}")
    return builder.call(function, operands)


@inlined
def record_step(steps, cell, up, diagonal, left):
    """Note which neighbour the best path to a cell comes from."""
    above = maximum(up, diagonal)
    _store_step(steps, cell, maximum(above, left), above, left, diagonal, up)
