"""Which numbers are computed with: finite ones whose products and sums stay finite.

The square of a float32 beyond 1e19 is infinite, and of infinite distances none is the smallest.  So
numbers are limited where they come in, and nothing else has to look for overflow.  In float64 the
product of three numbers at the limit is finite, summed over millions of cells.  In float32 it is
the product of two; what is computed from scores is in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LARGEST",
    "all_usable",
    "check_count",
    "check_flag",
    "check_numbers",
    "unit_of",
    "usable",
]

LARGEST = {4: 1e15, 8: 1e100}  # by bytes: of float32 and float64

# Elements checked at a time: few enough for the cache, enough to hide the cost of a Python loop.
BLOCK = 1 << 17


def check_count(value: Any, name: str, least: int = 1, below: int = 2**48) -> int:
    """An integer of at least `least` that can be a number of things."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= int(value) < below:
        wanted = "a positive integer" if least == 1 else f"an integer of at least {least}"
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return int(value)


def check_flag(value: Any, name: str) -> None:
    """A choice between yes and no."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def usable(values: NDArray[np.floating[Any]]) -> bool:
    """Whether all values are finite and within the limit of their dtype."""
    most = LARGEST[values.dtype.itemsize]
    if values.size <= BLOCK:
        return not values.size or bool(values.max() <= most and values.min() >= -most)
    # Blocks in memory order need no copy of strided arrays as a whole, and stay in the cache from
    # one reduction to the next.  The maximum of anything with NaN is NaN, which is not `<= most`.
    blocks: Any = np.nditer(
        values, flags=["external_loop", "buffered", "zerosize_ok"], buffersize=BLOCK
    )
    return all(block.max() <= most and block.min() >= -most for block in blocks)


def all_usable(arrays: Sequence[NDArray[np.floating[Any]]]) -> bool:
    """Whether all values of some arrays are usable; they have one dtype and about the same size.

    Small arrays are joined: to call NumPy for each takes longer than to look at its values.
    """
    step = max(1, BLOCK // max(1, arrays[0].size))
    return all(
        usable(np.concatenate([array.reshape(-1) for array in arrays[first : first + step]]))
        for first in range(0, len(arrays), step)
    )


def unit_of(values: NDArray[np.floating[Any]], axis: int | None = None) -> Any:
    """Powers of two, by which values can be divided without rounding to be at most 2."""
    largest = np.abs(values).max(axis=axis, initial=0.0)
    _, exponent = np.frexp(np.where(largest > 0, largest, 1.0))
    return np.ldexp(1.0, exponent - 1)


def check_numbers(values: NDArray[np.floating[Any]], name: str, place: str | None = None) -> None:
    """Raise a ValueError if some value is NaN, infinite or too large, and say which and where.

    Parameters
    ----------
    values : array of float32 or float64
    name : str
        What the message calls it.
    place : str, optional
        Says where, with braces for each part of an index; by default the index itself.
    """
    if usable(values):
        return
    most = LARGEST[values.dtype.itemsize]
    rows = np.atleast_1d(values)
    step = max(1, BLOCK // rows[:1].size)
    for start in range(0, len(rows), step):  # a mask of all values may not fit in memory
        block = rows[start : start + step]
        wrong = ~(np.abs(block) <= most)
        if wrong.any():
            break
    first, *others = (int(i) for i in np.unravel_index(wrong.argmax(), wrong.shape))
    value = block[(first, *others)]
    index = (start + first, *others)[: values.ndim]
    where = f" at {index if place is None else place.format(*index)}" if index else ""
    if np.isfinite(value):
        instead = "scale it, or use float64" if values.dtype.itemsize == 4 else "scale it"
        raise ValueError(
            f"{name} must be between -{most:.0e} and {most:.0e} in {values.dtype}, "
            f"but contains {value:.6g}{where}: {instead}"
        )
    what = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(f"{name} must be finite, but contains {what}{where}")
