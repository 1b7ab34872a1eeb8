"""Arrays as kernels like them: flat, contiguous, starting on a cache line."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.simd.compiling import inner

CACHE_LINE = 64  # bytes


@inner
def aligned_empty(size, like):
    """An uninitialized array, of the dtype of another, that starts on a cache line."""
    width = like.itemsize
    raw = np.empty(size + CACHE_LINE // width, like.dtype)
    start = (-raw.ctypes.data % CACHE_LINE) // width
    return raw[start : start + size]


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
        most = max(most, array[i])
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
