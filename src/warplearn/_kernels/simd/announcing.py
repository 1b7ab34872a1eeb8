"""A line on standard error while a kernel is compiled for more than a second, once a process.

Numba tells of each compilation by an event.  Nothing is said when a kernel is found on disk, and
nothing about Numba functions of other people.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from numba.core import event

from warplearn._kernels.simd.caching import KernelCache

_PATIENCE = 1.0  # seconds
MESSAGE = "warplearn: compiling for this CPU, once; `warplearn warmup` does it ahead of time"


class _Announcer(event.Listener):
    """Waits for kernels that take long to compile."""

    def __init__(self) -> None:
        self.silent = False
        self._timer: threading.Timer | None = None  # one: Numba compiles in one thread at a time

    def on_start(self, event: Any) -> None:
        if not self.silent and _of_ours(event):
            self._timer = threading.Timer(_PATIENCE, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event: Any) -> None:
        if self._timer is not None and _of_ours(event):
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        if self.silent:
            return
        self.silent = True
        # Standard error of now: a live display puts a proxy there, which prints above itself.
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            sys.stderr.write(f"{MESSAGE}\n")
            sys.stderr.flush()


def _of_ours(event: Any) -> bool:
    """Whether an entry point of this library is compiled; what it calls has events of its own."""
    return isinstance(event.data["dispatcher"]._cache, KernelCache)


_ANNOUNCER = _Announcer()


def announce_compilations() -> None:
    """Say, from now on, that kernels are compiled."""
    event.register("numba:compile", _ANNOUNCER)


@contextmanager
def unannounced() -> Iterator[None]:
    """Say nothing: somebody else tells that kernels are compiled."""
    before, _ANNOUNCER.silent = _ANNOUNCER.silent, True
    try:
        yield
    finally:
        _ANNOUNCER.silent = before
