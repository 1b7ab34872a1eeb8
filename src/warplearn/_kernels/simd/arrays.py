"""Arrays as kernels like them: flat, contiguous, starting on a cache line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj
from numpy.typing import NDArray

from warplearn._kernels.simd.compiling import inner
from warplearn._kernels.simd.numbers import greater

CACHE_LINE = 64  # bytes


def _allocated(context, builder, array_type, shape):
    """An array whose first element starts on a cache line, and its size in bytes."""
    sizes = cgutils.unpack_tuple(builder, shape) if array_type.ndim > 1 else [shape]
    kind = context.get_data_type(array_type.dtype)
    width = context.get_constant(types.intp, context.get_abi_sizeof(kind))
    strides: list[Any] = []
    size = width
    for count in reversed(sizes):
        strides.insert(0, size)
        size = builder.mul(size, count)
    line = context.get_constant(types.uint32, CACHE_LINE)
    block = context.nrt.meminfo_alloc_aligned(builder, size, line)
    array = arrayobj.make_array(array_type)(context, builder)
    data = builder.bitcast(context.nrt.meminfo_data(builder, block), kind.as_pointer())
    arrayobj.populate_array(array, data, sizes, strides, width, block)
    return array._getvalue(), data, size


def _allocation(shape, dtype):
    """The signature of a function that allocates an array."""
    if isinstance(shape, types.BaseTuple):
        counts, ndim = types.UniTuple(types.intp, len(shape)), len(shape)
    else:
        counts, ndim = types.intp, 1
    return types.Array(dtype.dtype, ndim, "C")(counts, dtype)


@intrinsic
def empty(typingctx, shape, dtype):
    """An uninitialized array that starts on a cache line; `dtype` may be an array of that dtype.

    (NumPy's function, and those below, would take the compiler much longer.)
    """
    signature = _allocation(shape, dtype)

    def codegen(context, builder, sig, args):
        return _allocated(context, builder, sig.return_type, args[0])[0]

    return signature, codegen


@intrinsic
def zeros(typingctx, shape, dtype):
    """An array of zeros that starts on a cache line; `dtype` may be an array of that dtype."""
    signature = _allocation(shape, dtype)

    def codegen(context, builder, sig, args):
        array, data, size = _allocated(context, builder, sig.return_type, args[0])
        cgutils.memset(builder, data, size, 0)
        return array

    return signature, codegen


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Zeros that start on a cache line: a vector that lies across two lines is slow to load."""
    size, width = int(np.prod(shape)), np.dtype(dtype).itemsize
    raw = np.zeros(size + CACHE_LINE // width, dtype)
    start = (-raw.ctypes.data % CACHE_LINE) // width
    return raw[start : start + size].reshape(shape)


@inner
def fill(array, value):
    """Set all elements (an assignment to a slice would take the compiler much longer)."""
    for i in range(len(array)):
        array[i] = value


@inner
def largest(array):
    """The largest of some integers (the method of arrays would take the compiler longer)."""
    most = array[0]
    for i in range(1, len(array)):
        most = greater(most, array[i])
    return most


def flat(array: NDArray[Any]) -> NDArray[Any]:
    """All elements in one dimension, without a copy where possible.

    Kernels only read their operands.  Numba gives read-only arrays another type and would compile
    for them again, so a read-only array is presented as a writable one.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    if not flat.flags.writeable:
        interface = {**flat.__array_interface__, "data": (flat.ctypes.data, False)}
        flat = np.asarray(SimpleNamespace(__array_interface__=interface, keep=flat))
    return flat
