"""The command line, `warplearn`.

A file has the commands of one subject.  typer and rich come with the extra `cli`, so the files are
imported when the application is made.
"""

import sys
from typing import TYPE_CHECKING, Annotated

from warplearn import __version__

if TYPE_CHECKING:
    import typer

_TITLE = """Learning on time series under elastic transformations.

Series are files (.tsv, .ts, .arff, .npz, .parquet, .txt) or names of data sets, as `warplearn
datasets list` shows them.
"""


def application() -> "typer.Typer":
    """The commands, as typer takes them."""
    import typer

    from warplearn.cli import benching, data, models, studies, unsupervised

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

    for module in (studies, models, unsupervised, data, benching):
        module.add_to(app)
    return app


def main() -> None:
    """Run the command line; without its extra, say how to get it."""
    try:
        app = application()
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        sys.exit(f"warplearn: {error.name} is missing; run: pip install 'warplearn[cli]'")
    app()
