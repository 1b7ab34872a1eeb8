"""Records: named parameters with functions that the compiler puts in their place.

A *record* is a `NamedTuple` class of named numbers, such as a local score and its parameters.  A
kernel gets the numbers, and the compiler chooses the functions that belong to the class (`record`).

Compiled kernels are kept on disk, keyed by the types of their arguments.  The type of a record
carries a digest of the code of its functions, and no reference to the class.  So a kernel compiled
for a function that has changed since, or whose class is gone, is never reused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from numbers import Real
from types import CodeType
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    overload,
    register_model,
    typeof_impl,
    unbox,
)

from warplearn._kernels.simd.caching import digest
from warplearn._kernels.simd.compiling import INLINED, with_module


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
        as_float = context.pyapi.number_float(value)
        setattr(record, field, context.pyapi.float_as_double(as_float))
        context.pyapi.decref(as_float)
        context.pyapi.decref(value)
    return NativeValue(record._getvalue())


def _instructions(code: CodeType) -> list[bytes]:
    """Bytecode, and the names and constants it refers to."""
    pieces = [code.co_code, repr((code.co_names, code.co_varnames, code.co_freevars)).encode()]
    for constant in code.co_consts:
        nested = isinstance(constant, CodeType)
        pieces += _instructions(constant) if nested else [repr(constant).encode()]
    return pieces


def _code_of(function: Callable[..., Any], seen: set[int]) -> list[bytes]:
    """Bytecode, constants and the global numbers and functions that a function uses."""
    if id(function) in seen:
        return []
    seen.add(id(function))
    pieces = [*_instructions(function.__code__), repr(function.__defaults__).encode()]
    variables = inspect.getclosurevars(function)
    for name, value in sorted({**variables.globals, **variables.nonlocals}.items()):
        pieces.append(name.encode())
        value = getattr(value, "py_func", value)  # of a function that is compiled already
        if inspect.isfunction(value):
            pieces += _code_of(value, seen)
        elif isinstance(value, np.ndarray):
            pieces += [repr((value.dtype, value.shape)).encode(), value.tobytes()]
        elif isinstance(value, (int, float, str, bool, tuple, np.generic)):
            pieces.append(repr(value).encode())
    return pieces


def record(cls: type, **implementations: tuple[Callable[..., Any], Callable[..., Any]]) -> None:
    """Let kernels take instances of a `NamedTuple` class, with functions that belong to it.

    Each keyword gives `(generic, own)`: where a kernel calls `generic(instance, ...)`, the
    compiler puts `own`.
    """
    name = f"{cls.__module__}.{cls.__qualname__}"
    pieces: list[bytes] = []
    for _, own in implementations.values():
        pieces += _code_of(with_module(own), set())
    own_digest = digest(*pieces)
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    kind = RecordType(name, own_digest, fields)

    @typeof_impl.register(cls)
    def _typeof_record(value, context):
        for field, parameter in zip(fields, value, strict=True):
            if not isinstance(parameter, Real):
                raise TypeError(f"{cls.__name__}.{field} must be a number, got {parameter!r}")
        return kind

    for generic, own in implementations.values():

        def choose(instance, *args, _own=own):
            if isinstance(instance, RecordType) and instance.record == name:
                return _own if instance.digest == own_digest else None
            return None

        overload(generic, strict=False, jit_options=INLINED)(choose)
