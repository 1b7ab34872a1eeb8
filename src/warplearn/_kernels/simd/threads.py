"""How many threads, and whether a kernel runs in them.

Each kernel has a serial and a parallel entry point with the same arguments.  The parallel one takes
longer to compile and is compiled only where it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numba
import numpy as np


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


def _configured() -> int:
    """The n_jobs of an enclosing `joblib.parallel_config`, else 1.

    Nobody has entered one before joblib is imported, so this does not import it.
    """
    joblib = sys.modules.get("joblib.parallel")
    if joblib is None:
        return 1
    _, n_jobs = joblib.get_active_backend()
    return 1 if n_jobs is None else int(n_jobs)


def in_threads(
    serial: Callable[..., None],
    parallel: Callable[..., None],
    arguments: tuple[Any, ...],
    threads: int,
) -> None:
    """Call one of the two entry points of a kernel."""
    if threads == 1:
        serial(*arguments)
        return
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        parallel(*arguments)
    finally:
        numba.set_num_threads(before)
