"""The Sakoe-Chiba band, as users give it.

A band keeps warping paths near the line between the corners of a grid.  On a grid of k rows and m
columns, counted from 0, a band of radius r holds the cells (i, j) with

    |i (m - 1) - j (k - 1)| <= r (min(k, m) - 1),

those at most r cells from that line, measured along the longer side; on a square grid,
`|i - j| <= r`.  `band=10` is a radius of ten cells, `band=0.1` or `band="10%"` a tenth of the
longer side, and `band=None` no band at all.  A narrow band on a long grid of few columns can cut
every path: such a band is refused.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.recursion.grid import Band, leaves_no_path, row_limits
from warplearn.elastic.extent import Extent, ExtentLike

__all__ = ["Band", "BandLike", "band_mask", "cells_of_grids", "narrowest", "resolve_band"]

_LONGEST = 2**31
BandLike: TypeAlias = ExtentLike | None


def band_of(band: BandLike, longest: int) -> Band | None:
    """The band that a user means on grids with sides of up to `longest` cells.

    A wider band than that holds all cells, and is cut to it.
    """
    if band is None:
        return None
    cells, share = Extent.of(band, "band")
    return Band(min(cells, longest), min(share, 1.0))


def resolve_band(
    band: BandLike, rows: NDArray[np.int64], columns: NDArray[np.int64], name: str = "X"
) -> Band | None:
    """The band for kernels, once every grid is known to have a path inside it.

    Parameters
    ----------
    rows, columns : arrays
        The lengths that occur; every row count meets every column count.
    name : str
        What errors call the collection that `rows` belongs to.
    """
    if band is None:
        return None
    resolved = band_of(band, int(max(rows.max(), columns.max())))
    for m in np.unique(columns):
        for k in np.unique(rows):
            if leaves_no_path(resolved, k, m):
                case = int(np.flatnonzero(rows == k)[0])
                raise ValueError(
                    f"band={band!r} leaves no warping path on the {k} x {m} grid of "
                    f"{name}[{case}]; "
                    f"the narrowest band that leaves one is band={narrowest(int(k), int(m))}"
                )
    return resolved


def narrowest(k: int, m: int) -> int:
    """The smallest radius in cells with a path on a k x m grid."""
    low, high = 0, max(k, m)
    while low < high:
        middle = (low + high) // 2
        if leaves_no_path(Band(middle), k, m):
            low = middle + 1
        else:
            high = middle
    return low


def cells_of_grids(rows: NDArray[np.int64], columns: NDArray[np.int64], band: Band | None) -> int:
    """How many cells the grids of all pairs have, every row count with every column count."""
    total = 0
    for k, k_times in zip(*np.unique(rows, return_counts=True), strict=True):
        low, high = np.empty(k, np.int64), np.empty(k, np.int64)
        for m, m_times in zip(*np.unique(columns, return_counts=True), strict=True):
            cells = k * m
            if band is not None:
                row_limits(band, k, m, low, high)
                cells = (high - low + 1).sum()
            total += int(k_times) * int(m_times) * int(cells)
    return total


def band_mask(k: int, m: int, band: BandLike) -> NDArray[np.bool_]:
    """Which cells of a k x m grid a band holds, as an array to look at.

    Examples
    --------
    >>> band_mask(4, 4, 1).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1]])
    """
    for name, size in (("k", k), ("m", m)):
        whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        if not whole or not 1 <= size <= _LONGEST:
            raise ValueError(f"{name} must be an integer from 1 to {_LONGEST}, got {size!r}")
    resolved = band_of(band, max(k, m))
    if resolved is None:
        return np.ones((k, m), dtype=bool)
    low, high = np.empty(k, np.int64), np.empty(k, np.int64)
    row_limits(resolved, k, m, low, high)
    column = np.arange(m)
    return (low[:, None] <= column) & (column <= high[:, None])
