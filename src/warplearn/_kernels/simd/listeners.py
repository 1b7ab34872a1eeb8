"""What happens around the compilation of a kernel, of which Numba tells by events.

If it takes more than a second, a line on standard error says so, once a process.  Nothing is said
when a kernel is found on disk, and nothing about Numba functions of other people.  Python's garbage
collector waits meanwhile: it would take an eighth of the time.
"""

from __future__ import annotations

import gc
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


class _Collector(event.Listener):
    """Lets the garbage collector wait."""

    def __init__(self) -> None:
        self._waits = False

    def on_start(self, event: Any) -> None:
        if _of_ours(event) and gc.isenabled():
            self._waits = True
            gc.disable()

    def on_end(self, event: Any) -> None:
        if self._waits and _of_ours(event):
            self._waits = False
            gc.enable()


def _of_ours(event: Any) -> bool:
    """Whether an entry point of this library is compiled; what it calls has events of its own."""
    return isinstance(event.data["dispatcher"]._cache, KernelCache)


_ANNOUNCER = _Announcer()


def listen_to_compilations() -> None:
    """Say, from now on, that kernels are compiled, and do not disturb it."""
    event.register("numba:compile", _ANNOUNCER)
    event.register("numba:compile", _Collector())


@contextmanager
def unannounced() -> Iterator[None]:
    """Say nothing: somebody else tells that kernels are compiled."""
    before, _ANNOUNCER.silent = _ANNOUNCER.silent, True
    try:
        yield
    finally:
        _ANNOUNCER.silent = before
