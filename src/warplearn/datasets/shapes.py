"""Tables of columns, and what series are in them.

A table is *wide*, with a series in each row, or *long*, with a time point in each row.  `columns`
says which column is what; here series are made of them, and a line that says what was understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.long import group
from warplearn.series.steps import (
    Points,
    as_stamps,
    check_choices,
    even_series,
    without_missing,
    without_padding,
)

from .columns import (
    MISSING,
    Columns,
    Roles,
    Table,
    is_long,
    long_roles,
    named_roles,
    wide_roles,
)

Array = NDArray[Any]

_NUMBERED = re.compile(r"(.*?)[_ .\-]?(\d+)")


class Steps(NamedTuple):
    """What to do with uneven steps and missing values (see `SeriesCollection.from_long`)."""

    resample: str | None = None
    step: float | None = None
    missing: str = "error"


class Understood(NamedTuple):
    """Series and labels of a table, and in words how it was understood."""

    X: SeriesCollection
    y: Array | None
    description: str


def understand(table: Table, asked: Columns, steps: Steps) -> Understood:
    """Find the series and labels in a table."""
    check_choices(steps.resample, steps.missing)
    if len(set(table.names)) < len(table.names):
        twice = next(name for name in table.names if table.names.count(name) > 1)
        raise ValueError(f"two columns are named {twice!r}")
    roles = named_roles(table, asked)
    if is_long(table, roles, asked):
        return _read_long(table, long_roles(table, roles, asked), steps)
    return _read_wide(table, wide_roles(table, roles, asked), steps)


def _read_wide(table: Table, roles: Roles, steps: Steps) -> Understood:
    channels, time, sorted_ = _time_steps(roles.values)
    notes = list(roles.notes)
    if sorted_:
        notes.append("columns in the order of their numbers")
    values = np.stack(
        [np.column_stack([table[name] for name in names]) for names in channels.values()], axis=2
    )
    series = _cut(values, table, notes, steps.missing)
    if time is not None:
        points = [
            Points(_row_name(table, case), time[: len(x)], time[: len(x)], x)
            for case, x in enumerate(series)
        ]
        series, _ = even_series(points, steps.resample, steps.step)
    elif steps.resample is not None:
        raise ValueError("resample needs time stamps: a time column, or columns named by numbers")
    X = SeriesCollection.of([x.T for x in series])
    y = None if roles.label is None else _labels_of(table, roles.label, np.arange(len(X)))
    return Understood(X, y, _describe(X, y, roles, list(channels), [], notes))


def _row_name(table: Table, case: int) -> str:
    return f"the series in line {table.lines[case]}"


def _cut(values: Array, table: Table, notes: list[str], missing: str) -> list[Array]:
    """Series (time, channels) without padding, and without missing values if these are filled."""
    series, padded = [], 0
    position = np.arange(values.shape[1])
    for case, x in enumerate(values):
        if not np.isnan(x).any():
            series.append(x)
            continue
        cut = without_padding(Points(_row_name(table, case), position, position, x))
        padded += len(cut.time) < len(x)
        series.append(without_missing(cut, missing).values)
    if padded:
        notes.append(f"{padded} series end in missing values, taken as padding")
    return series


def _time_steps(values: Sequence[str]) -> tuple[dict[str, list[str]], Array | None, bool]:
    """The columns of each channel, the times that they name, and whether they were sorted.

    Columns `x_0, x_1, ..., y_0, y_1, ...` are two channels.
    """
    try:
        time = np.array([float(name) for name in values])
    except ValueError:
        time = None
    if time is not None and len(time) > 1 and (np.diff(time) > 0).all():
        return {"": list(values)}, time, False
    matches = [_NUMBERED.fullmatch(name) for name in values]
    if not all(matches):
        return {"": list(values)}, None, False
    channels: dict[str, list[tuple[int, str]]] = {}
    for name, match in zip(values, matches, strict=True):
        assert match is not None
        channels.setdefault(match[1], []).append((int(match[2]), name))
    counts = {tuple(sorted(number for number, _ in own)) for own in channels.values()}
    if len(counts) > 1:
        return {"": list(values)}, None, False
    ordered = {prefix: [name for _, name in sorted(own)] for prefix, own in channels.items()}
    given = {prefix: [name for _, name in own] for prefix, own in channels.items()}
    return ordered, None, ordered != given


# Long tables


def _read_long(table: Table, roles: Roles, steps: Steps) -> Understood:
    rows = len(table.lines)
    ids = np.zeros(rows, np.int64) if roles.id is None else _names_in(table, roles.id)
    stamps = None
    if roles.time is not None:
        stamps = as_stamps(table[roles.time], f"column {roles.time!r}")
        if roles.id is None and len(np.unique(stamps)) < rows:
            raise ValueError(
                f"column {roles.time!r} has the same time more than once, so there is more than "
                "one series: id= (--id) says which series a row belongs to"
            )
    values = np.column_stack([table[name] for name in roles.values])
    found = group(ids, stamps, values, **steps._asdict())
    y = None
    if roles.label is not None:
        y = _labels_of(table, roles.label, found.rows)
        changes = table[roles.label] != table[roles.label][found.rows][found.codes]
        if changes.any():
            row = int(changes.argmax())
            start = found.rows[found.codes[row]]
            raise ValueError(
                f"line {table.lines[row]}: the label of series {str(ids[row])!r} is "
                f"{str(table[roles.label][row])!r}, but {str(table[roles.label][start])!r} in line "
                f"{table.lines[start]}; a series has one label"
            )
    X = SeriesCollection.of(found.series)
    how = [f"{role} column {name!r}" for role, name in (("id", roles.id), ("time", roles.time))
           if name is not None]  # fmt: skip
    if roles.time is None:
        how.append("rows in their order")
    names = roles.values if len(roles.values) > 1 else [""]
    return Understood(X, y, _describe(X, y, roles, names, how, [*roles.notes, *found.notes]))


# Labels and words


def only_labels(table: Table, asked: Columns) -> tuple[str | None, Array | None]:
    """The column of labels, and its labels, of a table that has at most that."""
    roles = named_roles(table, asked)
    label, others = roles.label, [name for name in roles.values if name != roles.label]
    if label is None and len(others) == 1:
        label = others.pop()
    if others:
        raise ValueError(
            f"columns hold lists, but {others[0]!r} holds none: leave it out with drop= (--drop)"
        )
    return label, None if label is None else _labels_of(table, label, np.arange(len(table.lines)))


def _labels_of(table: Table, name: str, rows: Array) -> Array:
    column = table[name][rows]
    _check_present(table, name, rows, "label")
    if column.dtype.kind != "f":
        return column.astype(str)
    return column.astype(np.int64) if _are_whole(column) else column.astype(str)


def _names_in(table: Table, name: str) -> Array:
    """The identifiers of a column, as texts."""
    column = table[name]
    _check_present(table, name, np.arange(len(column)), "identifier")
    whole = column.dtype.kind == "f" and _are_whole(column)
    return (column.astype(np.int64) if whole else column).astype(str)


def _are_whole(numbers: Array) -> bool:
    return bool((numbers == np.round(numbers)).all())


def _check_present(table: Table, name: str, rows: Array, what: str) -> None:
    """Refuse labels and identifiers that are missing, or that a float cannot tell apart."""
    column = table[name][rows]
    if column.dtype.kind == "f":
        absent, inexact = np.isnan(column), np.abs(column) >= 2**53
    else:
        texts = np.char.lower(np.char.strip(column.astype(str)))
        absent, inexact = np.isin(texts, list(MISSING)), np.zeros(len(texts), bool)
    for wrong, problem in ((absent, "is missing"), (inexact, "is beyond 2**53: make it text")):
        if wrong.any():
            line = table.lines[rows[int(wrong.argmax())]]
            raise ValueError(f"line {line}: the {what} in column {name!r} {problem}")


def _describe(
    X: SeriesCollection,
    y: Array | None,
    roles: Roles,
    channels: Sequence[str],
    how: Sequence[str],
    notes: Sequence[str],
) -> str:
    shortest, longest = int(X.lengths.min()), X.max_length
    length = f"length {longest}" if shortest == longest else f"lengths {shortest} to {longest}"
    parts = [f"{len(X)} series of {length}", *how]
    if X.n_channels > 1:
        named = f" ({', '.join(channels)})" if all(channels) and len(channels) <= 10 else ""
        parts.append(f"{X.n_channels} channels{named}")
    if y is None:
        parts.append("no labels")
    else:
        parts += [f"label column {roles.label!r}", count_of(len(np.unique(y)), "class", "classes")]
    return ", ".join([*parts, *notes])


def count_of(number: int, one: str, several: str) -> str:
    """A number and what it counts."""
    return f"{number} {one if number == 1 else several}"
