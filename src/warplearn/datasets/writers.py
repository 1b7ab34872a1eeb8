"""Writers of `.csv`, `.ts` and `.tsv`, of which every number comes back as it was."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection

from .assembling import StrPath
from .columns import MISSING


def write_csv(file: StrPath, X: Any, y: Any) -> Path:
    """Write a wide table: the column `label`, then a column for each time step of each channel.

    Parameters
    ----------
    file : path
    X : series collection
        Anything `SeriesCollection.of` takes.  Behind the end of a short series there is nothing.
    y : array (cases,)
        Labels.
    """
    series = SeriesCollection.of(X)
    labels = _labels(series, y)
    for case, label in enumerate(labels):
        if label.strip() != label or label.lower() in MISSING or len(label.splitlines()) != 1:
            raise ValueError(
                "y must hold labels of one line, without spaces at their ends, other than "
                f"{sorted(MISSING)}, got {label!r} at case {case}"
            )
    time = range(series.max_length)
    names = [f"t{i}" for i in time]
    if series.n_channels > 1:
        names = [f"c{channel}_{i}" for channel in range(series.n_channels) for i in time]

    def rows() -> Iterator[list[str]]:
        yield ["label", *names]
        for x, label in zip(series, labels, strict=True):
            cells = [_texts(channel) for channel in np.atleast_2d(x)]
            blank = [""] * (series.max_length - len(cells[0]))
            yield [label, *chain.from_iterable([*channel, *blank] for channel in cells)]

    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows())
    return _write(file, iter(buffer.getvalue().splitlines()))


def write_tsv(file: StrPath, X: Any, y: Any) -> Path:
    """Write the archive's format of 2018: a label, then values; NaN behind the end of a series.

    Parameters
    ----------
    file : path
    X : series collection
        Anything `SeriesCollection.of` takes, of one channel.
    y : array (cases,)
        Labels; with whole numbers and strings the file can be read again.
    """
    series, labels = _checked(X, y)
    if series.n_channels != 1:
        raise ValueError(f"X must have 1 channel in a .tsv, got {series.n_channels}: use write_ts")

    def lines() -> Iterator[str]:
        for x, label in zip(series, labels, strict=True):
            padding = ["NaN"] * (series.max_length - len(x))
            yield "\t".join([label, *_texts(x), *padding])

    return _write(file, lines())


def write_ts(file: StrPath, X: Any, y: Any, *, name: str | None = None) -> Path:
    """Write the format of aeon and sktime.

    Parameters
    ----------
    file : path
    X : series collection
        Anything `SeriesCollection.of` takes, of any number of channels and different lengths.
    y : array (cases,)
        Labels; real numbers are written as values to predict.
    name : str, optional
        The name of the problem, by default that of the file.
    """
    series, labels = _checked(X, y)
    targets = np.asarray(y).dtype.kind == "f"
    title = name or Path(file).stem.removesuffix("_TRAIN").removesuffix("_TEST")
    header = [
        f"@problemName {'_'.join(title.split()) or 'unnamed'}",
        "@timeStamps false",
        "@missing false",
        f"@univariate {str(series.n_channels == 1).lower()}",
        f"@dimensions {series.n_channels}",
        f"@equalLength {str(not series.is_ragged).lower()}",
        *([] if series.is_ragged else [f"@seriesLength {series.max_length}"]),
        "@targetLabel true" if targets else f"@classLabel true {' '.join(sorted(set(labels)))}",
        "@data",
    ]

    def lines() -> Iterator[str]:
        for x, label in zip(series, labels, strict=True):
            yield ":".join([*(",".join(_texts(channel)) for channel in np.atleast_2d(x)), label])

    return _write(file, chain(header, lines()))


def _labels(series: SeriesCollection, y: Any) -> list[str]:
    try:
        given = np.asarray(y)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"y must hold {len(series)} labels: {error}") from error
    if given.shape != (len(series),):
        raise ValueError(f"y must hold {len(series)} labels, got shape {given.shape}")
    labels = [str(label) for label in given.tolist()]
    for case, label in enumerate(labels):
        if "\0" in label or "\N{ZERO WIDTH NO-BREAK SPACE}" in label:  # a byte order mark
            raise ValueError(f"y must hold labels of text, got {label!r} at case {case}")
    return labels


def _checked(X: Any, y: Any) -> tuple[SeriesCollection, list[str]]:
    series = SeriesCollection.of(X)
    labels = _labels(series, y)
    for case, label in enumerate(labels):
        if label.split() != [label] or ":" in label or label.lower() in MISSING:
            raise ValueError(
                "y must hold labels without spaces and colons, other than "
                f"{sorted(MISSING)}, got {label!r} at case {case}"
            )
    return series, labels


def _texts(values: NDArray[Any]) -> list[str]:
    """The shortest texts that are read as these numbers, in float64."""
    return [repr(value) for value in values.tolist()]


def _write(file: StrPath, lines: Iterator[str]) -> Path:
    """Write a file at once: there is all of it or none."""
    path = Path(file)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with scratch.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
    return path
