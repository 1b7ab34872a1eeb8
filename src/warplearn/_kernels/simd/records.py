"""Facts a kernel is compiled for: constants and small parameter records.

`Static(16)` is a number known to the compiler: a kernel that gets another one is another kernel.
A *record* is a class of named numbers, such as a local score and its parameters; a kernel gets the
numbers, and the compiler chooses the functions that belong to the class (`implement`).

Numba keeps compiled kernels on disk, keyed by the types of their arguments.  The types made here
carry a digest of the code behind them, and no reference to a class, so a kernel compiled for a
function that has changed since, or whose class is gone, is never found again.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable
from functools import cache
from numbers import Real
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_constant
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    overload,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)

# The number 0 where a variable starts with it and is then given to a function: from a literal
# Numba first compiles the function for that literal.
ZERO: Any = np.int64(0)


def _digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()


# An inlined function is compiled into its caller's file, whose time stamp is all Numba looks at.
SOURCES = _digest(*(p.read_bytes() for p in sorted(Path(__file__).parents[1].rglob("*.py"))))


# Parts are called for every number.  Dividing by zero gives infinity, as everywhere in the kernels.
_OPTIONS = {"error_model": "numpy", "forceinline": True}
part = register_jitable(**_OPTIONS)


class Static:
    """A number that is fixed when a kernel is compiled."""

    def __init__(self, value: int) -> None:
        self.value = int(value)

    def __repr__(self) -> str:
        return f"Static({self.value})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self.value == other.value

    def __hash__(self) -> int:
        return hash((Static, self.value))


class StaticType(types.Type):
    def __init__(self, value: int) -> None:
        self.value = value
        super().__init__(name=f"Static({value}, {SOURCES})")


register_model(StaticType)(models.OpaqueModel)


@cache
def static_type(value: int) -> StaticType:
    return StaticType(value)


@typeof_impl.register(Static)
def _typeof_static(value, context):
    return static_type(value.value)


class Facts(tuple[Any, ...]):
    """A tuple whose type is worked out once: Numba takes long to look at one of many `Static`."""

    type: types.Type


@cache
def facts(*values: Static | int) -> Facts:
    """Several facts for one argument of a kernel."""
    made = Facts(values)
    made.type = types.Tuple([typeof(value) for value in values])
    return made


@typeof_impl.register(Facts)
def _typeof_facts(value, context):
    return value.type


@unbox(StaticType)
def _unbox_static(typ, obj, context):
    return NativeValue(context.context.get_dummy_value())


@lower_constant(StaticType)
def _constant_static(context, builder, typ, value):
    return context.get_dummy_value()


@intrinsic
def number(typingctx, static):
    """The value of a `Static`; any other number is itself."""

    def codegen(context, builder, sig, args):
        if isinstance(static, StaticType):
            return context.get_constant(types.intp, static.value)
        return args[0]

    return types.intp(static if isinstance(static, StaticType) else types.intp), codegen


def switch(generic: Callable[..., Any], *implementations: Callable[..., Any]) -> None:
    """Let the value of a `Static`, the first argument, choose what is compiled for `generic`."""

    def choose(static, *args):
        if isinstance(static, StaticType) and static.value < len(implementations):
            return implementations[static.value]
        return None

    overload(generic, strict=False, jit_options=_OPTIONS)(choose)


class RecordType(types.Type):
    """The numbers of a record, all float64, and the name and digest of what belongs to it."""

    def __init__(self, record: str, digest: str, fields: tuple[str, ...]) -> None:
        self.record = record
        self.digest = digest
        self.fields = fields
        super().__init__(name=f"Record({record}, {digest}, {', '.join(fields)})")


@register_model(RecordType)
class _RecordModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [(field, types.float64) for field in fe_type.fields])


@infer_getattr
class _RecordField(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, typ, attr):
        return types.float64 if attr in typ.fields else None


@lower_getattr_generic(RecordType)
def _lower_field(context, builder, typ, value, attr):
    return getattr(cgutils.create_struct_proxy(typ)(context, builder, value=value), attr)


@unbox(RecordType)
def _unbox_record(typ, obj, context):
    record = cgutils.create_struct_proxy(typ)(context.context, context.builder)
    for field in typ.fields:
        value = context.pyapi.object_getattr_string(obj, field)
        number = context.pyapi.number_float(value)
        setattr(record, field, context.pyapi.float_as_double(number))
        context.pyapi.decref(number)
        context.pyapi.decref(value)
    return NativeValue(record._getvalue())


def _instructions(code: CodeType) -> list[bytes]:
    """Bytecode, and the names and constants it refers to by number."""
    parts = [code.co_code, repr((code.co_names, code.co_varnames, code.co_freevars)).encode()]
    for constant in code.co_consts:
        nested = isinstance(constant, CodeType)
        parts += _instructions(constant) if nested else [repr(constant).encode()]
    return parts


def _code_parts(function: Callable[..., Any], seen: set[int]) -> list[bytes]:
    """Bytecode, constants and the global numbers and functions that a function uses."""
    if id(function) in seen:
        return []
    seen.add(id(function))
    parts = [*_instructions(function.__code__), repr(function.__defaults__).encode()]
    variables = inspect.getclosurevars(function)
    for name, value in sorted({**variables.globals, **variables.nonlocals}.items()):
        parts.append(name.encode())
        value = getattr(value, "py_func", value)  # of a function that is compiled already
        if inspect.isfunction(value):
            parts += _code_parts(value, seen)
        elif isinstance(value, np.ndarray):
            parts += [repr((value.dtype, value.shape)).encode(), value.tobytes()]
        elif isinstance(value, (int, float, str, bool, tuple, np.generic)):
            parts.append(repr(value).encode())
    return parts


def record(cls: type, **implementations: tuple[Callable[..., Any], Callable[..., Any]]) -> None:
    """Let kernels take instances of a `NamedTuple` class, with functions that belong to it.

    Each keyword gives `(generic, own)`: where a kernel calls `generic(instance, ...)`, the
    compiler puts `own`.
    """
    name = f"{cls.__module__}.{cls.__qualname__}"
    parts: list[bytes] = []
    for _, own in implementations.values():
        parts += _code_parts(own, set())
        if own.__module__ not in sys.modules:  # text given to `exec` has no module to import,
            own.__module__ = __name__  # as Numba does with kernels that it finds on disk
    digest = _digest(*parts)
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    kind = RecordType(name, digest, fields)

    @typeof_impl.register(cls)
    def _typeof_record(value, context):
        for field, parameter in zip(fields, value, strict=True):
            if not isinstance(parameter, Real):
                raise TypeError(f"{cls.__name__}.{field} must be a number, got {parameter!r}")
        return kind

    for generic, own in implementations.values():

        def choose(instance, *args, _own=own):
            if isinstance(instance, RecordType) and instance.record == name:
                return _own if instance.digest == digest else None
            return None

        overload(generic, strict=False, jit_options=_OPTIONS)(choose)
