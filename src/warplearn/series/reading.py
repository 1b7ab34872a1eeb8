"""Chunks of series, from a sequence or an iterator, as a source of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.convert import ValuesAndLengths, convert, empty_error
from warplearn.series.sources import BlockSource, Reader

__all__ = ["blocks_of"]


def blocks_of(parts: Iterable[Any], layout: str | None) -> tuple[BlockSource, NDArray[np.int64]]:
    """A source of the chunks, and the lengths of all series; each chunk is read once."""
    folder = None
    readers: list[Reader] = []
    lengths: list[NDArray[np.int64]] = []
    channels: int | None = None
    dtypes = set()
    if not isinstance(parts, Sequence):
        folder = TemporaryDirectory(prefix="warplearn-chunks-")
    for number, part in enumerate(_alone(parts)):
        read = partial(_read, part, layout, number)
        values, own = read()
        if channels not in (None, values.shape[2]):
            raise ValueError(
                f"chunk {number} has {values.shape[2]} channel(s), but chunk 0 has {channels}"
            )
        channels = values.shape[2]
        readers.append(read if folder is None else _spooled(folder, number, values, own))
        lengths.append(own)
        dtypes.add(values.dtype)
    if channels is None:
        raise empty_error("chunks", "sample", (0,))
    every = np.concatenate(lengths)
    dtype = np.result_type(*dtypes)
    sizes = [len(own) for own in lengths]
    return BlockSource(readers, sizes, every, channels, dtype, keep=folder), every


def _alone(parts: Iterable[Any]) -> Iterator[Any]:
    """The parts, if they are no single series or array of them."""
    if isinstance(parts, (str, bytes, np.ndarray)) or not isinstance(parts, Iterable):
        raise TypeError(
            f"parts must be a sequence or an iterator of chunks, got {type(parts).__name__}"
        )
    return iter(parts)


def _read(part: Any, layout: str | None, number: int) -> ValuesAndLengths:
    if callable(part):
        try:
            part = part()
        except Exception as error:  # of any kind: a reader is a user's
            raise ValueError(f"chunk {number} could not be read: {error}") from error
    if hasattr(part, "lengths") and hasattr(part, "values"):  # a SeriesCollection
        return part.values, part.lengths
    return convert(part, layout, f"chunk {number}")


def _spooled(
    folder: TemporaryDirectory[str], number: int, values: Any, lengths: NDArray[np.int64]
) -> Reader:
    """A reader of what was written to a file of the folder."""
    file = Path(folder.name) / f"{number}.npy"
    np.save(file, values)
    return partial(_mapped, file, lengths)


def _mapped(file: Path, lengths: NDArray[np.int64]) -> ValuesAndLengths:
    return np.load(file, mmap_mode="r"), lengths
