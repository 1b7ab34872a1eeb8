"""The data sets of a study, or built-in ones in their place, in the form that methods take."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn import datasets
from warplearn.experiments.spec import Study
from warplearn.series.collection import SeriesCollection


@dataclass(frozen=True)
class Data:
    """A data set with its training series first, in float32.

    Attributes
    ----------
    name : str
    source : {"built-in", "bundled", "files"}
        Generated, real and in the package, or read from files.
    X : SeriesCollection
    y : array (cases,)
    n_train : int
        What follows are test series; there may be none.
    channels : tuple of str, optional
        Names of the channels, where they are the symbols of an alphabet.
    """

    name: str
    source: str
    X: SeriesCollection
    y: NDArray[Any]
    n_train: int
    channels: tuple[str, ...] | None = None

    @classmethod
    def load(cls, name: str, directory: Path | None = None, *, download: bool = False) -> Data:
        """Load a data set; one whose test file is missing has no test series."""
        train = datasets.load(name, "train", directory, download=download)
        splits = [train]
        with suppress(datasets.DatasetNotFoundError):  # judged by cross-validation, as rows say
            splits.append(datasets.load(name, "test", directory, download=download))
        y = np.concatenate([split.y for split in splits])
        series = [
            split.X.values[case, :length].T
            for split in splits
            for case, length in enumerate(split.X.lengths)
        ]
        X = SeriesCollection.of(series).astype(np.float32)
        source = train.source if train.source in ("built-in", "bundled") else "files"
        symbols = None if train.alphabet is None else tuple(map(str, train.alphabet.symbols))
        return cls(name, source, X, y, len(train.X), symbols)

    @property
    def train(self) -> NDArray[np.int64]:
        """Indices of the training series."""
        return np.arange(self.n_train)

    @property
    def test(self) -> NDArray[np.int64]:
        """Indices of the test series."""
        return np.arange(self.n_train, len(self.X))

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same numbers and labels."""
        digest = hashlib.sha256(f"{self.n_train} {self.y.tolist()}".encode())
        for array in (self.X.lengths, self.X.values):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


class Collected(NamedTuple):
    """The data sets of a study that are there, and why others are not."""

    data: list[Data]
    missing: dict[str, str]
    replaced: bool


def collect(study: Study, directory: Path | None = None, *, download: bool = False) -> Collected:
    """Load the data sets of a study; if none of them is there, its built-in ones.

    A name with `*` or `?` stands for all data sets in files that match: those of the directory, or
    without one, those of all folders where `warplearn.datasets.load` looks.
    """
    if directory is not None and not directory.is_dir():
        raise NotADirectoryError(f"data must be a folder, got {str(directory)!r}")
    names, unmatched = _expanded(study.datasets, directory)
    data, missing = _load_all(names, directory, download)
    missing |= unmatched
    if data or not study.builtin:
        return Collected(data, missing, False)
    return Collected(_load_all(study.builtin, directory, False)[0], missing, True)


def _expanded(names: Sequence[str], directory: Path | None) -> tuple[list[str], dict[str, str]]:
    """The names that patterns stand for, and patterns that no data set matches."""
    found: list[str] = []
    unmatched = {}
    for name in names:
        if not set("*?") & set(name):
            found.append(name)
            continue
        matching = [each for each in datasets.in_files(directory) if fnmatchcase(each, name)]
        if not matching:
            unmatched[name] = f"no data set in {directory or 'the usual folders'} matches {name!r}"
        found += matching
    return list(dict.fromkeys(found)), unmatched


def _load_all(
    names: Sequence[str], directory: Path | None, download: bool
) -> tuple[list[Data], dict[str, str]]:
    data, missing = [], {}
    for name in names:
        try:
            data.append(Data.load(name, directory, download=download))
        except datasets.DatasetNotFoundError as error:
            missing[name] = str(error)
    return data, missing
