"""Constants that a kernel is compiled for.

`Static(16)` is an integer known to the compiler: a kernel that gets another one is compiled anew.
`value_of` reads it, and `switch` lets it choose between implementations.  A class of named
constants, decorated with `constants`, is one argument of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, TypeVar

import numpy as np
from numba import typeof, types
from numba.core.datamodel import models
from numba.core.imputils import lower_constant
from numba.extending import (
    NativeValue,
    intrinsic,
    overload,
    register_model,
    typeof_impl,
    unbox,
)

from warplearn._kernels.simd.compiling import INLINED

Class = TypeVar("Class", bound=type)

# The integers 0 and 1 where a variable starts with them and is then given to a function: from a
# literal Numba first compiles the function for that literal.
ZERO: Any = np.int64(0)
ONE: Any = np.int64(1)


class Static:
    """An integer that is fixed when a kernel is compiled; there is one object for each value."""

    _made: ClassVar[dict[int, Static]] = {}
    value: int

    def __new__(cls, value: int) -> Static:
        made = cls._made.get(value)
        if made is None:
            made = super().__new__(cls)
            made.value = int(value)
            made = cls._made.setdefault(made.value, made)
        return made

    def __repr__(self) -> str:
        return f"Static({self.value})"

    def __reduce__(self) -> tuple[type[Static], tuple[int]]:
        return Static, (self.value,)


NO, YES = Static(0), Static(1)


class StaticType(types.Type):
    """The Numba type of a `Static`: its value is part of the type."""

    def __init__(self, value: int) -> None:
        self.value = value
        super().__init__(name=f"Static({value})")


register_model(StaticType)(models.OpaqueModel)


@cache
def static_type(value: int) -> StaticType:
    """The type of `Static(value)`."""
    return StaticType(value)


@typeof_impl.register(Static)
def _typeof_static(value, context):
    return static_type(value.value)


@unbox(StaticType)
def _unbox_static(typ, obj, context):
    return NativeValue(context.context.get_dummy_value())


@lower_constant(StaticType)
def _constant_static(context, builder, typ, value):
    return context.get_dummy_value()


def constants(cls: Class) -> Class:
    """Decorate a `NamedTuple` class of constants: its instances' types are worked out once.

    Fields are `Static`, or plain integers where a value is not known to the compiler.  Without the
    decorator Numba looks at each field again at every call of a kernel, which takes long.
    """
    kinds: dict[Any, types.Type] = {}

    @typeof_impl.register(cls)
    def _typeof_constants(value, context):
        kind = kinds.get(value)
        if kind is None:
            kind = kinds[value] = types.BaseTuple.from_types([typeof(v) for v in value], cls)
        return kind

    return cls


@intrinsic
def value_of(typingctx, static):
    """The value of a `Static`; any other integer is itself."""

    def codegen(context, builder, sig, args):
        if isinstance(static, StaticType):
            return context.get_constant(types.intp, static.value)
        return args[0]

    return types.intp(static if isinstance(static, StaticType) else types.intp), codegen


def when(static, function, *args):
    """Call a function if a `Static` is not 0.  Else the function is not even compiled."""
    raise NotImplementedError


@overload(when, strict=False, jit_options=INLINED)
def _when(static, function, *args):
    calls = isinstance(static, StaticType) and static.value != 0
    return _call_with(len(args), calls)


@cache
def _call_with(count: int, calls: bool) -> Any:
    """What `when` is for so many arguments, each by its name: in a tuple they would be counted."""
    names = ", ".join(f"a{i}" for i in range(count))
    result = f"function({names})" if calls else "None"
    return eval(f"lambda static, function, {names}: {result}")


def switch(generic: Callable[..., Any], *implementations: Callable[..., Any]) -> None:
    """Let the value of a `Static`, the first argument, choose what is compiled for `generic`."""

    def choose(static, *args):
        if isinstance(static, StaticType) and static.value < len(implementations):
            return implementations[static.value]
        return None

    overload(generic, strict=False, jit_options=INLINED)(choose)
