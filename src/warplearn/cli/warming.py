"""`warplearn warmup`: compile ahead of time."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from warplearn.cli.options import friendly


@friendly
def warmup(
    families: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FAMILY]...",
            help="distances, linear, features, networks, neighbors, clusters; by default all.",
        ),
    ] = None,
    dtype: Annotated[
        list[str] | None, typer.Option(help="float32 or float64, may be repeated; else both.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("-j", "--jobs", help="Threads that later calls use; -1 is all cores.")
    ] = 1,
    processes: Annotated[int, typer.Option(min=1, help="Processes that compile side by side.")] = 1,
) -> None:
    """Compile the kernels of common calls, so that later processes need not.

    Kernels for one thread, the default of the library, and for several, the default of these
    commands, are different.

    Example: `warplearn warmup features --dtype float32 --processes 2`
    """
    from warplearn.compilation import DTYPES, common_calls, compile_calls

    calls = common_calls(families, dtype or DTYPES, jobs)
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("compiling", total=len(calls))
        for call in compile_calls(calls, processes):
            progress.update(task, advance=1, description=str(call))


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(warmup)
