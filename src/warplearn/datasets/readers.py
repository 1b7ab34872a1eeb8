"""Readers of the formats in which labelled series are kept.

A reader of text turns each line into a label and the texts of each channel, and one function makes
a data set of them: NaN, `?` or nothing at the end of a series are padding, anywhere else a missing
value, which is refused.  Whatever is wrong with a file is a `MalformedFileError`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection

from .dataset import Dataset, MalformedFileError

StrPath: TypeAlias = str | PathLike[str]
_MISSING = frozenset(("", "?"))
_COMMENT = ("#", "%")


class _Case(NamedTuple):
    """One line of a file: a label, if the file has any, and text for each channel."""

    line: int
    label: str | None
    channels: list[list[str]]


def read_tsv(file: StrPath) -> Dataset:
    """Read the archive's format of 2018: a label, then values, separated by tabs."""
    return _read_lines(file, lambda line: line.split("\t"))


def read_text(file: StrPath) -> Dataset:
    """Read the archive's formats of 2011 and 2015: the same, separated by spaces or commas."""
    return _read_lines(file, lambda line: line.replace(",", " ").split())


def _read_lines(file: StrPath, split: Callable[[str], list[str]]) -> Dataset:
    path = Path(file)
    cases = []
    for number, line in _lines(path):
        if line.strip():
            fields = split(line)
            cases.append(_Case(number, "".join(fields[:1]), [fields[1:]]))
    if cases:
        _check_not_cut(path, cases)
    return _assemble(path, cases)


def _filled(fields: list[str]) -> int:
    """How many fields there are, without empty ones at the end."""
    count = len(fields)
    while count and not fields[count - 1].strip():
        count -= 1
    return count


def _check_not_cut(path: Path, cases: Sequence[_Case]) -> None:
    """Refuse a last line that is shorter than the others and does not end, as a copy cut short."""
    counts = [_filled(case.channels[0]) for case in cases]
    count, longest = counts[-1], max(counts)
    if count < longest:
        with path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) not in b"\r\n":
                raise MalformedFileError(
                    path,
                    cases[-1].line,
                    f"{count} values, but {longest} in another line, and no line end: the file "
                    "seems to be cut off; if it is whole, end its last line",
                )


def read_ts(file: StrPath) -> Dataset:
    """Read `.ts`, the format of aeon and sktime: a header, then channels separated by colons.

    Time stamps are not read: files that have them are refused.
    """
    path = Path(file)
    header: dict[str, list[str]] = {}
    lines = _lines(path)
    for number, line in lines:
        words = line.split()
        if not words or words[0].startswith(_COMMENT):
            continue
        key = words[0].lower()
        if not key.startswith("@"):
            raise MalformedFileError(path, number, f"expected a line with @, got {line[:40]!r}")
        if key == "@data":
            break
        header[key[1:]] = words[1:]
    else:
        raise MalformedFileError(path, None, "there is no line @data")
    expected = _TsHeader.of(path, number, header)
    cases = []
    for number, line in lines:
        if line.strip() and not line.startswith(_COMMENT):
            cases.append(expected.case(path, number, line))
    return _assemble(path, cases, numeric_target=expected.numeric_target)


class _TsHeader(NamedTuple):
    """What the header of a `.ts` file says about its lines."""

    labels: frozenset[str] | None
    numeric_target: bool
    n_channels: int | None
    length: int | None

    @classmethod
    def of(cls, path: Path, line: int, header: dict[str, list[str]]) -> _TsHeader:
        def flag(key: str, default: bool) -> bool:
            word = header.get(key, [str(default)])[0:1]
            if [w.lower() for w in word] not in (["true"], ["false"]):
                raise MalformedFileError(path, line, f"@{key} must be true or false, got {word}")
            return word[0].lower() == "true"

        def count(*keys: str) -> int | None:
            for key in keys:
                word = " ".join(header.get(key, []))
                if word.isascii() and word.isdecimal() and int(word[:18]) > 0:
                    return int(word[:18])
                if key in header:
                    raise MalformedFileError(
                        path, line, f"@{key} must be a positive integer, got {word!r}"
                    )
            return None

        if flag("timestamps", False):
            raise MalformedFileError(path, line, "files with time stamps are not read")
        classes = flag("classlabel", True)
        named = frozenset(header.get("classlabel", [])[1:])
        targets = "targetlabel" in header and flag("targetlabel", False)
        n_channels = count("dimensions", "dimension")
        if flag("univariate", n_channels in (None, 1)) and n_channels is None:
            n_channels = 1 if "univariate" in header else None
        length = count("serieslength") if flag("equallength", False) else None
        if targets and "classlabel" not in header:
            named = frozenset()
        return cls(named if classes or targets else None, targets, n_channels, length)

    def case(self, path: Path, number: int, line: str) -> _Case:
        """Take a line apart."""
        parts = line.split(":")
        label = None
        if self.labels is not None:
            label = parts.pop().strip()
            if not parts:
                raise MalformedFileError(path, number, "expected values, a colon and a label")
            if self.labels and label not in self.labels:
                known = ", ".join(sorted(self.labels))
                raise MalformedFileError(
                    path, number, f"label {label!r} is not one of those in the header: {known}"
                )
        if self.n_channels not in (None, len(parts)):
            raise MalformedFileError(
                path, number, f"the header says {self.n_channels} channels, found {len(parts)}"
            )
        channels = [part.split(",") for part in parts]
        if self.length is not None and len(channels[0]) != self.length:
            raise MalformedFileError(
                path, number, f"the header says length {self.length}, found {len(channels[0])}"
            )
        return _Case(number, label, channels)


def read_arff(file: StrPath) -> Dataset:
    r"""Read Weka's format as the archive uses it: numbers or a relational attribute, then a label.

    The channels of a relational attribute are in quotes and separated by the characters `\n`.
    """
    path = Path(file)
    in_data = False
    cases = []
    for number, line in _lines(path):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if not in_data:
            keyword = text.split()[0].lower()
            if keyword not in ("@relation", "@attribute", "@end", "@data"):
                raise MalformedFileError(path, number, f"expected a keyword, got {text[:40]!r}")
            in_data = keyword == "@data"
        else:
            cases.append(_arff_case(path, number, text))
    if not in_data:
        raise MalformedFileError(path, None, "there is no line @data")
    return _assemble(path, cases)


def _arff_case(path: Path, number: int, text: str) -> _Case:
    values, comma, label = text.rpartition(",")
    if not comma:
        raise MalformedFileError(path, number, "expected values, a comma and a label")
    quote = values[:1]
    if quote in ("'", '"'):
        if len(values) < 2 or values[-1] != quote:
            raise MalformedFileError(path, number, f"the quote {quote} is not closed")
        channels = values[1:-1].split("\\n")
    else:
        channels = [values]
    return _Case(number, label.strip().strip("'\""), [channel.split(",") for channel in channels])


def read_npz(file: StrPath) -> Dataset:
    """Read an archive of NumPy arrays: `X`, (cases, time) or (cases, channels, time), and `y`.

    Trailing NaN make a series shorter.  Pickled objects are not read.
    """
    path = Path(file)
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            X = np.asarray(arrays["X"])
            y = np.asarray(arrays["y"]) if "y" in arrays else np.array([], dtype=str)
    except FileNotFoundError:
        raise
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
        values = X.astype(np.float32 if small else np.float64)
    series = [_cut(path, None, f"case {case}: ", x) for case, x in enumerate(values)]
    if y.dtype.kind == "S":
        try:
            y = np.char.decode(y, "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedFileError(path, None, f"y is not UTF-8 text: {error}") from error
    for case, label in enumerate(y):
        _check_label(path, None, f"case {case}: ", label)
    return _dataset(path, series, y)


def read_parquet(file: StrPath, label: str = "label") -> Dataset:
    """Read a table with a series in each row.

    Parameters
    ----------
    file : path
    label : str, default="label"
        The column of the labels.  The other columns are either the values at each time, or each
        holds lists, a channel of the series.  Trailing nulls make a series shorter.
    """
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "polars is missing, which reads parquet; run: pip install 'warplearn[data]'"
        ) from error

    path = Path(file)
    path.stat()  # or raise FileNotFoundError
    try:
        table = polars.read_parquet(path, use_pyarrow=False, memory_map=False)
        names = [name for name in table.columns if name != label]
        nested = [isinstance(table[name].dtype, (polars.List, polars.Array)) for name in names]
        labels = table[label].to_list() if label in table.columns else []
        rows = table.select(names).rows()
    except (Exception, polars.exceptions.PanicException) as error:
        raise MalformedFileError(path, None, f"not a table of series: {error}") from error
    if any(nested) != all(nested):
        raise MalformedFileError(path, None, "columns must all hold lists, or all hold numbers")
    series = []
    for case, row in enumerate(rows):
        try:
            channels = [np.array(c or [], dtype=float) for c in (row if any(nested) else [row])]
        except (TypeError, ValueError) as error:
            raise MalformedFileError(path, None, f"row {case}: {error}") from error
        series.append(_cut(path, None, f"row {case}: ", channels))
    for case, value in enumerate(labels):
        _check_label(path, None, f"row {case}: ", value)
    return _dataset(path, series, _labels([str(value) for value in labels]))


READERS: dict[str, Callable[[StrPath], Dataset]] = {
    ".tsv": read_tsv,
    ".ts": read_ts,
    ".arff": read_arff,
    ".txt": read_text,
    "": read_text,
    ".npz": read_npz,
    ".parquet": read_parquet,
}


def read(file: StrPath) -> Dataset:
    """Read labelled series; the format is told by the suffix of the file's name.

    `.tsv`, `.ts`, `.arff`, `.txt` or none (the archive's text of 2011), `.npz` and `.parquet`.
    """
    path = Path(file)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(suffix for suffix in READERS if suffix)
        raise ValueError(f"file must end in one of {known}, or in no suffix, got {str(path)!r}")
    return reader(path)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise MalformedFileError(path, number, f"not UTF-8 text: {error}") from error
            text = text.rstrip("\r\n")
            if "\r" in text:
                problem = "a carriage return inside a line; lines must end with \\n or \\r\\n"
                raise MalformedFileError(path, number, problem)
            if "\0" in text:
                raise MalformedFileError(path, number, "not text: it contains a byte 0")
            yield number, text


def _numbers(texts: list[str]) -> NDArray[np.float64]:
    if "_" in "".join(texts):  # Python reads 1_000 as a number, the formats do not
        wrong = next(text for text in texts if "_" in text)
        raise ValueError(f"could not convert string to float: {wrong!r}")
    try:
        return np.array(list(map(float, texts)))
    except ValueError:
        return np.array([np.nan if t.strip() in _MISSING else float(t) for t in texts])


def _assemble(path: Path, cases: Sequence[_Case], *, numeric_target: bool = False) -> Dataset:
    """Make a data set of the lines of a file."""
    series = []
    for line, _, channels in cases:
        try:
            values = [_numbers(channel) for channel in channels]
        except ValueError as error:
            raise MalformedFileError(path, line, str(error)) from error
        series.append(_cut(path, line, "", values))
        if len(series[-1]) != len(series[0]):
            raise MalformedFileError(
                path, line, f"{len(series[-1])} channels, but {len(series[0])} in the first series"
            )
    for line, label, _ in cases:
        if label is not None:
            _check_label(path, line, "", label)
    labels = [case.label for case in cases if case.label is not None]
    y = _labels(labels)
    if numeric_target:
        for line, label, _ in cases:
            try:
                finite = math.isfinite(float(str(label)))
            except ValueError:
                finite = False
            if not finite:
                raise MalformedFileError(path, line, f"the target {label!r} is no finite number")
        y = np.array(labels, dtype=float)
    return _dataset(path, series, y)


def _dataset(path: Path, series: list[NDArray[Any]], y: NDArray[Any]) -> Dataset:
    if not series:
        raise MalformedFileError(path, None, "there are no series in it")
    try:
        X = SeriesCollection.of(series)
    except ValueError as error:
        raise MalformedFileError(path, None, str(error)) from error
    return Dataset(X, y, _stem(path), str(path))


def _check_label(path: Path, line: int | None, place: str, label: Any) -> None:
    """Refuse what stands for a label that is not there: nothing, null, NaN or a question mark."""
    text = str(label).strip()
    if label is None or text in _MISSING or text.lower() == "nan":
        raise MalformedFileError(path, line, f"{place}the label is missing")
    if "\0" in text:  # NumPy would cut it off
        raise MalformedFileError(path, line, f"{place}the label {label!r} contains a byte 0")


def _labels(labels: list[str]) -> NDArray[Any]:
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


def _cut(path: Path, line: int | None, place: str, channels: Any) -> NDArray[Any]:
    """Stack channels, (channels, time), without the padding at their end."""
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
    wrong = ~np.isfinite(values)
    if wrong.any():
        channel, position = np.argwhere(wrong)[0]
        what = "value is missing" if np.isnan(values[channel, position]) else "value is infinite"
        where = f"position {position}" + (f", channel {channel}" if len(values) > 1 else "")
        problem = f"{place}a {what} at {where}; fill it in first"
        raise MalformedFileError(path, line, problem)
    return values


def _stem(path: Path) -> str:
    """The name of the set: that of the file without the split."""
    for end in ("_TRAIN", "_TEST"):
        if path.stem.upper().endswith(end):
            return path.stem[: -len(end)]
    return path.stem
