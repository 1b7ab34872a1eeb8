"""Readers of the formats in which labelled series are kept.

A reader of text turns each line into a label and the texts of each channel, and one function makes
a data set of them: NaN, `?` or nothing at the end of a series are padding, anywhere else a missing
value, which is refused.  Whatever is wrong with a file is a `MalformedFileError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.series.steps import Points, as_stamps, check_choices, even_series

from .arrays import read_npy, read_npz
from .assembling import StrPath, as_dataset, check_label, cut, labels_of, suffix_of
from .dataset import Dataset, MalformedFileError
from .delimited import check_not_cut, filled, has_header, lines_of
from .own import read_csv
from .shapes import Steps
from .tables import read_parquet

_MISSING = frozenset(("", "?"))
_COMMENT = ("#", "%")


class _Case(NamedTuple):
    """One line of a file: label and time stamps, if it has any, and text for each channel."""

    line: int
    label: str | None
    channels: list[list[str]]
    stamps: list[str] | None = None


def read_tsv(file: StrPath, *, missing: str = "error") -> Dataset:
    """Read the archive's format of 2018: a label, then values, separated by tabs.

    Parameters
    ----------
    file : path
    missing : {"error", "interpolate"}, default="error"
        What to do with values that are missing inside a series.
    """
    return _read_lines(file, lambda line: line.split("\t"), missing)


def read_text(file: StrPath, *, missing: str = "error") -> Dataset:
    """Read the archive's formats of 2011 and 2015: the same, separated by spaces or commas."""
    return _read_lines(file, lambda line: line.replace(",", " ").split(), missing)


def _read_lines(file: StrPath, split: Callable[[str], list[str]], missing: str) -> Dataset:
    path = Path(file)
    cases = []
    for number, line in lines_of(path):
        if line.strip():
            fields = split(line)
            cases.append(_Case(number, "".join(fields[:1]), [fields[1:]]))
    _check_not_cut(path, cases)
    return _assemble(path, cases, Steps(missing=missing))


def _check_not_cut(path: Path, cases: Sequence[_Case]) -> None:
    counts = [filled(case.channels[0]) for case in cases]
    if cases:
        check_not_cut(path, cases[-1].line, counts[-1], max(counts), "values")


def read_ts(
    file: StrPath,
    *,
    resample: str | None = None,
    step: float | None = None,
    missing: str = "error",
) -> Dataset:
    """Read `.ts`, the format of aeon and sktime: a header, then channels separated by colons.

    Parameters
    ----------
    file : path
    resample : {"linear", "nearest", "previous"}, optional
        With time stamps, interpolate at equal steps; by default uneven steps are refused.
    step : float, optional
        The step to resample at; by default the median of all steps.
    missing : {"error", "interpolate"}, default="error"
        What to do with values that are missing inside a series.
    """
    path = Path(file)
    header: dict[str, list[str]] = {}
    lines = lines_of(path)
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
    if expected.labels is None:  # else a line that is cut off has no label
        _check_not_cut(path, cases)
    steps = Steps(resample, step, missing)
    return _assemble(path, cases, steps, numeric_target=expected.numeric_target)


class _TsHeader(NamedTuple):
    """What the header of a `.ts` file says about its lines."""

    labels: frozenset[str] | None
    numeric_target: bool
    n_channels: int | None
    length: int | None
    stamped: bool

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

        classes = flag("classlabel", True)
        named = frozenset(header.get("classlabel", [])[1:])
        targets = "targetlabel" in header and flag("targetlabel", False)
        n_channels = count("dimensions", "dimension")
        if flag("univariate", n_channels in (None, 1)) and n_channels is None:
            n_channels = 1 if "univariate" in header else None
        length = count("serieslength") if flag("equallength", False) else None
        if targets and "classlabel" not in header:
            named = frozenset()
        labels = named if classes or targets else None
        return cls(labels, targets, n_channels, length, flag("timestamps", False))

    def case(self, path: Path, number: int, line: str) -> _Case:
        """Take a line apart."""
        # Time stamps are in parentheses, and may hold colons.
        parts = re.split(r":(?![^(]*\))", line) if self.stamped else line.split(":")
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
        stamps = None
        if self.stamped:
            stamps, channels = _stamped(path, number, parts)
        else:
            channels = [part.split(",") for part in parts]
        if self.length is not None and len(channels[0]) != self.length:
            raise MalformedFileError(
                path, number, f"the header says length {self.length}, found {len(channels[0])}"
            )
        return _Case(number, label, channels, stamps)


def _stamped(path: Path, line: int, parts: list[str]) -> tuple[list[str], list[list[str]]]:
    """Time stamps and texts of each channel, of which each is a list `(time,value),...`."""
    stamps: list[list[str]] = []
    channels = []
    for part in parts:
        if not re.fullmatch(r"\s*\([^()]*\)(\s*,\s*\([^()]*\))*\s*", part):
            raise MalformedFileError(path, line, f"expected (time,value),..., got {part[:40]!r}")
        pairs = [pair.rpartition(",") for pair in re.findall(r"\(([^()]*)\)", part)]
        stamps.append([stamp.strip() for stamp, _, _ in pairs])
        channels.append([value for _, _, value in pairs])
    if any(own != stamps[0] for own in stamps):
        raise MalformedFileError(path, line, "the channels differ in their time stamps")
    return stamps[0], channels


def read_arff(file: StrPath, *, missing: str = "error") -> Dataset:
    r"""Read Weka's format as the archive uses it: numbers or a relational attribute, then a label.

    The channels of a relational attribute are in quotes and separated by the characters `\n`.
    """
    path = Path(file)
    in_data = False
    attributes: list[str] = []
    cases = []
    for number, line in lines_of(path):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        if not in_data:
            keyword = text.split()[0].lower()
            if keyword not in ("@relation", "@attribute", "@end", "@data"):
                raise MalformedFileError(path, number, f"expected a keyword, got {text[:40]!r}")
            in_data = keyword == "@data"
            attributes += [text] if keyword == "@attribute" else []
        else:
            cases.append(_arff_case(path, number, text, attributes))
    if not in_data:
        raise MalformedFileError(path, None, "there is no line @data")
    return _assemble(path, cases, Steps(missing=missing))


def _arff_case(path: Path, number: int, text: str, attributes: Sequence[str]) -> _Case:
    """Take a line apart; the attributes say how many values there are, and which labels."""
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
        if attributes and values.count(",") + 2 != len(attributes):
            problem = f"{values.count(',') + 2} values, but {len(attributes)} attributes"
            raise MalformedFileError(path, number, problem)
    label = label.strip().strip("'\"")
    nominal = re.search(r"\{(.*)\}\s*$", attributes[-1]) if attributes else None
    if nominal and label not in {each.strip().strip("'\"") for each in nominal[1].split(",")}:
        problem = f"label {label!r} is not one of those in the header: {nominal[1]}"
        raise MalformedFileError(path, number, problem)
    return _Case(number, label, [channel.split(",") for channel in channels])


READERS: dict[str, Callable[..., Dataset]] = {
    ".tsv": read_tsv,
    ".ts": read_ts,
    ".arff": read_arff,
    ".csv": read_csv,
    ".txt": read_text,
    "": read_text,
    ".npy": read_npy,
    ".npz": read_npz,
    ".parquet": read_parquet,
}


def read(file: StrPath, **options: Any) -> Dataset:
    """Read labelled series; the format is told by the suffix of the file's name.

    `.csv`, `.tsv`, `.ts`, `.arff`, `.txt` or none (the archive's text of 2011), `.npy`,
    `.npz` and `.parquet`; text may be compressed, `.csv.gz`.  A folder is one of Parquet files.

    Parameters
    ----------
    file : path
    **options
        For the reader of the format, such as `label` and `id` for tables (see `read_csv`) and
        `missing` for all of them.  A `.tsv` or `.txt` with a header is read by `read_csv`, and so
        is one with options for tables.
    """
    path = Path(file)
    reader = read_parquet if path.is_dir() else READERS.get(suffix_of(path))
    if reader is None:
        known = ", ".join(suffix for suffix in READERS if suffix)
        raise ValueError(f"file must end in one of {known}, or in no suffix, got {str(path)!r}")
    if reader in (read_tsv, read_text) and (set(options) - {"missing"} or has_header(path)):
        reader = read_csv
    accepted = signature(reader).parameters
    unknown = [name for name in options if name not in accepted]
    if unknown:
        raise ValueError(
            f"{unknown[0]}= is for tables such as .csv and .parquet, got the file {str(path)!r}"
        )
    return reader(path, **options)


def _numbers(texts: list[str]) -> NDArray[np.float64]:
    if "_" in "".join(texts):  # Python reads 1_000 as a number, the formats do not
        wrong = next(text for text in texts if "_" in text)
        raise ValueError(f"could not convert string to float: {wrong!r}")
    try:
        return np.array(list(map(float, texts)))
    except ValueError:
        return np.array([np.nan if t.strip() in _MISSING else float(t) for t in texts])


def _assemble(
    path: Path, cases: Sequence[_Case], steps: Steps, *, numeric_target: bool = False
) -> Dataset:
    """Make a data set of the lines of a file."""
    check_choices(steps.resample, steps.missing)
    series = []
    for line, _, channels, _ in cases:
        try:
            values = [_numbers(channel) for channel in channels]
        except ValueError as error:
            raise MalformedFileError(path, line, str(error)) from error
        series.append(cut(path, line, "", values, steps.missing))
        if len(series[-1]) != len(series[0]):
            raise MalformedFileError(
                path, line, f"{len(series[-1])} channels, but {len(series[0])} in the first series"
            )
    series = _at_equal_steps(path, cases, series, steps)
    for line, label, *_ in cases:
        if label is not None:
            check_label(path, line, "", label)
    labels = [case.label for case in cases if case.label is not None]
    y = labels_of(labels)
    if numeric_target:
        for line, label, *_ in cases:
            try:
                finite = math.isfinite(float(str(label)))
            except ValueError:
                finite = False
            if not finite:
                raise MalformedFileError(path, line, f"the target {label!r} is no finite number")
        y = np.array(labels, dtype=float)
    return as_dataset(path, series, y)


def _at_equal_steps(
    path: Path, cases: Sequence[_Case], series: list[NDArray[Any]], steps: Steps
) -> list[NDArray[Any]]:
    """Use the time stamps of a file, if it has any."""
    points = []
    for case, x in zip(cases, series, strict=True):
        if case.stamps is None:
            if steps.resample is not None:
                raise MalformedFileError(path, case.line, "there are no time stamps to resample by")
            return series
        texts = np.array(case.stamps[: x.shape[1]])
        try:
            try:
                stamps = texts.astype(np.float64)
            except ValueError:
                stamps = as_stamps(texts, "the line")
            points.append(Points.of(f"line {case.line}", stamps, x.T))
        except ValueError as error:
            raise MalformedFileError(path, case.line, str(error)) from error
    try:
        even, _ = even_series(points, steps.resample, steps.step)
    except ValueError as error:
        raise MalformedFileError(path, None, str(error)) from error
    return [x.T for x in even]
