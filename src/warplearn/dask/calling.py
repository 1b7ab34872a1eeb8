"""Single functions on a cluster, such as the steps of a study."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from distributed import Client

from warplearn._kernels.simd.threads import blas_threads
from warplearn.dask.graphs import RETRIES

_STEP = 0.02  # seconds between looks at a task


def caller(client: Client) -> Callable[..., Any]:
    """A function that calls another one on a worker, and waits for what it returns.

    It is called from threads, each of which has one task at a time.  An interrupt in a thread
    cancels its task.
    """

    def call(function: Callable[..., Any], *args: Any) -> Any:
        future = client.submit(_run, function, args, pure=False, retries=RETRIES)
        try:
            while not future.done():  # a wait without limit could not be interrupted
                time.sleep(_STEP)
            return future.result()
        finally:
            future.cancel(force=True)

    return call


def _run(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    with blas_threads(1):
        return function(*args)
