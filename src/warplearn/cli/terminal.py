"""What is written to the terminal: text, and never commands to it (see `warplearn.text`)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import typer

from warplearn.text import printable

if TYPE_CHECKING:
    from rich.console import Console


def say(text: Any, *, err: bool = False) -> None:
    """Write lines, to standard error if they are no results."""
    typer.echo(printable(text), err=err)


def field(text: Any) -> str:
    """A text that stays in its column and line."""
    return printable(text, keep="")


def console(**options: Any) -> Console:
    """A console for results, whose texts are shown as they are: none is markup."""
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        """A console that shows no control characters."""

        def render_str(self, text: str, **options: Any) -> Text:
            """Called for each text, also in tables."""
            return super().render_str(printable(text), **options)

    return Plain(highlight=False, markup=False, emoji=False, **options)


def tame_warnings() -> None:
    """Let Python write its warnings as text too."""
    written = warnings.formatwarning
    warnings.formatwarning = lambda *given, **options: printable(written(*given, **options))
