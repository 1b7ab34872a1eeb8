"""What commands share: input, output, values as people write them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from warplearn import catalogue
from warplearn.cli.options import Reading
from warplearn.cli.terminal import console, say

if TYPE_CHECKING:
    from rich.table import Table

    from warplearn.datasets import Dataset


def table_of(first: str, *others: str, **options: Any) -> Table:
    """A table whose first column stays whole on a narrow terminal."""
    from rich.table import Table

    table = Table(**options)
    table.add_column(first, no_wrap=True, overflow="fold")
    for name in others:
        table.add_column(name, overflow="fold")
    return table


def print_json(value: Any) -> None:
    """Print a value as JSON, on one line."""
    say(json.dumps(value, default=_plain))


def print_summary(summary: Mapping[str, Any], as_json: bool) -> None:
    """Print names and values, errors as percentages."""
    if as_json:
        print_json(summary)
        return
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, value in summary.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{key} {each}" for key, each in value.items())
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        table.add_row(name.replace("_", " "), f"{text} %" if name.endswith("error") else text)
    console().print(table)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def collect_warnings(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The result of some work, and the warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    return result, list(dict.fromkeys(str(warning.message) for warning in caught))


def load_series(source: str, reading: Reading, *, dtype: str = "float32") -> Dataset:
    """The series of a file, or of the data set with this name; a line says what they are."""
    from warplearn import datasets

    given = reading.options()
    if datasets.is_file(source):
        data = datasets.read(source, **given)
    else:
        if given:
            name = next(iter(given))
            raise typer.BadParameter(f"is for files, not for the data set {source!r}: {name}")
        if reading.split not in ("train", "test", "all", None):
            raise typer.BadParameter(
                f"must be train, test or all, got {reading.split!r}", param_hint="--split"
            )
        split = None if reading.split == "all" else reading.split
        data = datasets.load(source, split, reading.data)
    say(f"{source}: {data.describe()}", err=True)
    return data.replace(X=data.X.astype(dtype), name=data.name or Path(source).stem)


def check_labelled(data: Dataset) -> Dataset:
    """The data set, if it has labels."""
    if len(data.y) == 0:
        raise ValueError(f"{data.name} has no labels; --label names their column")
    return data


def check_classes(data: Dataset) -> Dataset:
    """The data set, if its labels are those of classes."""
    classes = len(set(check_labelled(data).y.tolist()))
    if classes == len(data.y) > 3:
        raise ValueError(
            f"each of the {classes} series of {data.name} has a label of its own, such as "
            f"{str(data.y[0])!r}: labels of classes are needed, --label names their column"
        )
    if classes == 1:
        raise ValueError(f"all series of {data.name} have the same label, {str(data.y[0])!r}")
    return data


def parse_value(text: str) -> Any:
    """A value as people write it: JSON if it is that, else the text itself.

    So 1 is an integer, 0.1 a float, and 10% a text, as `warplearn.elastic.extent` tells cells from
    shares.
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return {"None": None, "True": True, "False": False}.get(text, text)


def parse_extent(text: str | None, option: str) -> Any:
    """A number of cells (1), a share of the length (0.1, 10%), or None."""
    from warplearn.elastic.extent import Extent

    if text is None:
        return None
    value = parse_value(text)
    try:
        Extent.of(value, option)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    return value


def parse_settings(given: list[str], option: str, *, several: bool = False) -> dict[str, Any]:
    """`["alpha=0.1", "tol=0"]` as a dictionary; with `several`, values are lists `1,0.1,0.01`."""
    settings: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"must be NAME=VALUE, got {text!r}", param_hint=option)
        if several:
            settings[name] = [parse_value(each) for each in value.split(",")]
        else:
            settings[name] = parse_value(value)
    return settings


def estimator_for(task: str, command: str, option: str = "--method") -> type:
    """The class of the estimator that the command line calls by this name."""
    return catalogue.estimator_class(named(catalogue.commands(task), command, option))


def make(cls: type, parameters: Mapping[str, Any], seed: int | None = None, jobs: int = 1) -> Any:
    """An estimator with these parameters, of which unknown ones get a message.

    The seed and the number of threads are for estimators that have them.
    """
    known = cls().get_params()
    for name in parameters:
        if name not in known:
            listed = ", ".join(sorted(known))
            raise typer.BadParameter(
                f"{cls.__name__} has no parameter {name!r}; it has {listed}", param_hint="--param"
            )
    common = {"random_state": seed, "n_jobs": jobs}
    return cls(**{**{name: common[name] for name in common if name in known}, **parameters})


def named(table: Mapping[str, Any], name: str, option: str) -> Any:
    """An entry of a table, or a message that lists them."""
    if name not in table:
        raise typer.BadParameter(
            f"must be one of {', '.join(table)}, got {name!r}", param_hint=option
        )
    return table[name]
