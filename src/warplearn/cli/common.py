"""What commands share: input, output, and messages instead of tracebacks."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from warplearn import catalogue
from warplearn.cli import INTERRUPTED
from warplearn.elastic.extent import Extent

if TYPE_CHECKING:
    from warplearn.datasets import Dataset

P = ParamSpec("P")
R = TypeVar("R")

FAILED = 1

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with data sets; else WARPLEARN_DATA and the cache."),
]
Split = Annotated[
    str | None, typer.Option(help="Of a data set given by name: train, test, or all.")
]
Series = Annotated[str, typer.Argument(help="Series: a file or the name of a data set.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all chance.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", help="Threads; -1 is all cores.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]


def friendly(command: Callable[P, R]) -> Callable[P, R]:
    """Turn a user's mistake into a message on standard error and exit code 1."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # nobody reads on, as with `| head`
            raise typer.Exit(FAILED) from None
        except MemoryError as error:
            typer.echo(f"error: not enough memory. {error}", err=True)
            raise typer.Exit(FAILED) from None
        except (ValueError, TypeError, OSError) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(FAILED) from None
        except ModuleNotFoundError as error:
            if (error.name or "warplearn").startswith("warplearn"):
                raise
            typer.echo(f"error: {error.name} is missing; run: pip install {error.name}", err=True)
            raise typer.Exit(FAILED) from None

    return wrapped


def console() -> Console:
    """A console for results."""
    return Console(highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON, on one line."""
    typer.echo(json.dumps(value, default=_plain))


def print_summary(summary: Mapping[str, Any], as_json: bool) -> None:
    """Print names and values, errors as percentages."""
    if as_json:
        print_json(summary)
        return
    table = Table.grid(padding=(0, 2))
    for name, value in summary.items():
        if isinstance(value, Mapping):
            value = ", ".join(f"{key} {each}" for key, each in value.items())
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        table.add_row(name.replace("_", " "), f"{text} %" if name.endswith("error") else text)
    console().print(table)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def load_series(
    source: str, split: str | None, directory: Path | None, *, dtype: Any = np.float32
) -> Dataset:
    """The series of a file, or of the data set with this name."""
    from warplearn import datasets

    path = Path(source)
    if path.is_file():
        data = datasets.read(path)
    elif path.suffix or len(path.parts) > 1:
        raise FileNotFoundError(f"no file {source!r}")
    else:
        if split not in ("train", "test", "all", None):
            raise typer.BadParameter(
                f"must be train, test or all, got {split!r}", param_hint="--split"
            )
        data = datasets.load(source, None if split == "all" else split, directory)
    return data.replace(X=data.X.astype(dtype), name=data.name or path.stem)


def check_labelled(data: Dataset) -> Dataset:
    """The data set, if it has labels."""
    if len(data.y) == 0:
        raise ValueError(f"{data.name} has no labels")
    return data


def parse_value(text: str) -> Any:
    """A value as people write it: JSON if it is that, else the text itself.

    So 1 is an integer, 0.1 a float, and 10% a text, as `warplearn.elastic.extent` tells cells from
    shares.
    """
    with suppress(json.JSONDecodeError):
        return json.loads(text)
    return {"None": None, "True": True, "False": False}.get(text, text)


def parse_extent(text: str | None, option: str) -> Any:
    """A number of cells (1), a share of the length (0.1, 10%), or None."""
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
