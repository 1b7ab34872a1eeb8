"""Own data: tables in text files and in data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .assembling import StrPath, stem
from .columns import Columns, Table
from .dataset import Dataset, MalformedFileError
from .delimited import read_table
from .shapes import Steps, understand


def read_csv(
    file: StrPath,
    *,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    delimiter: str | None = None,
    header: bool | None = None,
    resample: str | None = None,
    step: float | None = None,
    missing: str = "error",
) -> Dataset:
    r"""Read a table of series from a text file, such as CSV.

    A wide table has a series in each row: a column of labels and a column for each time step.  A
    long table has a time point in each row: identifier of the series, time, values, label.  Which
    column is what is told by names such as `id`, `time`, `label` and `class`, and where there are
    none by what the columns hold.  Whatever could be meant in two ways is refused, and the error
    says which argument settles it.

    Parameters
    ----------
    file : path
        May be compressed, `.csv.gz`.
    label : str, optional
        The column of the labels.  Columns of a file without header are called 0, 1, 2, ...; -1 is
        the last.
    id : str, optional
        The column that says which series a row belongs to: the table is long.
    time : str, optional
        The column of time stamps of a long table, numbers or dates in ISO 8601.
    value : str or list of str, optional
        The columns of values: time steps of a wide table, channels of a long one.  Patterns such as
        "t*" name several columns.  By default all that have no other use.
    drop : str or list of str, optional
        Columns, or patterns of columns, to leave out.
    delimiter : str, optional
        A character, "tab" or "blank"; by default told from the text.
    header : bool, optional
        Whether the first row names the columns; by default told from the text.
    resample : {"linear", "nearest", "previous"}, optional
        Interpolate at equal steps.  By default uneven time stamps and gaps are refused.
    step : float, optional
        The step to resample at, in seconds for dates; by default the median of all steps.
    missing : {"error", "interpolate"}, default="error"
        What to do with values that are missing inside a series.  At its end they are padding.

    Returns
    -------
    Dataset
        `describe()` says in one line what was understood.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "my.csv"
    >>> _ = file.write_text("class;t0;t1;t2\nup;0.1;0.5;0.9\ndown;0.9;0.4;0.1\n")
    >>> data = read_csv(file)
    >>> data.describe()
    "2 series of length 3, label column 'class', 2 classes, delimiter 'semicolon'"
    >>> X, y = data
    """
    path = Path(file)
    path.stat()  # or raise FileNotFoundError
    table = read_table(path, delimiter, header)
    return dataset_of(
        path, table, asked_columns(label, id, time, value, drop),
        Steps(resample, step, missing),
    )  # fmt: skip


def from_frame(
    frame: Any,
    *,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    drop: str | Sequence[str] = (),
    resample: str | None = None,
    step: float | None = None,
    missing: str = "error",
) -> Dataset:
    """Take series and labels from a data frame, wide or long, as `read_csv` takes them from a file.

    Parameters
    ----------
    frame : pandas or polars data frame, or mapping of names to arrays
    label, id, time, value, drop, resample, step, missing
        As for `read_csv`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> frame = {"id": [1, 1, 2, 2], "time": [0, 1, 0, 1], "v": [0.0, 1.0, 5.0, 6.0],
    ...          "class": ["a", "a", "b", "b"]}
    >>> from_frame(frame).describe()
    "2 series of length 2, id column 'id', time column 'time', label column 'class', 2 classes"
    """
    columns = asked_columns(label, id, time, value, drop)
    found = understand(table_of(frame), columns, Steps(resample, step, missing))
    y = np.array([], dtype=str) if found.y is None else found.y
    return Dataset(found.X, y, "", type(frame).__name__, description=found.description)


def dataset_of(path: Path, table: Table, columns: Columns, steps: Steps) -> Dataset:
    """The series of a table that was read from a file; errors name the file."""
    try:
        found = understand(table, columns, steps)
    except ValueError as error:
        raise MalformedFileError(path, None, str(error)) from error
    y = np.array([], dtype=str) if found.y is None else found.y
    return Dataset(found.X, y, stem(path), str(path), description=found.description)


def table_of(frame: Any) -> Table:
    """A data frame, or a mapping of names to arrays, as a table."""
    if not isinstance(frame, Mapping) and not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise TypeError(f"frame must be a data frame or a mapping of names to arrays, got {kind}")
    names = list(frame.columns) if hasattr(frame, "columns") else list(frame)
    columns = [_column(frame[name]) for name in names]
    lengths = {len(column) for column in columns}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"the columns of the frame must have the same length, got {lengths}")
    rows = np.arange(1, lengths.pop() + 1)
    return Table([str(name) for name in names], columns, True, rows, [])


def _column(given: Any) -> NDArray[Any]:
    array = np.asarray(given.to_numpy() if hasattr(given, "to_numpy") else given)
    if array.dtype.kind in "iufb":
        return array.astype(np.float64)
    if array.dtype.kind == "M":
        return array
    try:  # None among numbers makes objects of them
        return np.array([np.nan if each is None else each for each in array], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(["" if each is None else str(each) for each in array], dtype=str)


def asked_columns(label: Any, id: Any, time: Any, value: Any, drop: Any) -> Columns:
    """What a user says about the columns of a table."""
    label, id, time = (None if name is None else str(name) for name in (label, id, time))
    return Columns(label, id, time, _listed(value, "value"), _listed(drop, "drop") or ())


def _listed(names: Any, argument: str) -> Sequence[str] | None:
    """Names of columns as a list, also of one."""
    if names is None or isinstance(names, str):
        return names if names is None else [names]
    try:
        return [str(name) for name in names]
    except TypeError as error:
        raise TypeError(f"{argument} must be names of columns, got {names!r}") from error
