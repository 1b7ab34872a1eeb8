"""How functions are compiled.

Entry points, which Python calls, are decorated with `njit(nogil=True, cache=True)`.  All others are
called by kernels only and are `inner` or `inlined`: compiling a function for calls from Python
would often take longer than compiling the function itself.
"""

from __future__ import annotations

from numba import njit
from numba.extending import register_jitable

_INTERNAL = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# Dividing by zero gives infinity in functions that are chosen by the type of an argument.
INLINED = {"error_model": "numpy", "forceinline": True}

inner = njit(**_INTERNAL)
inlined = njit(**_INTERNAL, forceinline=True)

# For functions of users: Python can still call them, and kernels inline them.
compilable = register_jitable(**INLINED)
