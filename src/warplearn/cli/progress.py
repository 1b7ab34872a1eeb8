"""What a command shows while it works: a bar on standard error, if that is a terminal.

Estimators print their progress if they are asked to (`verbose`).  Here these lines become the text
beside the bar.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any


class _Lines(io.TextIOBase):
    """A stream that passes on each line that is written to it."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._rest = tell, ""

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines[-1:]:
            self._tell(line)
        return len(text)


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar while something is done; it yields a function that says that a part is done.

    Parameters
    ----------
    what : str
        Shown in front of the bar.
    total : int, optional
        The number of parts; without it the bar only shows that work goes on, and for how long.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False), BarColumn(),
        TextColumn("{task.fields[note]}", markup=False), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task(what, total=total, note="")

        def tell(line: str) -> None:
            bar.update(task, note=line.strip()[:40])

        with redirect_stdout(_Lines(tell)):
            yield lambda: bar.advance(task)


def fit_with_progress(model: Any, what: str, *data: Any) -> Any:
    """Fit a model, and show what it tells of it."""
    talks = sys.stderr.isatty() and "verbose" in model.get_params()
    if talks:
        model.set_params(verbose=1)
    with working(what):
        model.fit(*data)
    if talks:
        model.set_params(verbose=0)
    return model
