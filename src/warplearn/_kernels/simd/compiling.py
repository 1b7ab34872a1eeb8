"""How functions are compiled.

Entry points, which Python calls, are `entry` or `parallel_entry`, and kept on disk (`caching`).
All others are called by kernels only and are `inner` or `inlined`: compiling a function for calls
from Python would often take longer than compiling the function itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import register_jitable

from warplearn._kernels.simd.caching import KernelCache
from warplearn._kernels.simd.listeners import listen_to_compilations


class _Part(JITCodeLibrary):
    """Code that is optimized, and turned into machine code, only as a part of an entry point.

    Numba would do both for every function on its own, and again for everything that calls it: what
    is deep inside a kernel would be optimized once a level.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)


class _NoEnvironment:
    """A code generator that does not look for the environment of a function without address."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, env: Any) -> None:
        pass


class _PartCompiler(Compiler):
    """Compiles to a `_Part`."""

    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *args: Any) -> None:
        if library is None:
            library = _Part(targetctx.codegen(), "part")
        super().__init__(typingctx, targetctx, library, *args)


_PART = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _PartCompiler,
}

# Dividing by zero gives infinity in functions that are chosen by the type of an argument.
INLINED = {"error_model": "numpy", "forceinline": True, **_PART}

inner = njit(nogil=True, **_PART)
inlined = njit(nogil=True, forceinline=True, **_PART)

# For functions of users: Python can still call them, and kernels inline them.
compilable = register_jitable(error_model="numpy", forceinline=True)

listen_to_compilations()


def entry(function: Callable[..., Any], *, parallel: bool = False) -> Any:
    """Compile an entry point when it is called, unless it is on disk."""
    compiled = njit(nogil=True, parallel=parallel)(function)
    compiled._cache = KernelCache(function)
    return compiled


def parallel_entry(function: Callable[..., Any]) -> Any:
    """An entry point whose loops over `prange` run in threads."""
    return entry(function, parallel=True)
