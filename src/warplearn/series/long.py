"""Long tables: a row for each time point, with a column that says which series it belongs to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.series.steps import (
    Points,
    as_stamps,
    check_choices,
    even_series,
    without_missing,
    without_padding,
)

Array = NDArray[Any]


class Grouped(NamedTuple):
    """The series of a long table.

    Attributes
    ----------
    series : list of array (channels, time)
        In the order in which their identifiers first appear.
    rows : array of int (series,)
        The first row of each series.
    codes : array of int (rows,)
        The number of the series that each row belongs to.
    step : float
        Between time points; dates are in seconds.
    notes : list of str
        What a reader should know: sorted rows, padding that was cut.
    """

    series: list[Array]
    rows: Array
    codes: Array
    step: float
    notes: list[str]


def group(
    ids: Array,
    stamps: Array | None,
    values: Array,
    *,
    resample: str | None = None,
    step: float | None = None,
    missing: str = "error",
) -> Grouped:
    """Put the series of a long table together.

    Parameters
    ----------
    ids : array (rows,)
    stamps : array (rows,), optional
        Time stamps, as `as_stamps` returns them; by default rows are in order.
    values : array (rows, channels)
    resample, step, missing
        As for `SeriesCollection.from_long`.
    """
    check_choices(resample, missing)
    first, codes = order_of_appearance(ids)
    by_series = np.argsort(codes, kind="stable")
    members = np.split(by_series, np.cumsum(np.bincount(codes))[:-1])
    time = np.arange(len(ids)) if stamps is None else stamps
    points, unsorted, padded = [], 0, 0
    for rows in members:
        name = f"series {str(ids[rows[0]])!r}"
        own = Points.of(name, time[rows], values[rows])
        unsorted += not np.array_equal(own.stamps, time[rows])
        cut = without_padding(own)
        padded += len(cut.time) < len(own.time)
        points.append(without_missing(cut, missing))
    series, usual = even_series(points, resample if stamps is not None else None, step)
    notes = []
    if unsorted:
        notes.append(f"the rows of {unsorted} series were sorted by time")
    if padded:
        notes.append(f"{padded} series end in missing values, taken as padding")
    if resample is not None:
        notes.append(f"resampled at steps of {usual:g}")
    return Grouped([x.T.astype(values.dtype) for x in series], first, codes, usual, notes)


def order_of_appearance(ids: Array) -> tuple[Array, Array]:
    """The first row of each distinct value, ascending, and which of these each row has."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[inverse]


def column_of(frame: Any, name: Any, argument: str) -> Array:
    """A column of a data frame, or of a mapping of arrays."""
    try:
        column = frame[name]
    except Exception as error:  # each library has its own
        columns = getattr(frame, "columns", None)
        names = list(frame if columns is None else columns)
        listed = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
        raise ValueError(f"{argument} must be a column of {listed}, got {name!r}") from error
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    return array.astype(str) if array.dtype.kind == "O" else array


def from_frame(
    frame: Any,
    id: Any,
    time: Any,
    value: Any,
    *,
    resample: str | None,
    step: float | None,
    missing: str,
) -> Grouped:
    """The series of a data frame in long form."""
    names = [value] if isinstance(value, str) or not np.iterable(value) else list(value)
    if not len(names):
        raise ValueError("value must name at least one column, got none")
    columns = []
    for name in names:
        column = column_of(frame, name, "value")
        if column.dtype.kind not in "iufb":
            try:  # None among numbers makes a column of objects
                column = np.where(column == "None", "nan", column).astype(np.float64)
            except ValueError:
                raise ValueError(f"value must name columns of numbers, {name!r} is not") from None
        columns.append(column)
    ids = column_of(frame, id, "id")
    absent = np.isin(ids.astype(str), ("", "None", "nan", "NaN", "NaT", "<NA>"))
    if absent.any():
        raise ValueError(f"column {id!r} has no identifier at row {absent.argmax()}")
    stamps = None if time is None else as_stamps(column_of(frame, time, "time"), f"column {time!r}")
    small = all(column.dtype == np.float32 for column in columns)
    values = np.column_stack(columns).astype(np.float32 if small else np.float64)
    return group(ids, stamps, values, resample=resample, step=step, missing=missing)
