"""The lesser and the greater of two numbers.

Python's `min` and `max` mean the same to a kernel, but Numba compiles a function for each call.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic


def _chooser(comparison):
    """An intrinsic that gives the number for which `number comparison other` holds."""

    def choose(typingctx, a, b):
        number = typingctx.unify_types(types.unliteral(a), types.unliteral(b))

        def codegen(context, builder, sig, args):
            real = isinstance(number, types.Float)
            compare = builder.fcmp_ordered if real else builder.icmp_signed
            return builder.select(compare(comparison, args[0], args[1]), args[0], args[1])

        return number(number, number), codegen

    return intrinsic(choose)


lesser = _chooser("<")
greater = _chooser(">")
