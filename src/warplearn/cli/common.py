"""What commands share: input, output, and messages instead of tracebacks."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import numpy as np
import typer
from rich.console import Console

from warplearn import datasets

P = ParamSpec("P")
R = TypeVar("R")

FAILED, INTERRUPTED = 1, 130

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with data sets; else WARPLEARN_DATA and the cache."),
]
Split = Annotated[
    str | None, typer.Option(help="Of a data set given by name: train, test, or all.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all chance.")]
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


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def load_series(
    source: str, split: str | None, directory: Path | None, *, dtype: Any = np.float32
) -> datasets.Dataset:
    """The series of a file, or of the data set with this name."""
    path = Path(source)
    if path.is_file():
        found = datasets.read(path)
    elif path.suffix or len(path.parts) > 1:
        raise FileNotFoundError(f"no file {source!r}")
    else:
        if split not in ("train", "test", "all", None):
            raise typer.BadParameter(
                f"must be train, test or all, got {split!r}", param_hint="--split"
            )
        found = datasets.load(source, None if split == "all" else split, directory)
    return found._replace(X=found.X.astype(dtype), name=found.name or path.stem)


def parse_value(text: str) -> Any:
    """A value as people write it: JSON if it is that, else the text itself."""
    with suppress(json.JSONDecodeError):
        return json.loads(text)
    return {"None": None, "True": True, "False": False}.get(text, text)


def parse_settings(given: list[str], option: str, *, several: bool = False) -> dict[str, Any]:
    """`["eta=0.1", "lam=0"]` as a dictionary; with `several`, values are lists `1,0.1,0.01`."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"must be NAME=VALUE, got {text!r}", param_hint=option)
        if several:
            found[name] = [parse_value(each) for each in value.split(",")]
        else:
            found[name] = parse_value(value)
    return found


def make(cls: type, parameters: Mapping[str, Any], seed: int | None = None) -> Any:
    """An estimator with these parameters, of which unknown ones get a message."""
    known = cls().get_params()
    for name in parameters:
        if name not in known:
            listed = ", ".join(sorted(known))
            raise typer.BadParameter(
                f"{cls.__name__} has no parameter {name!r}; it has {listed}", param_hint="--param"
            )
    chance = {"random_state": seed} if "random_state" in known and seed is not None else {}
    return cls(**{**chance, **parameters})


def named(table: Mapping[str, Any], name: str, option: str) -> Any:
    """An entry of a table, or a message that lists them."""
    if name not in table:
        raise typer.BadParameter(
            f"must be one of {', '.join(table)}, got {name!r}", param_hint=option
        )
    return table[name]
