"""The command line, `warplearn`.

A file has the commands of one subject.  typer and rich come with the extra `cli`, so the files are
imported when the application is made.  These import what they need when a command is run, so that
`--help` is quick.
"""

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from warplearn import __version__

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130  # exit code, as shells have it

_TITLE = """Learning on time series under elastic transformations.

Series are files (.csv, .tsv, .ts, .arff, .npz, .parquet, .txt) or names of data sets, as
`warplearn datasets list` shows them.
"""


def application() -> "typer.Typer":
    """The commands, as typer takes them."""
    import typer

    from warplearn.cli import (
        benching,
        data,
        demo,
        exporting,
        prediction,
        studies,
        training,
        unsupervised,
        warming,
    )

    app = typer.Typer(
        help=_TITLE,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"warplearn {__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=show_version, is_eager=True, help="Show the version."
            ),
        ] = False,
    ) -> None: ...

    subjects = (
        demo, studies, training, prediction, exporting, unsupervised, data, benching, warming,
    )  # fmt: skip
    for module in subjects:
        module.add_to(app)
    return app


def main() -> None:
    """Run the command line; without its extra, say how to get it.

    An interrupted command ends the process without the interpreter's own exit, which may abort
    while threads still run compiled code.  Its exit code is 130 whenever the interrupt came.
    """
    try:
        try:
            app = application()
            from warplearn.cli.terminal import tame_warnings

            tame_warnings()
        except ModuleNotFoundError as error:
            if error.name not in ("rich", "typer"):
                raise
            sys.exit(f"warplearn: {error.name} is missing; run: pip install 'warplearn[cli]'")
        app()
    except (SystemExit, KeyboardInterrupt) as leaving:
        if not _interrupted(leaving) and getattr(leaving, "code", None) != INTERRUPTED:
            raise
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(INTERRUPTED)
    finally:
        gc.freeze()  # else the interpreter looks for garbage before it ends, for half a second


def _interrupted(leaving: BaseException | None) -> bool:
    """Whether an interrupt is why a command is left; what typer makes of one has another code."""
    while leaving is not None:
        if isinstance(leaving, KeyboardInterrupt):
            return True
        leaving = leaving.__cause__ or leaving.__context__
    return False
