"""Elastic linear models in C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.export.fixed import FixedPoint
from warplearn.export.program import SINGLE, Number, Program, Table, as_float32
from warplearn.export.readout import MOST_CLASSES, Readout, classes, targets
from warplearn.export.streams import bytes_of, stream_program
from warplearn.linear_model.base import LinearModel

_ORDER = "(matrix, row, column, channel)"


class _Layout(NamedTuple):
    """What float32 and fixed point differ in."""

    weights: NDArray[Any]
    about: str
    worth: NDArray[Any] | float  # of a score of 1, by matrix
    parts: list[str]
    number: Number
    constants: Mapping[str, int | str]
    tables: list[Table]


def _in_float(model: LinearModel) -> _Layout:
    W = as_float32(model.matrices_, "coef_")
    return _Layout(W, f"Weights {_ORDER}", 1.0, ["product", "plain", "linear"], SINGLE, {}, [])


def _in_fixed_point(fixed: FixedPoint) -> _Layout:
    W = fixed.weights
    return _Layout(
        W, f"Weights {_ORDER}, each matrix with a scale of its own", fixed.scales / fixed.levels,
        ["product", "fixed", "levels", "linear"],
        Number("int16_t", f"{W.dtype.name}_t", "int32_t", "INT32_MIN"), {"LEVELS": fixed.levels},
        [Table("steps", fixed.steps, "What samples are multiplied with, by channel")],
    )  # fmt: skip


def linear_program(model: LinearModel, fixed: FixedPoint | None) -> Program:
    """A linear model in float32 or, if given, in fixed point."""
    layout = _in_float(model) if fixed is None else _in_fixed_point(fixed)
    own = model._context.readout
    factors = own.mix.sum(axis=1) * layout.worth  # a matrix counts for one output
    biases = model.intercept_ @ own.mix + own.offset
    places = bytes_of(own.mix.astype(bool).argmax(axis=1))
    tables = [
        *layout.tables,
        Table("output_of", places, "Outputs of the matrices"),
        Table("factors", as_float32(factors, "coef_"), "What a score of 1 adds to its output"),
        Table("biases", as_float32(biases, "intercept_"), "Outputs begin with these"),
    ]
    return stream_program(
        layout.weights, _readout(model, own.mix.shape[1]), tables, layout.parts,
        about=layout.about, number=layout.number, constants=layout.constants,
    )  # fmt: skip


def _readout(model: Any, outputs: int) -> Readout:
    if not hasattr(model, "classes_"):
        if outputs > MOST_CLASSES:
            raise ValueError(
                f"the model must have at most {MOST_CLASSES} targets to be exported, got {outputs}"
            )
        return targets(outputs)
    sharpness = 1.0 if hasattr(model, "predict_proba") else None
    zero = int(model.polarity_.classes_of(np.zeros(1))[0])
    return classes(model.classes_, sharpness=sharpness, class_of_zero=zero)
