"""Text files of rows and columns: delimiter, header and numbers are told from the text.

A file is read in blocks of rows, and numbers are kept as numbers: a large file needs little more
memory than its numbers.
"""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import MISSING, Table
from .dataset import MalformedFileError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", " ": "blank"}
_SAMPLE = 50  # rows that delimiter and header are told from
_BLOCK = 4096  # rows that are converted at once


class _Row(NamedTuple):
    """Fields of a line."""

    line: int
    fields: list[str]


class _TextColumnsError(Exception):
    """Columns that held numbers so far hold text further down."""

    def __init__(self, columns: set[int]) -> None:
        super().__init__(columns)
        self.columns = columns


def read_table(file: Path, delimiter: str | None = None, header: bool | None = None) -> Table:
    """Read a file of rows and columns.

    Parameters
    ----------
    file : path
        May be compressed, `.gz`.
    delimiter : {",", ";", "tab", "blank"} or a character, optional
        By default told from the first rows; "blank" is any number of blanks.
    header : bool, optional
        Whether the first row names the columns, by default told from the first rows.
    """
    given = _delimiter_of(delimiter)
    sample = list(islice(_lines(file), _SAMPLE))
    if not sample:
        raise MalformedFileError(file, None, "the file is empty")
    texts = [text for _, text in sample]
    used = given or _best_delimiter(texts)
    rows = list(_rows(file, iter(sample), used))
    decimal_comma = used != "," and _has_decimal_commas(rows)
    to_number = _with_comma if decimal_comma else _number
    named = _has_header(rows, to_number) if header is None else header
    notes = [f"delimiter {DELIMITERS.get(used, used)!r}"] if used != "," else []
    if decimal_comma:
        notes.append("decimal commas")
    text_columns: set[int] = set()
    while True:
        try:
            return replace(_columns(file, used, named, to_number, text_columns), notes=notes)
        except _TextColumnsError as error:  # as text they are read from the beginning
            text_columns |= error.columns


def has_header(file: Path) -> bool:
    """Whether the first row of a file names columns."""
    sample = list(islice(_lines(file), _SAMPLE))
    delimiter = _best_delimiter([text for _, text in sample]) if sample else ","
    rows = list(_rows(file, iter(sample), delimiter))
    return len(rows) > 1 and _has_header(rows, _number)


def _open(file: Path) -> IO[bytes]:
    """Open a file that may be compressed."""
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rb")  # type: ignore[return-value]
    return file.open("rb")


def lines_of(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1."""
    number = 1
    try:
        with _open(file) as stream:
            for number, line in enumerate(stream, 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if "\r" in text:
                    problem = "a carriage return inside a line; lines must end with \\n or \\r\\n"
                    raise MalformedFileError(file, number, problem)
                if "\0" in text:
                    raise MalformedFileError(file, number, "a binary file, not text")
                yield number, text
    except UnicodeDecodeError as error:
        raise MalformedFileError(file, number, f"not UTF-8 text: {error}") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MalformedFileError(file, None, f"the compressed file is damaged: {error}") from error


def filled(fields: Sequence[str]) -> int:
    """How many fields there are, without empty ones at the end."""
    count = len(fields)
    while count and not fields[count - 1].strip():
        count -= 1
    return count


def check_not_cut(file: Path, line: int, count: int, longest: int, what: str) -> None:
    """Refuse a last line that is shorter than others and does not end, as a copy cut short."""
    if count >= longest or file.suffix.lower() == ".gz":  # which has a checksum
        return
    with file.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        if stream.read(1) not in b"\r\n":
            raise MalformedFileError(
                file,
                line,
                f"{count} {what}, but {longest} in another line, and no line end: the file seems "
                "to be cut off; if it is whole, end its last line",
            )


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, with their numbers."""
    for number, text in lines_of(file):
        if text.strip():
            yield number, text


def _delimiter_of(given: str | None) -> str | None:
    named = {"tab": "\t", "\\t": "\t", "blank": " ", "comma": ",", "semicolon": ";"}
    delimiter = named.get(given, given) if given is not None else None
    if delimiter is not None and (len(delimiter) != 1 or delimiter.isalnum()):
        raise ValueError(f"delimiter must be one character, 'tab' or 'blank', got {given!r}")
    return delimiter


def _split(texts: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    if delimiter == " ":
        return (text.split() for text in texts)
    return csv.reader(texts, delimiter=delimiter, skipinitialspace=True)


def _rows(file: Path, lines: Iterator[tuple[int, str]], delimiter: str) -> Iterator[_Row]:
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for number, text in lines:
            at = number
            yield text

    try:
        for fields in _split(texts(), delimiter):
            yield _Row(at, fields)
    except csv.Error as error:
        raise MalformedFileError(file, at, str(error)) from error


def _number(text: str) -> float:
    """A number, NaN where none is; ValueError for other text."""
    if text.strip().lower() in MISSING:
        return np.nan
    if "_" in text:  # Python reads 1_000 as a number
        raise ValueError(text)
    return float(text)


def _with_comma(text: str) -> float:
    return _number(text.replace(",", ".")) if text.count(",") == 1 else _number(text)


def _is_number(text: str, to_number: Callable[[str], float] = _number) -> bool:
    try:
        return not np.isnan(to_number(text))
    except ValueError:
        return False


def _best_delimiter(texts: Sequence[str]) -> str:
    """The delimiter that leaves the most numbers in rows of the same length.

    Blanks only if no other does, because labels may have blanks too.
    """

    def quality(delimiter: str) -> float:
        try:
            rows = list(_split(iter(texts), delimiter))
        except csv.Error:
            return 0.0
        counts = [len(row) for row in rows]
        if max(counts) < 2:
            return 0.0
        parse = _number if delimiter == "," else _with_comma
        below = rows[1:] or rows
        numbers = np.mean([sum(_is_number(field, parse) for field in row) for row in below])
        return float(numbers) * counts.count(max(set(counts), key=counts.count)) / len(counts)

    *others, blank = DELIMITERS
    best = max(others, key=quality)
    return best if quality(best) > 0 else blank


def _has_decimal_commas(rows: Sequence[_Row]) -> bool:
    fields = [field for row in rows for field in row.fields if "," in field]
    return bool(fields) and all(
        not _is_number(field) and _is_number(field, _with_comma) for field in fields
    )


def _has_header(rows: Sequence[_Row], to_number: Callable[[str], float]) -> bool:
    """Whether the first row names the columns.

    It does if text is above most columns of numbers, or if its numbers count up in equal steps, as
    time steps do, and those of the next rows do not.
    """
    first, others = rows[0].fields, [row.fields for row in rows[1:]]
    if not others:
        return not any(_is_number(field, to_number) for field in first)
    numeric = named = 0
    for column, name in enumerate(first):
        below = [_is_number(fields[column], to_number) for fields in others if column < len(fields)]
        if below and np.mean(below) > 0.5:
            numeric += 1
            named += not _is_number(name, to_number) and name.strip().lower() not in MISSING
    if named > numeric / 2:
        return True

    def counts_up(fields: Sequence[str]) -> bool:
        numbers = [to_number(field) for field in fields if _is_number(field, to_number)]
        steps = np.diff(numbers)
        even = len(steps) > 3 and bool(np.allclose(steps[1:], steps[1]) and steps[1] > 0)
        return even and len(numbers) >= len(fields) - 3

    return counts_up(first) and not any(counts_up(fields) for fields in others[:5])


def _columns(
    file: Path,
    delimiter: str,
    named: bool,
    to_number: Callable[[str], float],
    text_columns: set[int],
) -> Table:
    rows = _rows(file, _lines(file), delimiter)
    names = [name.strip() for name in next(rows).fields] if named else None
    blocks: list[list[NDArray[Any]]] = []
    lines: list[int] = []
    longest = width = len(names) if names is not None else 0
    while block := list(islice(rows, _BLOCK)):
        widest = max(block, key=lambda row: len(row.fields))
        if names is not None and len(widest.fields) > width:
            extra = widest.fields[width:]
            if any(field.strip() for field in extra):
                raise MalformedFileError(
                    file, widest.line,
                    f"{len(widest.fields)} fields, but the header names {width} columns",
                )  # fmt: skip
        width = max(width, len(widest.fields)) if names is None else width
        last, longest = block[-1], max(longest, *(filled(row.fields) for row in block))
        lines += [row.line for row in block]
        blocks.append(_converted(block, width, to_number, text_columns, first=not blocks))
    if not blocks:
        raise MalformedFileError(file, None, "there is a header, but no row below it")
    check_not_cut(file, last.line, filled(last.fields), longest, "fields")
    columns = []
    for column in range(width):
        parts = [
            own[column] if column < len(own) else np.full(len(own[0]), np.nan) for own in blocks
        ]
        columns.append(np.concatenate(parts))
    names = [str(column) for column in range(width)] if names is None else names
    return Table(names, columns, named, np.array(lines), [])


def _converted(
    block: Sequence[_Row],
    width: int,
    to_number: Callable[[str], float],
    text_columns: set[int],
    *,
    first: bool,
) -> list[NDArray[Any]]:
    """Columns of a block of rows: numbers, or text if any field of a column is that."""
    fields = [[*row.fields, *[""] * (width - len(row.fields))][:width] for row in block]
    columns: list[NDArray[Any]] = []
    now_text = set()
    for place, column in enumerate(zip(*fields, strict=True)):
        if place not in text_columns:
            try:
                columns.append(_numbers(column, to_number))
                continue
            except ValueError:
                now_text.add(place)
        columns.append(np.array([field.strip() for field in column], dtype=str))
    if now_text and not first:
        raise _TextColumnsError(now_text)
    text_columns |= now_text
    return columns


def _numbers(column: Sequence[str], to_number: Callable[[str], float]) -> NDArray[np.float64]:
    if to_number is _number and not any("_" in field for field in column):
        try:
            return np.array(list(map(float, column)))
        except ValueError:
            pass
    return np.array(list(map(to_number, column)))
