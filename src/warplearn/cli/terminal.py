"""What is written to the terminal: text, and never commands to it.

Labels, names and messages come from files of others.  Control characters in them could move the
cursor, change the title or hide text, so they are shown as escapes, as Python writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def printable(text: Any, keep: str = "") -> str:
    r"""A text in which characters that cannot be seen are escapes, such as \x1b.

    Parameters
    ----------
    text : object
        Its `str` is taken.
    keep : str
        Characters that stay as they are, such as line ends.
    """
    given = str(text)
    if given.isprintable():
        return given
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode()
        for each in given
    )


def say(text: Any, *, err: bool = False) -> None:
    """Write lines, to standard error if they are no results."""
    typer.echo(printable(text, keep="\n\t"), err=err)


def console(**options: Any) -> Console:
    """A console for results, whose texts are shown as they are: none is markup."""
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        """A console that shows no control characters."""

        def render_str(self, text: str, **options: Any) -> Text:
            """Called for each text, also in tables."""
            return super().render_str(printable(text, keep="\n\t"), **options)

    return Plain(highlight=False, markup=False, emoji=False, **options)
