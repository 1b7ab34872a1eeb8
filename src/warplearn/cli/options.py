"""Options of commands, and what turns a function into a command.

Options that several commands share are the fields of a data class.  A command takes one such object
(`reading: TestReading`), and `friendly` puts the fields in its place: typer sees each of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from warplearn.cli import INTERRUPTED
from warplearn.cli.terminal import say

R = TypeVar("R")

FAILED = 1

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DataFolder = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with data sets; else WARPLEARN_DATA and the cache."),
]
Series = Annotated[str, typer.Argument(help="Series: a file or the name of a data set.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all chance.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", help="Threads; -1 is all cores.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="File to write.")]

_TABLE = "Columns of a table (.csv, .tsv, .txt, .parquet)"
_UNEVEN = "Time stamps and missing values"


@dataclass(frozen=True)
class Reading:
    """Where series are looked for, and how a file of them is read."""

    data: DataFolder = None
    split: Annotated[
        str | None, typer.Option(help="Of a data set given by name: train, test, or all.")
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            help="Labels. Columns without names are 0, 1, ...; -1 is the last.",
            rich_help_panel=_TABLE,
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(help="Which series a row belongs to: a long table.", rich_help_panel=_TABLE),
    ] = None
    time: Annotated[
        str | None, typer.Option(help="Time stamps of a long table.", rich_help_panel=_TABLE)
    ] = None
    value: Annotated[
        list[str] | None,
        typer.Option(
            help="Values, such as x or 't*'; may be repeated. Default: the other columns.",
            rich_help_panel=_TABLE,
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(help="What to leave out; may be repeated.", rich_help_panel=_TABLE),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            help="A character, tab or blank. Default: told from the text.", rich_help_panel=_TABLE
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row names columns. Default: told from the text.",
            rich_help_panel=_TABLE,
        ),
    ] = None
    resample: Annotated[
        bool,
        typer.Option("--resample", help="Interpolate at equal steps.", rich_help_panel=_UNEVEN),
    ] = False
    interpolation: Annotated[
        str,
        typer.Option(help="Of --resample: linear, nearest or previous.", rich_help_panel=_UNEVEN),
    ] = "linear"
    step: Annotated[
        float | None,
        typer.Option(
            help="Of --resample, in seconds for dates. Default: the median.",
            rich_help_panel=_UNEVEN,
        ),
    ] = None
    missing: Annotated[
        str,
        typer.Option(
            help="error, or interpolate values that are missing inside a series.",
            rich_help_panel=_UNEVEN,
        ),
    ] = "error"

    def options(self) -> dict[str, Any]:
        """The options of `warplearn.datasets.read` that were given."""
        given = {name: getattr(self, name) for name in ("label", "id", "time", "value", "drop")}
        given |= {"delimiter": self.delimiter, "header": self.header, "step": self.step}
        given["resample"] = self.interpolation if self.resample else None
        given["missing"] = None if self.missing == "error" else self.missing
        return {name: value for name, value in given.items() if value not in (None, [])}


@dataclass(frozen=True)
class TrainReading(Reading):
    """By default training series."""

    split: Annotated[
        str | None, typer.Option(help="Of a data set given by name: train, test, or all.")
    ] = "train"


@dataclass(frozen=True)
class TestReading(Reading):
    """By default test series."""

    __test__ = False  # no test, whatever pytest takes its name for

    split: Annotated[
        str | None, typer.Option(help="Of a data set given by name: train, test, or all.")
    ] = "test"


def friendly(function: Callable[..., R]) -> Callable[..., R]:
    """Make a command: options out of data classes, and a message for a user's mistake."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            own = get_type_hints(groups[name], include_extras=True)
            parameters += [
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default,
                    annotation=own[field.name],
                )
                for field in fields(groups[name])
            ]  # fmt: skip
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(annotation=hints[name], kind=kind))

    @functools.wraps(function)
    def wrapped(**given: Any) -> R:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return _call(function, given)

    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapped


def _call(function: Callable[..., R], given: dict[str, Any]) -> R:
    """Turn a user's mistake into a message on standard error and exit code 1."""
    try:
        return function(**given)
    except KeyboardInterrupt:
        say("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:  # nobody reads on, as with `| head`
        raise typer.Exit(FAILED) from None
    except MemoryError as error:
        say(f"error: not enough memory. {error}", err=True)
        raise typer.Exit(FAILED) from None
    except (ValueError, TypeError, OSError) as error:
        say(f"error: {error}", err=True)
        raise typer.Exit(FAILED) from None
    except ModuleNotFoundError as error:
        if (error.name or "warplearn").startswith("warplearn"):
            raise
        say(f"error: {error.name} is missing; run: pip install {error.name}", err=True)
        raise typer.Exit(FAILED) from None
