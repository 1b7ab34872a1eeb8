"""How many threads, and whether a kernel runs in them.

Each kernel has a serial and a parallel entry point with the same arguments.  The parallel one takes
longer to compile and is compiled only where it is used.

Numba's threads do not survive a fork: GNU OpenMP ends a child that uses them.  So a process that
was forked after threads had been started runs serial entry points only.  And Numba's own threads,
the layer `workqueue`, abort the process if two Python threads use them at once.  So these take
turns.

`n_jobs` governs linear algebra too: BLAS would otherwise take all cores, and on a busy machine its
threads wait for each other.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")

# With fewer cells for each thread, which take less than a millisecond, starting threads costs more
# than it saves, and so does compiling a parallel entry point.
_LEAST_CELLS = 4_000_000


def thread_count(n_jobs: int | None) -> int:
    """How many threads `n_jobs` means, as in scikit-learn.

    None means 1, or what an enclosing `joblib.parallel_config` says.  -1 means all threads that
    Numba has, -2 all but one, and so on.
    """
    if n_jobs is None:
        n_jobs = _configured()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a non-zero integer, got {n_jobs!r}")
    most = int(numba.config.NUMBA_NUM_THREADS)
    return min(int(n_jobs), most) if n_jobs > 0 else max(1, most + 1 + int(n_jobs))


def worth_threads(threads: int, cells: float) -> int:
    """As many of the threads as there is work for."""
    return max(1, min(threads, int(cells / _LEAST_CELLS)))


def _configured() -> int:
    """The n_jobs of an enclosing `joblib.parallel_config`, else 1.

    Nobody has entered one before joblib is imported, so this does not import it.
    """
    joblib = sys.modules.get("joblib.parallel")
    if joblib is None:
        return 1
    _, n_jobs = joblib.get_active_backend()
    return 1 if n_jobs is None else int(n_jobs)


class _Threads:
    """Numba's threads, as far as this process may use them."""

    def __init__(self) -> None:
        self.lost = False
        self.turn = threading.Lock()

    def forget(self) -> None:
        """In a process that was just forked: threads and locks were those of its parent."""
        self.lost = self.lost or _layer() is not None
        self.turn = threading.Lock()

    def alone(self) -> AbstractContextManager[Any]:
        """Let no other Python thread use the threads, if they cannot bear it."""
        return self.turn if _layer() == "workqueue" else nullcontext()


def _layer() -> str | None:
    """The library that Numba has started threads with, if it has."""
    try:
        return str(numba.threading_layer())
    except ValueError:
        return None


_THREADS = _Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THREADS.forget)


def in_threads(
    serial: Callable[..., None],
    parallel: Callable[..., None],
    arguments: tuple[Any, ...],
    threads: int,
) -> None:
    """Call one of the two entry points of a kernel."""
    if threads == 1 or _THREADS.lost:
        serial(*arguments)
        return
    before = numba.get_num_threads()  # starts the threads
    numba.set_num_threads(threads)
    try:
        with _THREADS.alone():
            parallel(*arguments)
    finally:
        numba.set_num_threads(before)


@cache
def _blas() -> ThreadpoolController:
    """NumPy and SciPy may each have a library of their own; looking for them takes milliseconds."""
    import_module("scipy.linalg")  # loads its library
    return ThreadpoolController().select(user_api="blas")


def blas_threads(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Let linear algebra use as many threads as `n_jobs` says."""
    limits: AbstractContextManager[Any] = _blas().limit(limits=thread_count(n_jobs))
    return limits


def limits_blas(method: Callable[P, R]) -> Callable[P, R]:
    """Let linear algebra in a method of an estimator use as many threads as its `n_jobs` says."""

    @wraps(method)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with blas_threads(args[0].n_jobs):  # type: ignore[attr-defined]
            return method(*args, **kwargs)

    return limited
