"""Readers of NumPy's formats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.steps import check_choices

from .assembling import StrPath, check_label, cut, stem
from .dataset import Dataset, MalformedFileError

_BLOCK_BYTES = 2**24  # of what is read or checked at a time


def read_npz(file: StrPath, *, missing: str = "error") -> Dataset:
    """Read an archive of NumPy arrays: `X`, (cases, time) or (cases, channels, time), and `y`.

    Trailing NaN make a series shorter.  Pickled objects are not read.

    Parameters
    ----------
    file : path
    missing : {"error", "interpolate"}, default="error"
        What to do with values that are missing inside a series.
    """
    check_choices(None, missing)
    path = Path(file)
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            X = np.asarray(arrays["X"])
            y = np.asarray(arrays["y"]) if "y" in arrays else np.array([], dtype=str)
    except FileNotFoundError:
        raise
    except MemoryError as error:  # which a small file that is packed well may ask for
        problem = f"there is not enough memory for its arrays: {error}"
        raise MalformedFileError(path, None, problem) from error
    except Exception as error:  # of many kinds: NumPy's, the zip module's, the decompressor's
        raise MalformedFileError(path, None, f"not an archive with X: {error}") from error
    if X.ndim == 2:
        X = X[:, None]
    if X.ndim != 3 or 0 in X.shape or X.dtype.kind not in "fiub":
        problem = f"X must be numbers (cases, channels, time), got {X.dtype} of shape {X.shape}"
        raise MalformedFileError(path, None, problem)
    if y.ndim != 1 or len(y) not in (0, len(X)) or y.dtype.kind not in "iufbUS":
        problem = f"y must be {len(X)} labels, got {y.dtype} of shape {y.shape}"
        raise MalformedFileError(path, None, problem)
    with np.errstate(over="ignore"):
        small = X.dtype.kind == "f" and X.dtype.itemsize <= 4
        dtype = np.float32 if small else np.float64
        values: NDArray[np.floating[Any]] = X.astype(dtype, copy=False)
    if y.dtype.kind == "S":
        try:
            y = np.char.decode(y, "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedFileError(path, None, f"y is not UTF-8 text: {error}") from error
    if y.dtype.kind == "U" and y.nbytes:
        points = np.ascontiguousarray(y).view(y.dtype.str[0] + "u4")
        if points.max() > sys.maxunicode:
            problem = f"y holds damaged text: {points.max():#x} is no character"
            raise MalformedFileError(path, None, problem)
    for case, label in enumerate(y):
        check_label(path, None, f"case {case}: ", label)
    lengths = _cut_in_place(path, values, missing)
    try:
        series = SeriesCollection(values.swapaxes(1, 2), lengths)
    except ValueError as error:
        raise MalformedFileError(path, None, str(error)) from error
    return Dataset(series, y, stem(path), str(path))


def _cut_in_place(path: Path, values: NDArray[Any], missing: str) -> NDArray[np.int64]:
    """Put zeros in the place of the padding of series (cases, channels, time); their lengths."""
    lengths = np.full(len(values), values.shape[2])
    step = max(1, _BLOCK_BYTES // values[0].nbytes)
    for start in range(0, len(values), step):
        finite = np.isfinite(values[start : start + step]).all(axis=(1, 2))
        for case in start + np.flatnonzero(~finite):
            kept = cut(path, None, f"case {case}: ", values[case], missing)
            lengths[case] = kept.shape[1]
            values[case, :, : lengths[case]] = kept
            values[case, :, lengths[case] :] = 0
    return lengths


def read_npy(file: StrPath) -> Dataset:
    """Read an array (cases, time) or (cases, channels, time) without labels, as a memory map.

    Series are read when they are needed.  They must be finite.
    """
    path = Path(file)
    try:
        X = np.lib.format.open_memmap(path, mode="r")  # an archive of arrays is not one
    except FileNotFoundError:
        raise
    except Exception as error:
        raise MalformedFileError(path, None, f"not an array: {error}") from error
    if X.ndim not in (2, 3) or 0 in X.shape or X.dtype.kind not in "fiub":
        problem = f"must be numbers (cases, channels, time), got {X.dtype} of shape {X.shape}"
        raise MalformedFileError(path, None, problem)
    try:
        if X.dtype in (np.float32, np.float64):
            series = SeriesCollection.of(X)
        else:  # to be converted, so not all at once
            step = max(1, _BLOCK_BYTES // X[0].nbytes)
            parts = [X[start : start + step] for start in range(0, len(X), step)]
            series = SeriesCollection.chunks(parts)
    except ValueError as error:
        raise MalformedFileError(path, None, str(error)) from error
    return Dataset(series, np.array([], dtype=str), stem(path), str(path))
