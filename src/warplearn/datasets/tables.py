"""Reader of Parquet: one file, or a folder of files that are read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection

from .assembling import StrPath, as_dataset, check_label, cut, labels_of, stem
from .columns import Columns, Table
from .dataset import Dataset, MalformedFileError
from .own import asked_columns, dataset_of, table_of
from .shapes import Steps, only_labels

_BLOCK_ELEMENTS = 2**21  # that are read from a file of a folder at a time


def read_parquet(
    file: StrPath,
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
    """Read a table, wide or long, or one whose cells are lists; or a folder of wide tables.

    Parameters
    ----------
    file : path
        Of a folder, all files `*.parquet`, in the order of their names, each with a series in a
        row.  Only labels are read at once; series are checked, and are read again, some rows at a
        time, when they are needed.
    label, id, time, value, drop, resample, step, missing
        As for `read_csv`.  If cells hold lists, each column of lists is a channel, a row is a
        series, and of these only `label`, `drop` and `missing` have a meaning; of a folder only
        `label`, by default "label".
    """
    path = Path(file)
    path.stat()  # or raise FileNotFoundError
    if path.is_dir():
        return _read_folder(path, label or "label")
    frame = _load(path)
    polars = _polars()
    nested = [
        n for n, kind in frame.schema.items() if isinstance(kind, (polars.List, polars.Array))
    ]
    table = table_of(frame.drop(nested)) if len(nested) < len(frame.columns) else None
    columns = asked_columns(label, id, time, value, drop)
    if nested:
        channels = frame.select([name for name in nested if name not in columns.drop])
        return _of_lists(path, channels, table, columns, missing)
    if table is None:
        raise MalformedFileError(path, None, "there are no columns in it")
    return dataset_of(path, table, columns, Steps(resample, step, missing))


def _of_lists(
    path: Path, channels: Any, table: Table | None, columns: Columns, missing: str
) -> Dataset:
    """Rows whose cells are lists, a channel each; the only other column holds labels."""
    series = _series(path, channels, "", missing=missing)
    try:
        label, y = (None, None) if table is None else only_labels(table, columns)
    except ValueError as error:
        raise MalformedFileError(path, None, str(error)) from error
    data = as_dataset(path, series, np.array([], dtype=str) if y is None else y)
    named = f", label column {label!r}" if label else ""
    return data.replace(description=data.describe() + named)


def _polars() -> Any:
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "polars is missing, which reads parquet; run: pip install 'warplearn[data]'"
        ) from error
    return polars


def _load(path: Path, first: int = 0, count: int | None = None, columns: Any = None) -> Any:
    """Some rows and columns of a table."""
    polars = _polars()
    try:
        if first == 0 and count is None:
            return polars.read_parquet(path, columns=columns, use_pyarrow=False, memory_map=False)
        return polars.scan_parquet(path).slice(first, count).collect()
    except (Exception, polars.exceptions.PanicException) as error:
        raise MalformedFileError(path, None, f"not a table of series: {error}") from error


def _labels(path: Path, table: Any, label: str) -> list[str]:
    labels = table[label].to_list() if label in table.columns else []
    for row, value in enumerate(labels):
        check_label(path, None, f"row {row}: ", value)
    return [str(value) for value in labels]


def _series(
    path: Path, table: Any, label: str, first: int = 0, missing: str = "error"
) -> list[Any]:
    """The series of a table whose first row is row `first` of the file."""
    polars = _polars()
    names = [name for name in table.columns if name != label]
    nested = [isinstance(table[name].dtype, (polars.List, polars.Array)) for name in names]
    if any(nested) != all(nested):
        raise MalformedFileError(path, None, "columns must all hold lists, or all hold numbers")
    try:
        rows = table.select(names).rows()
    except (Exception, polars.exceptions.PanicException) as error:
        raise MalformedFileError(path, None, f"not a table of series: {error}") from error
    series = []
    for case, row in enumerate(rows, first):
        try:
            channels = [np.array(c or [], dtype=float) for c in (row if any(nested) else [row])]
        except (TypeError, ValueError) as error:
            raise MalformedFileError(path, None, f"row {case}: {error}") from error
        series.append(cut(path, None, f"row {case}: ", channels, missing))
    return series


def _read_folder(folder: Path, label: str) -> Dataset:
    parts, y = parts_of_folder(folder, label)
    try:
        X = SeriesCollection.chunks(parts)
    except ValueError as error:
        raise MalformedFileError(folder, None, str(error)) from error
    return Dataset(X, y, stem(folder), str(folder))


def parts_of_folder(
    folder: Path, label: str
) -> tuple[list[Callable[[], SeriesCollection]], NDArray[Any]]:
    """Functions that read some rows of the files of a folder each, and all labels."""
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise MalformedFileError(folder, None, "there are no files *.parquet in it")
    parts: list[Callable[[], SeriesCollection]] = []
    labels: list[str] = []
    labelled: bool | None = None
    for file in files:
        schema, rows = _described(file)
        if labelled not in (None, label in schema):
            which = "has none" if labelled else f"has the column {label!r}"
            raise MalformedFileError(
                file, None, f"labels must be in all files or in none, but this one {which}"
            )
        labelled = label in schema
        step = max(1, _BLOCK_ELEMENTS // _width(file, schema, label))
        parts += [partial(_rows, file, first, step, label) for first in range(0, rows, step)]
        labels += _labels(file, _load(file, columns=[label]), label) if labelled else []
    return parts, labels_of(labels)


def _described(file: Path) -> tuple[Any, int]:
    """The names and types of the columns of a file, and the number of its rows."""
    polars = _polars()
    try:
        scan = polars.scan_parquet(file)
        return scan.collect_schema(), int(scan.select(polars.len()).collect().item())
    except (Exception, polars.exceptions.PanicException) as error:
        raise MalformedFileError(file, None, f"not a table of series: {error}") from error


def _width(file: Path, schema: Any, label: str) -> int:
    """Elements of the first series of a file."""
    row = _load(file, 0, 1).drop(label, strict=False)
    lists = [value for value in (row.rows()[0] if len(row) else ()) if isinstance(value, list)]
    return max(1, sum(map(len, lists)) or len(schema))


def _rows(file: Path, first: int, count: int, label: str) -> SeriesCollection:
    """Some rows of a file."""
    table = _load(file, first, count)
    numbers = table.drop(label, strict=False)
    nulls = numbers.null_count().sum_horizontal()[0]
    if nulls == 0 and all(kind.is_float() for kind in numbers.dtypes):
        values = numbers.to_numpy()
        if np.isfinite(values).all():  # no padding to be cut
            return SeriesCollection.of(values.astype(values.dtype, order="C", copy=False))
    return SeriesCollection.of(_series(file, table, label, first))
