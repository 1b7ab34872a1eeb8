"""Elastic networks in C."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplearn.export.program import Program, Table, as_float32
from warplearn.export.readout import classes, targets
from warplearn.export.streams import stream_program
from warplearn.neural_network.mlp import ElasticMLP


def network_program(model: ElasticMLP) -> Program:
    """A network in float32."""
    *layers, (V, c) = zip(model.dense_coefs_, model.dense_intercepts_, strict=True)
    V, c, readout = _last(model, V, c)
    layers = [*layers, (V, c)]
    sizes = [len(model.intercept_), *(len(c) for _, c in layers)]
    dense = np.concatenate([np.vstack([V, c]).T.ravel() for V, c in layers])
    tables = [
        Table("means", as_float32(model.mean_, "mean_"), "Means of the channels"),
        Table("scales", as_float32(model.scale_, "scale_"), "Deviations of the channels"),
        Table("biases", as_float32(model.intercept_, "intercept_"), "Biases of the elastic units"),
        Table("sizes", np.array(sizes, np.int32), "Units of the layers"),
        Table("dense", as_float32(dense, "dense_coefs_"), "Dense layers (layer, unit, input)"),
    ]
    return stream_program(
        as_float32(model.matrices_, "coef_"), readout, tables,
        ["product", "standardized", model.activation, "network"],
        about="Weights of the elastic units (unit, row, column, channel)",
        constants={"LAYERS": len(layers), "WIDEST": max(sizes)}, scratch=8 * max(sizes),
    )  # fmt: skip


def _last(model: Any, V: Any, c: Any) -> tuple[Any, Any, Any]:
    """The last layer and the readout; of two classes, one output will do."""
    if not hasattr(model, "classes_"):
        scale = model._target_scale
        return V * scale.deviation, c * scale.deviation + scale.mean, targets(len(c))
    if len(c) == 2:
        V, c = V[:, 1:] - V[:, :1], c[1:] - c[:1]
    return V, c, classes(model.classes_, sharpness=1.0)
