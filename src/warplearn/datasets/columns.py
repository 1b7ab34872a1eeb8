"""Which column of a table is what: labels, identifier, time stamps, values.

The user says it, or the names of the columns, or what they hold.  What could be meant in two ways
is refused with an error that says what it looks like and which argument settles it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.series.long import order_of_appearance

Array = NDArray[Any]

# Names that say what a column is, in lower case and with "_" for blanks, dots and hyphens.
KNOWN_NAMES = {
    "label": ("label", "labels", "class", "classes", "class_label", "target", "category"),
    "id": (
        "id", "case", "case_id", "caseid", "series", "series_id", "sample", "sample_id", "instance",
        "instance_id", "unit", "subject", "recording", "unique_id",
    ),
    "time": (
        "time", "t", "timestamp", "time_stamp", "date", "datetime", "step", "time_step", "timestep",
        "position", "time_id", "reading_id", "ds",
    ),
    "row": ("", "index", "unnamed:_0", "row", "row_number"),
}  # fmt: skip
# What stands for a value that is not there, in lower case.
MISSING = frozenset(("", "?", "na", "n/a", "nan", "null", "none"))
_MAX_LONG_COLUMNS = 12  # a table that only looks long has few columns
_FEW = 3  # value columns of a table with many rows that may be long


@dataclass(frozen=True, eq=False)
class Table:
    """Columns with names.

    Attributes
    ----------
    names : list of str
        Numbers from 0 where the table names no columns.
    columns : list of array (rows,)
        Of float64, or of text.
    named : bool
        Whether the names come from the table.
    lines : array of int (rows,)
        The line of each row in its file, from 1.
    notes : list of str
        What was told from the text.
    """

    names: list[str]
    columns: list[Array]
    named: bool
    lines: Array
    notes: list[str]

    def __getitem__(self, name: str) -> Array:
        return self.columns[self.names.index(name)]

    def is_text(self, name: str) -> bool:
        """Whether a column holds text."""
        return self[name].dtype.kind not in "iufb"


class Columns(NamedTuple):
    """What a user says about the columns of a table, each by its name."""

    label: str | None = None
    id: str | None = None
    time: str | None = None
    value: Sequence[str] | None = None
    drop: Sequence[str] = ()


class Roles(NamedTuple):
    """The columns of each kind."""

    label: str | None
    id: str | None
    time: str | None
    values: list[str]
    notes: list[str]


# Which column is what


def _select(table: Table, patterns: Sequence[str], argument: str) -> list[str]:
    """The columns that names or patterns such as `t*` mean."""
    chosen: list[str] = []
    for pattern in patterns:
        name = _position(table, str(pattern))
        found = [name] if name in table.names else [n for n in table.names if fnmatchcase(n, name)]
        if not found:
            listed = ", ".join(map(repr, table.names[:10])) + ", ..." * (len(table.names) > 10)
            raise ValueError(f"{argument} must name columns of {listed}, got {pattern!r}")
        chosen += [each for each in found if each not in chosen]
    return chosen


def _position(table: Table, name: str) -> str:
    """Columns without names have numbers, of which negative ones count from the end."""
    if not table.named and re.fullmatch(r"-\d+", name) and -int(name) <= len(table.names):
        return table.names[int(name)]
    return name


def _one(table: Table, name: str | None, argument: str) -> str | None:
    if name is None:
        return None
    found = _select(table, [name], argument)
    if len(found) > 1:
        raise ValueError(f"{argument} must name one column, {name!r} names {len(found)}")
    return found[0]


def named_roles(table: Table, asked: Columns) -> Roles:
    """Roles that the user gives, and else the names of the columns."""
    dropped = _select(table, asked.drop, "drop")
    roles = {role: _one(table, getattr(asked, role), role) for role in ("label", "id", "time")}
    values = [] if asked.value is None else _select(table, asked.value, "value")
    taken = {*dropped, *values, *(name for name in roles.values() if name is not None)}
    free = [name for name in table.names if name not in taken] if table.named else []
    notes = list(table.notes)
    for numbered in [name for name in free if _plain(name) in KNOWN_NAMES["row"]]:
        if _counts_rows(table, numbered):
            free.remove(numbered)
            dropped.append(numbered)
            notes.append(f"column {numbered!r} holds row numbers and is not used")
    for role in [role for role, name in roles.items() if name is None]:
        found = [each for each in free if _plain(each) in KNOWN_NAMES[role]]
        if role == "label" and not found and "x" not in map(_plain, free):
            found = [each for each in free if _plain(each) == "y"]
        if len(found) > 1:
            listed = " and ".join(map(repr, found))
            raise ValueError(
                f"columns {listed} are both named like {_WHAT[role]}: say which with "
                f"{role}= (--{role}), and leave the other out with drop= (--drop)"
            )
        roles[role] = found[0] if found else None
    assigned = {*dropped, *(name for name in roles.values() if name is not None)}
    if not values:
        values = [name for name in table.names if name not in assigned]
    elif assigned & set(values):
        both = sorted(assigned & set(values))[0]
        raise ValueError(f"column {both!r} cannot be among the values and have another use")
    return Roles(roles["label"], roles["id"], roles["time"], values, notes)


_WHAT = {"label": "labels", "id": "an identifier", "time": "time stamps"}


def _plain(name: str) -> str:
    return re.sub(r"[ .\-]", "_", name.strip().lower())


def _counts_rows(table: Table, name: str) -> bool:
    column = table[name]
    if table.is_text(name) or len(column) < 2:
        return False
    return bool(np.array_equal(column - column[0], np.arange(len(column))) and column[0] in (0, 1))


def is_long(table: Table, roles: Roles, asked: Columns) -> bool:
    """Whether a row is a time point."""
    if roles.id is not None:
        column = table[roles.id]
        repeats = len(np.unique(column)) < len(column)
        wide = sum(not table.is_text(name) for name in roles.values) > _MAX_LONG_COLUMNS
        if repeats and wide and asked.id is None and roles.time is None:
            raise ValueError(
                f"column {roles.id!r} is named like an identifier and repeats, but there is no "
                "time and there are many columns of numbers: if a row is a series, give "
                f"drop={roles.id!r} (--drop {roles.id}); if it is a time point, id={roles.id!r} "
                f"(--id {roles.id})"
            )
        if repeats or asked.time is not None:
            return True
        if roles.time is not None:
            raise ValueError(
                f"every row has its own {roles.id!r}, so a row seems to be a series, but there is "
                f"a column {roles.time!r} of time stamps: drop= (--drop) leaves it out"
            )
        return False
    if roles.time is None:
        return False
    others = [name for name in roles.values if not table.is_text(name)]
    if asked.time is None and len(others) > _MAX_LONG_COLUMNS:
        raise ValueError(
            f"column {roles.time!r} is named like time stamps, but there is no identifier and "
            f"there are {len(others)} columns of numbers: if a row is a time point, give time= "
            f"(--time) and id= (--id); if a row is a series, give drop={roles.time!r} (--drop)"
        )
    return True


# Wide tables


def wide_roles(table: Table, roles: Roles, asked: Columns) -> Roles:
    """The columns of a table with a series in each row; what looks like another is refused."""
    label, notes = roles.label, list(roles.notes)
    values = list(roles.values)
    if roles.id is not None:
        notes.append(f"column {roles.id!r} identifies the series and is not used")
    if asked.value is None:
        texts = [name for name in values if table.is_text(name)]
        _refuse_long(table, [name for name in values if name not in texts], label)
        if label is None and len(texts) == 1 and _repeats(table, texts[0]):
            label = texts.pop()
        if texts:
            raise ValueError(_about_text(table, texts, label))
        values = [name for name in values if name != label]
        _refuse_row_numbers(table, values)
        if label is None:
            label = _label_among(table, values)
            values = [name for name in values if name != label]
    texts = [name for name in values if table.is_text(name)]
    if texts:
        raise ValueError(_about_text(table, texts, label))
    if not values:
        raise ValueError("there is no column of values")
    return Roles(label, roles.id, None, values, notes)


def _repeats(table: Table, name: str) -> bool:
    column = table[name]
    return len(column) < 2 or len(np.unique(column)) < len(column)


def _about_text(table: Table, texts: Sequence[str], label: str | None) -> str:
    name = texts[0]
    column = table[name]
    numbers = np.array([_like_number(text) for text in column])
    if numbers.mean() > 0.5:
        row = int((~numbers).argmax())
        return (
            f"line {table.lines[row]}, column {name!r}: expected a number, got {str(column[row])!r}"
        )
    listed = ", ".join(map(repr, texts[:5])) + (", ..." if len(texts) > 5 else "")
    holds = "columns {} hold" if len(texts) > 1 else "column {} holds"
    text = f"{holds.format(listed)} text, such as {str(column[0])!r}"
    if label is None:
        return f"{text}: label= (--label) names the labels, drop= (--drop) what to leave out"
    return f"{text}, and the labels are in {label!r}: drop= (--drop) says what to leave out"


def _like_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()
    return True


def _refuse_row_numbers(table: Table, values: Sequence[str]) -> None:
    for name in values[:1] if len(table.lines) > 3 else []:
        if _counts_rows(table, name):
            raise ValueError(
                f"column {name!r} counts the rows ({table[name][0]:g}, {table[name][1]:g}, ...): "
                "it looks like an identifier, not like values; leave it out with drop= (--drop), "
                "or name the columns of values with value= (--value)"
            )


def _refuse_long(table: Table, values: Sequence[str], label: str | None) -> None:
    """Refuse a wide table of many rows and few columns that looks like a long one."""
    rows = len(table.lines)
    if len(table.names) > _MAX_LONG_COLUMNS or rows < 20:
        return
    for id in table.names:
        if id == label and len(values) > 2:
            continue
        first, codes = order_of_appearance(table[id])
        in_runs = bool((np.diff(codes) >= 0).all())
        if not in_runs or len(first) > rows / 3:
            continue
        for time in values:
            column = table[time]
            if time == id:
                continue
            steps = np.diff(column)
            if len(first) > 1 and (steps[np.diff(codes) == 0] > 0).all():
                raise ValueError(
                    f"{rows} series of length {len(values)}? It looks like a long table: column "
                    f"{id!r} has {len(first)} distinct values in runs, and {time!r} counts up in "
                    f"each; give id={id!r}, time={time!r} (--id {id} --time {time}), or name the "
                    "columns of values with value= (--value) if every row is a series"
                )
    if len(values) <= _FEW and rows > 50:
        raise ValueError(
            f"{rows} series of length {len(values)}? It looks like a long table, with a row for "
            "each time point: id= (--id) says which series a row belongs to; value= (--value) "
            "names the columns of values if every row is a series"
        )


def _label_among(table: Table, values: Sequence[str]) -> str | None:
    """A column of few whole numbers among others: the labels."""
    rows = len(table.lines)
    if rows < 4 or len(values) < 3:
        return None
    whole = [
        name for name in values
        if np.isfinite(table[name]).all() and bool((table[name] == np.round(table[name])).all())
    ]  # fmt: skip
    few = [name for name in whole if 2 <= len(np.unique(table[name])) <= max(2, rows // 2)]
    at_ends = [name for name in few if name in (values[0], values[-1])]
    if not at_ends or len(whole) > len(values) / 2:
        if not table.named and len(whole) == len(values):
            raise ValueError(
                "all columns hold whole numbers, so it cannot be told which are labels: label= "
                "(--label) names the column of labels, value= (--value) the values if there are "
                "no labels"
            )
        return None
    if len(whole) > 1 or table.named:
        listed = " and ".join(map(repr, at_ends))
        raise ValueError(
            f"column {listed} holds a few whole numbers and looks like labels: label= (--label) "
            "names the labels, value= (--value) the columns of values"
        )
    return at_ends[0]


# Long tables


def long_roles(table: Table, roles: Roles, asked: Columns) -> Roles:
    """The columns of a table with a time point in each row."""
    label, values = roles.label, list(roles.values)
    if asked.value is None:
        texts = [name for name in values if table.is_text(name)]
        if label is None and len(texts) == 1 and roles.id is not None:
            label = texts.pop()
        if texts:
            raise ValueError(_about_text(table, texts, label))
        values = [name for name in values if name != label]
        for name in values if len(values) > 1 else []:
            if roles.id is not None and _constant_within(table[name], table[roles.id]):
                what = "labels" if label is None else "an attribute of the series"
                role = "label= (--label) or " if label is None else ""
                raise ValueError(
                    f"column {name!r} does not change within a series: it looks like {what}, not "
                    f"like a channel; {role}drop= (--drop) settles it"
                )
    texts = [name for name in values if table.is_text(name)]
    if texts:
        raise ValueError(_about_text(table, texts, label))
    if not values:
        raise ValueError("there is no column of values")
    return roles._replace(label=label, values=values)


def _constant_within(column: Array, ids: Array) -> bool:
    first, codes = order_of_appearance(ids)
    return bool(len(first) > 1 and (column == column[first][codes]).all())
