"""Data sets of what readers found in a file: padding is cut off, labels become numbers."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.steps import interpolated

from .columns import MISSING
from .dataset import Dataset, MalformedFileError

StrPath: TypeAlias = str | PathLike[str]


def as_dataset(path: Path, series: list[NDArray[Any]], y: NDArray[Any]) -> Dataset:
    """A data set of series (channels, time), named after the file they are from."""
    if not series:
        raise MalformedFileError(path, None, "there are no series in it")
    try:
        X = SeriesCollection.of(series)
    except ValueError as error:
        raise MalformedFileError(path, None, str(error)) from error
    return Dataset(X, y, stem(path), str(path))


def labels_of(labels: list[str]) -> NDArray[Any]:
    """Whole numbers as integers, however they are written, and else the text itself."""
    text = "".join(labels)
    if "_" in text or not text.isascii():  # Python reads 1_0 as 10, and digits of any script
        return np.array(labels, dtype=str)
    try:
        numbers = np.array([float(label) for label in labels])
    except ValueError:
        return np.array(labels, dtype=str)
    whole = np.abs(numbers) < 2**53  # not NaN either
    whole[whole] = numbers[whole] == np.round(numbers[whole])
    return numbers.astype(np.int64) if whole.all() else np.array(labels, dtype=str)


def check_label(path: Path, line: int | None, place: str, label: Any) -> None:
    """Refuse what stands for a label that is not there, in a file of any kind."""
    text = str(label).strip()
    if text.lower() in MISSING:
        raise MalformedFileError(path, line, f"{place}the label is missing")
    if isinstance(label, (float, np.floating)) and np.isinf(label):
        raise MalformedFileError(path, line, f"{place}the label is infinite")
    if "\0" in text:  # NumPy would cut it off
        raise MalformedFileError(path, line, f"{place}the label {label!r} contains a byte 0")


def cut(
    path: Path, line: int | None, place: str, channels: Any, missing: str = "error"
) -> NDArray[Any]:
    """Stack channels, (channels, time), without padding, and with missing values filled in."""
    if len({len(channel) for channel in channels}) > 1:
        counts = sorted({len(channel) for channel in channels})
        problem = f"{place}the channels differ in length: {counts}"
        raise MalformedFileError(path, line, problem)
    values = np.stack(list(channels))
    present = ~np.isnan(values).all(axis=0)
    length = len(present) - int(present[::-1].argmax()) if present.any() else 0
    if length == 0:
        raise MalformedFileError(path, line, f"{place}the series is empty")
    values = values[:, :length]
    if missing == "interpolate" and np.isnan(values).any():
        try:
            values = interpolated(values.T, np.arange(length), f"{place}the series").T
        except ValueError as error:
            raise MalformedFileError(path, line, str(error)) from error
    wrong = ~np.isfinite(values)
    if wrong.any():
        channel, position = np.argwhere(wrong)[0]
        what = "value is missing" if np.isnan(values[channel, position]) else "value is infinite"
        where = f"position {position}" + (f", channel {channel}" if len(values) > 1 else "")
        hint = "; missing='interpolate' fills it in" if "missing" in what else ""
        problem = f"{place}a {what} at {where}{hint}"
        raise MalformedFileError(path, line, problem)
    return values


def suffix_of(path: Path) -> str:
    """What a file's name says about its format: its suffix, without `.gz`."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def stem(path: Path) -> str:
    """The name of the set: that of the file without format and split."""
    name = Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem
    for end in ("_TRAIN", "_TEST"):
        if name.upper().endswith(end):
            return name[: -len(end)]
    return name
