"""What a data set is, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.symbols import Alphabet


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Series with their labels; `X, y = dataset` unpacks them.

    Parameters
    ----------
    X : SeriesCollection
    y : array (cases,)
        Labels: integers where all of them are whole numbers, real numbers where the file says that
        they are values to predict, else strings.  Empty where a file has none.
    name : str
    source : str
        "built-in" (generated), "bundled" (real, in the package), or the files they were read from.
    alphabet : Alphabet, optional
        Of sequences of symbols; `alphabet.decode(X)` lists them.
    description : str
        How a table was understood: series, columns, and what was set aside.
    """

    X: SeriesCollection
    y: NDArray[Any]
    name: str = ""
    source: str = ""
    alphabet: Alphabet | None = None
    description: str = ""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def replace(self, **changes: Any) -> Dataset:
        """The same data set with some attributes changed."""
        return replace(self, **changes)

    def describe(self) -> str:
        """One line about the series and labels, such as `50 series of length 150, 2 classes`."""
        if self.description:
            return self.description
        shortest, longest = int(self.X.lengths.min()), self.X.max_length
        length = f"length {longest}" if shortest == longest else f"lengths {shortest} to {longest}"
        parts = [f"{len(self.X)} series of {length}"]
        if self.X.n_channels > 1:
            parts.append(f"{self.X.n_channels} channels")
        n_labels = len(np.unique(self.y))
        if len(self.y) and self.y.dtype.kind == "f":
            parts.append("values to predict")
        else:
            parts.append(f"{n_labels or 'no'} {'class' if n_labels == 1 else 'classes'}")
        return ", ".join(parts)

    def __repr__(self) -> str:
        labels = f"{len(np.unique(self.y))} labels" if len(self.y) else "no labels"
        return f"<Dataset {self.name}: {self.X!r}, {labels}, {self.source}>"


class DatasetNotFoundError(FileNotFoundError):
    """No data set of this name was found; the message says where it was looked for."""


class MalformedFileError(ValueError):
    """A file does not follow its format.

    Attributes
    ----------
    file : Path
    line : int or None
        Counted from 1; None where a format has no lines.
    """

    def __init__(self, file: Path, line: int | None, problem: str) -> None:
        super().__init__(file, line, problem)
        self.file, self.line, self.problem = file, line, problem

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else f"{self.file}"
        return f"{place}: {self.problem}"


def concatenate(parts: list[Dataset]) -> Dataset:
    """The cases of all parts in one set, whose name and alphabet are those of the first."""
    series = [x for part in parts for x in part.X]
    labels = [part.y for part in parts]
    if len({y.dtype.kind for y in labels}) > 1:  # whole numbers in one file, not in the other
        labels = [y.astype(str) for y in labels]
    source = ", ".join(dict.fromkeys(part.source for part in parts))
    X = SeriesCollection.of(series)
    return parts[0].replace(X=X, y=np.concatenate(labels), source=source, description="")
