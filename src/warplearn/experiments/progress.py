"""How far a study is: a live display on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Protocol, TextIO

from warplearn.text import printable


class Progress(Protocol):
    """What the runner tells of."""

    def __enter__(self) -> Progress: ...

    def __exit__(self, *_: Any) -> None: ...

    def begin(self, total: float, done: float, n_trials: int) -> None:
        """Begin: `total`, `done` are estimated work; `n_trials` is the number of trials to run."""

    def doing(self, label: str, activity: str | None) -> None:
        """A worker has begun an activity, or (None) ended all that have this label."""

    def advance(self, work: float, n_trials: int) -> None:
        """Some work and some trials are done."""

    def say(self, message: str) -> None:
        """Show a message on a line of its own."""

    def fail(self, label: str, message: str) -> None:
        """Show that a job failed, and why."""


class Clock:
    """Time left, by the work done since the start."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.start = now()
        self.before = self.done = self.total = 0.0

    def begin(self, total: float, done: float) -> None:
        """Set the work to do, and what of it was done before."""
        self.start, self.total, self.before, self.done = self.now(), total, done, done

    def left(self) -> float | None:
        """Seconds left, if anything is known about the speed."""
        made = self.done - self.before
        if made <= 0:
            return None
        return (self.now() - self.start) * (self.total - self.done) / made


def in_words(seconds: float | None) -> str:
    """A duration, as people say it."""
    if seconds is None:
        return "time left unknown yet"
    if seconds < 90:
        return f"about {max(seconds, 0):.0f} s left"
    return f"about {seconds / 60:.0f} min left"


class PlainProgress:
    """Lines, with the time left."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.clock = Clock()
        self.trials = self.of = 0

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: Any) -> None: ...

    def begin(self, total: float, done: float, n_trials: int) -> None:
        """See `Progress`."""
        self.clock.begin(total, done)
        self.of = n_trials

    def doing(self, label: str, activity: str | None) -> None:
        """See `Progress`."""

    def advance(self, work: float, n_trials: int) -> None:
        """See `Progress`."""
        self.clock.done += work
        self.trials += n_trials

    def say(self, message: str) -> None:
        """See `Progress`."""
        share = f"{self.trials} of {self.of} trials, {in_words(self.clock.left())}"
        print(printable(f"{message}  [{share}]"), file=self.stream, flush=True)

    def fail(self, label: str, message: str) -> None:
        """See `Progress`."""
        self.say(f"{label}: failed: {message}")


class FailuresOnly(PlainProgress):
    """Lines for failures, and nothing else."""

    def say(self, message: str) -> None:
        """See `Progress`."""

    def fail(self, label: str, message: str) -> None:
        """See `Progress`."""
        super().say(f"{label}: failed: {message}")


class RichProgress:
    """A live display of what is being done and how long it will take."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self.clock = Clock()
        self.bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            console=console,
        )
        self.whole: Any = None
        self.running: dict[str, Any] = {}
        self.trials = self.of = 0

    def __enter__(self) -> RichProgress:
        self.bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bars.stop()

    def begin(self, total: float, done: float, n_trials: int) -> None:
        """See `Progress`."""
        self.clock.begin(total, done)
        self.of = n_trials
        self.whole = self.bars.add_task("all", total=total, note="")

    def doing(self, label: str, activity: str | None) -> None:
        """See `Progress`."""
        if activity is None:
            if label in self.running:
                self.bars.remove_task(self.running.pop(label))
        elif label in self.running:
            self.bars.update(self.running[label], note=activity)
        else:
            self.running[label] = self.bars.add_task(printable(label), total=None, note=activity)

    def advance(self, work: float, n_trials: int) -> None:
        """See `Progress`."""
        self.clock.done += work
        self.trials += n_trials
        note = f"{self.trials}/{self.of} trials, {in_words(self.clock.left())}"
        self.bars.update(self.whole, completed=self.clock.done, note=note)

    def say(self, message: str) -> None:
        """See `Progress`."""
        self.bars.console.print(printable(message), highlight=False, markup=False)

    def fail(self, label: str, message: str) -> None:
        """See `Progress`."""
        self.bars.console.print(
            printable(f"{label}: failed: {message}"), style="red", highlight=False, markup=False
        )


def progress_for(stream: TextIO | None = None) -> PlainProgress | RichProgress:
    """The display that suits a stream, by default standard error."""
    stream = stream or sys.stderr
    if stream.isatty() and find_spec("rich"):
        from rich.console import Console

        return RichProgress(Console(file=stream))
    return PlainProgress(stream)
