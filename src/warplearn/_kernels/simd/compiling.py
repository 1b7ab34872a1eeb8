"""How functions are compiled.

Entry points, which Python calls, are `entry` or `parallel_entry`, and kept on disk (`caching`).
All others are called by kernels only and are `inner` or `inlined`: compiling a function for calls
from Python would often take longer than compiling the function itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.extending import register_jitable

from warplearn._kernels.simd.caching import KernelCache
from warplearn._kernels.simd.listeners import listen_to_compilations
from warplearn._kernels.simd.pipeline import PartCompiler, WholeCompiler

_ENTRY = {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": WholeCompiler}
_PART = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler}

# Dividing by zero gives infinity in functions that are chosen by the type of an argument.
INLINED = {"error_model": "numpy", "forceinline": True, **_PART}

inner = njit(nogil=True, **_PART)
inlined = njit(nogil=True, forceinline=True, **_PART)

listen_to_compilations()


def with_module(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function a module that exists: text handed to `exec` has none.

    Numba imports the modules of all functions in a kernel that it finds on disk.
    """
    if function.__module__ not in sys.modules:
        function.__module__ = __name__
    return function


def compilable(function: Callable[..., Any]) -> Any:
    """For functions of users: Python can still call them, and kernels inline them."""
    return register_jitable(error_model="numpy", forceinline=True)(with_module(function))


def entry(function: Callable[..., Any], *, parallel: bool = False) -> Any:
    """Compile an entry point when it is called, unless it is on disk."""
    compiled = njit(parallel=parallel, **_ENTRY)(function)
    compiled._cache = KernelCache(function)
    return compiled


def parallel_entry(function: Callable[..., Any]) -> Any:
    """An entry point whose loops over `prange` run in threads."""
    return entry(function, parallel=True)
