"""Text of others, such as labels and names in files, as it may be shown."""

from __future__ import annotations

from typing import Any


def printable(text: Any, keep: str = "\n\t") -> str:
    r"""A text in which characters that cannot be seen are escapes, such as \x1b.

    A terminal would obey control characters: move the cursor, change the title, hide text.

    Parameters
    ----------
    text : object
        Its `str` is taken.
    keep : str, default="\n\t"
        Characters that stay as they are.
    """
    given = str(text)
    if given.isprintable():
        return given
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode()
        for each in given
    )
