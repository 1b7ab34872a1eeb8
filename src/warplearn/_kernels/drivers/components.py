"""The pluggable components of a training step: losses, penalties, schedules.

Each is a record (see `records`) of its parameters with functions of scalars, or, for penalties, of
vectors.  Kernels call the functions below; the compiler puts those of the record's class.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def model_value(loss, y, f, first, size):
    """The loss of a model whose outputs are `f[first : first + size]`, with targets in y alike."""
    raise NotImplementedError


def model_slopes(loss, y, f, slopes, first, size):
    """Write its derivatives to `slopes[first : first + size]`."""
    raise NotImplementedError


def model_mistake(loss, y, f, first, size):
    """Whether a classifier with these outputs is wrong."""
    raise NotImplementedError


def penalty_value(penalty, w):
    """A penalty of strength 1, of a vector of weights."""
    raise NotImplementedError


def penalty_slope(penalty, w):
    """Its derivative."""
    raise NotImplementedError


def rate_at(schedule, eta, t):
    """The learning rate of epoch t, counted from 0, for the initial rate eta."""
    raise NotImplementedError


@intrinsic
def with_parameters(typingctx, record, parameters, row):
    """The record with the numbers of one row of a table of parameters."""

    def codegen(context, builder, sig, args):
        built = cgutils.create_struct_proxy(record)(context, builder)
        table = context.make_array(parameters)(context, builder, args[1])
        for column, field in enumerate(record.fields):
            at = builder.mul(args[2], args[2].type(len(record.fields)))
            address = builder.gep(table.data, [builder.add(at, at.type(column))])
            setattr(built, field, builder.load(address))
        return built._getvalue()

    return record(record, parameters, types.intp), codegen
