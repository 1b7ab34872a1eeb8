"""Where the values of a collection are: in an array, or in blocks that are read when needed.

A source has a shape (cases, time, channels), a dtype, and `take`, which returns the values of some
cases as an array.  An array may be a memory map.  Blocks are read one at a time, are checked
whenever they are read, and a few of them are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from warplearn.series.convert import FloatArray, ValuesAndLengths

__all__ = ["CACHE_BYTES", "ArraySource", "BlockSource", "Index", "Reader", "Source"]

Index: TypeAlias = slice | NDArray[Any]

# Reads one block: its values (cases, time, channels) and lengths.
Reader: TypeAlias = Callable[[], ValuesAndLengths]

# Of blocks that are kept in memory.  At least two are kept, whatever their size.
CACHE_BYTES = 2**26

# Of a memory map, what is shuffled as one block.
_MAPPED_BLOCK_BYTES = 2**23


class Source(Protocol):
    """The interface of a source."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(cases, time, channels)."""
        ...

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """float32 or float64."""
        ...

    @property
    def blocks(self) -> NDArray[np.int64] | None:
        """The first case of each block, and the number of cases; None: all cases are as near."""
        ...

    @property
    def kept_blocks(self) -> int:
        """How many blocks are kept in memory, and can be shuffled together."""
        ...

    @property
    def chunks(self) -> NDArray[np.int64] | None:
        """The first case of each chunk that a user gave, and the number of cases; None: no chunks.

        Error messages name these.
        """
        ...

    def take(self, index: Index) -> FloatArray:
        """The values of some cases; the time axis reaches at least to the end of the longest."""
        ...


@final
class ArraySource:
    """Values in an array; those of a memory map are near each other in blocks."""

    chunks = None

    def __init__(self, values: FloatArray, *, mapped: bool = False) -> None:
        self._values, self._mapped = values, mapped

    @property
    def shape(self) -> tuple[int, ...]:
        """(cases, time, channels)."""
        return self._values.shape

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """float32 or float64."""
        return self._values.dtype

    @property
    def blocks(self) -> NDArray[np.int64] | None:
        """The first case of each block of a memory map, and the number of cases."""
        if not self._mapped:
            return None
        cases, time, channels = self.shape
        step = max(1, _MAPPED_BLOCK_BYTES // (time * channels * self.dtype.itemsize))
        return np.append(np.arange(0, cases, step), cases)

    @property
    def kept_blocks(self) -> int:
        """Blocks that are shuffled together."""
        return CACHE_BYTES // _MAPPED_BLOCK_BYTES

    def take(self, index: Index) -> FloatArray:
        """The values of some cases."""
        return self._values[index]


@final
class BlockSource:
    """Values in blocks that are read when they are needed.

    Parameters
    ----------
    readers : sequence of functions
        Each reads one block.
    sizes : sequence of int
        Cases in each block.
    lengths : array (cases,)
        Of the series of all blocks.
    n_channels : int
    dtype : dtype
    keep : any
        What the readers need to stay alive, such as a temporary folder.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        sizes: Sequence[int],
        lengths: NDArray[np.int64],
        n_channels: int,
        dtype: np.dtype[np.floating[Any]],
        keep: Any = None,
    ) -> None:
        self._readers, self._lengths, self._keep = readers, lengths, keep
        self.blocks = self.chunks = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.shape = (len(lengths), int(lengths.max()), n_channels)
        self.dtype = dtype
        self._remember()

    def _remember(self) -> None:
        largest = int(np.diff(self.blocks).max()) * self.shape[1] * self.shape[2]
        count = max(2, CACHE_BYTES // (largest * self.dtype.itemsize))
        self.kept_blocks = max(1, count // 2)  # a batch may need cases of two groups of blocks
        self._block = lru_cache(maxsize=count)(self._read)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_block"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._remember()

    def _read(self, number: int) -> FloatArray:
        values, lengths = self._readers[number]()
        first, end = self.blocks[number : number + 2]
        if not np.array_equal(lengths, self._lengths[first:end]) or (
            values.shape[2] != self.shape[2]
        ):
            raise ValueError(f"chunk {number} has changed since it was first read")
        return values.astype(self.dtype, copy=False)

    def take(self, index: Index) -> FloatArray:
        """The values of some cases, read from their blocks."""
        n = self.shape[0]
        if isinstance(index, slice):
            start, stop, step = index.indices(n)
            number = int(np.searchsorted(self.blocks, start, side="right")) - 1
            if step == 1 and start < stop <= self.blocks[min(number + 1, len(self._readers))]:
                first = self.blocks[number]
                return self._block(number)[start - first : stop - first]
            index = np.arange(start, stop, step)
        cases = (
            np.flatnonzero(index) if index.dtype == bool else np.where(index < 0, index + n, index)
        )
        if len(cases) and not (cases.min() >= 0 and cases.max() < n):
            raise IndexError(f"index must be between 0 and {n - 1}, got {index!r}")
        longest = int(self._lengths[cases].max(initial=0))
        values = np.zeros((len(cases), longest, self.shape[2]), self.dtype)
        block_of = np.searchsorted(self.blocks, cases, side="right") - 1
        for number in np.unique(block_of):
            own = np.flatnonzero(block_of == number)
            block = self._block(int(number))[:, :longest]
            values[own, : block.shape[1]] = block[cases[own] - self.blocks[number]]
        return values
