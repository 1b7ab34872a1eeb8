"""How many threads, and whether a kernel runs in them.

A kernel has two doors with the same arguments: one that does its tasks one after the other, and a
parallel one, which takes longer to compile and is compiled only where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np


def thread_count(n_jobs: int | None) -> int:
    """How many threads `n_jobs` means: None is Numba's current setting, -1 all cores."""
    if n_jobs is None:
        return int(numba.get_num_threads())
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a non-zero integer, got {n_jobs!r}")
    most = int(numba.config.NUMBA_NUM_THREADS)
    return min(int(n_jobs), most) if n_jobs > 0 else max(1, most + 1 + int(n_jobs))


def in_threads(
    serial: Callable[..., None],
    parallel: Callable[..., None],
    arguments: tuple[Any, ...],
    threads: int,
) -> None:
    """Go through one of the doors of a kernel."""
    if threads == 1:
        serial(*arguments)
        return
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        parallel(*arguments)
    finally:
        numba.set_num_threads(before)
