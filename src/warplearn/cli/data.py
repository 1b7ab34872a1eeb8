"""`warplearn datasets`: what data there is, and how to get more."""

from __future__ import annotations

from typing import Annotated

import typer

from warplearn.cli.common import print_json, table_of
from warplearn.cli.options import AsJson, DataFolder, Reading, friendly
from warplearn.cli.terminal import console, say

Name = Annotated[str, typer.Argument(help="Name of a data set.")]


@friendly
def list_sets(data: DataFolder = None, json: AsJson = False) -> None:
    """List the data sets that need no download.

    Example: `warplearn datasets list --data UCRArchive_2018`
    """
    from warplearn import datasets

    available = datasets.available(data)
    if json:
        print_json(available)
        return
    table = table_of("name", "where", "what")
    for name, place in available.items():
        table.add_row(name, place, datasets.description(name))
    console().print(table)


@friendly
def get(name: Name, json: AsJson = False) -> None:
    """Download a data set of the UCR/UEA archive into the cache.

    Example: `warplearn datasets get GunPoint`
    """
    from warplearn import datasets

    folder = datasets.download(name)
    if json:
        print_json({"name": name, "folder": str(folder)})
    else:
        say(str(folder))


@friendly
def info(
    name: Annotated[str, typer.Argument(help="Name of a data set, or a file.")],
    reading: Reading,
    json: AsJson = False,
) -> None:
    """Describe a data set or a file: how many series, how long, of which classes.

    Examples
    --------
    `warplearn datasets info WarpedBumps`

    `warplearn datasets info my.csv --id machine`
    """
    from rich.table import Table

    from warplearn import datasets

    about = datasets.info(name, reading.data, **reading.options())
    if json:
        print_json(about._asdict())
        return
    shown = about._asdict()
    if about.n_test is None:
        shown = {"n_series" if key == "n_train" else key: each for key, each in shown.items()}
        del shown["n_test"]
    table = Table.grid(padding=(0, 2))
    for field, value in shown.items():
        if value == "":
            continue  # nothing is known, such as the citation of a file of one's own
        text = " to ".join(map(str, value)) if field == "lengths" else value
        table.add_row(field, ", ".join(text) if isinstance(text, tuple) else str(text))
    console().print(table)


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="List, describe and download data sets.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("list")(list_sets)
    group.command()(get)
    group.command()(info)
    app.add_typer(group, name="datasets")
