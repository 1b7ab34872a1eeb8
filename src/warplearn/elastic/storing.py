"""Matrices of distances that do not fit in memory, written to a file block by block.

Beside the file, a second one lists the blocks that are finished, so that the same call goes on
where an earlier one was stopped.
"""

from __future__ import annotations

import json
import sys
from hashlib import blake2b
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.elastic.warping import rectangle
from warplearn.registry import choose
from warplearn.series.chunks import each
from warplearn.series.collection import SeriesCollection, common_dtype

_BLOCK_BYTES = 2**26


def save_pairwise_dtw(
    file: str | Path,
    X: Any,
    Y: Any = None,
    band: BandLike = None,
    cost: Any = "squared",
    *,
    rows: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Any:
    """Dynamic time warping distances of all pairs, written to a file.

    Blocks of rows are computed one after the other.  Stopped in whatever way, the same call goes
    on with the first block that is not finished; which are finished is in a file beside the matrix,
    whose name ends in `.blocks`.

    Parameters
    ----------
    file : path
        Ends in `.npy`, or in `.zarr` if the package zarr is installed.
    X, Y, band, cost, n_jobs
        As for `pairwise_dtw`.  Without Y, only one half is computed if the cost is symmetric.
    rows : int, optional
        Rows a block; by default as many as fit in 64 MiB.
    verbose : int, default=0
        1 shows on standard error how many blocks are finished.

    Returns
    -------
    array of shape (len(X), len(Y))
        The file as a memory map, or the zarr array.

    See Also
    --------
    pairwise_dtw_blocks : the same block by block, for other uses.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> X = np.random.default_rng(0).normal(size=(50, 20))
    >>> with TemporaryDirectory() as folder:
    ...     save_pairwise_dtw(f"{folder}/distances.npy", X, rows=20).shape
    (50, 50)
    """
    path = Path(file)
    opened = choose(_FORMATS, path.suffix, "the suffix of file")
    local, traits = resolve_distance(cost)
    first = SeriesCollection.of(X)
    second = first if Y is None else SeriesCollection.of(Y, name="Y")
    resolve_band(band, first.lengths, second.lengths)
    half = Y is None and traits.symmetric
    dtype, shape = common_dtype(first, second), (len(first), len(second))
    if rows is None:
        rows = max(1, _BLOCK_BYTES // (shape[1] * dtype.itemsize))
    elif not isinstance(rows, Integral) or rows < 1:
        raise ValueError(f"rows must be a positive integer, got {rows!r}")
    ledger = _Ledger(
        path, {"shape": shape, "rows": int(rows), "band": str(band), "cost": repr(local),
               "series": [_digest(first), _digest(second) if Y is not None else None]},
    )  # fmt: skip
    matrix = opened(path, shape, dtype, rows, bool(ledger.done))
    blocks = range(0, shape[0], rows)
    for number, start in enumerate(blocks):
        if number not in ledger.done:
            block = slice(start, min(start + rows, shape[0]))
            others = np.arange(start, shape[1]) if half else None
            distances = rectangle(local, traits, first[block], second, band, n_jobs, others)
            matrix[block, start if half else 0 :] = distances
            if half:
                matrix[start:, block] = distances.T
            getattr(matrix, "flush", lambda: None)()
            ledger.add(number)
        if verbose:
            print(f"\rblock {number + 1} of {len(blocks)}", end="", file=sys.stderr, flush=True)
    if verbose:
        print(file=sys.stderr)
    return matrix


def _digest(X: SeriesCollection) -> str:
    """A fingerprint of all series."""
    digest = blake2b(X.lengths.tobytes(), digest_size=16)
    for part in each(lambda some: some.values, X):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _open_npy(path: Path, shape: Any, dtype: Any, rows: int, goes_on: bool) -> Any:
    if goes_on:
        return np.lib.format.open_memmap(path, mode="r+")
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)


def _open_zarr(path: Path, shape: Any, dtype: Any, rows: int, goes_on: bool) -> Any:
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "zarr is missing, which writes .zarr; run: pip install zarr"
        ) from error
    chunks = tuple(min(rows, size) for size in shape)
    mode = "r+" if goes_on else "w"
    return zarr.open_array(str(path), mode=mode, shape=shape, dtype=dtype, chunks=chunks)


_FORMATS = {".npy": _open_npy, ".zarr": _open_zarr}


class _Ledger:
    """The file that lists finished blocks.

    Parameters
    ----------
    path : Path
        Of the matrix.
    header : dict
        What the matrix is of; a file that was begun for another one is refused.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._path = path.with_name(path.name + ".blocks")
        self.done: set[int] = set()
        text = json.dumps(header)
        lines = self._lines()
        if path.exists() and not lines:
            raise ValueError(f"file {str(path)!r} is there already, and not a matrix to go on with")
        if lines and lines[0] != text:
            raise ValueError(
                f"file {str(path)!r} was begun with other series or parameters; remove it and "
                f"{self._path.name} to begin again"
            )
        self.done = {int(line) for line in lines[1:]} if path.exists() else set()
        lines = [text, *map(str, sorted(self.done))]
        self._path.write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def _lines(self) -> list[str]:
        """Whole lines; a torn one at the end is not counted."""
        if not self._path.exists():
            return []
        return self._path.read_text("utf-8").split("\n")[:-1]

    def add(self, number: int) -> None:
        """Note that a block is finished."""
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(f"{number}\n")
