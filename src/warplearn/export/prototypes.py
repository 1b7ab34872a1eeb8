"""Nearest prototypes in C: dynamic time warping of a growing series and a few fixed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from warplearn.averaging.spaces import to_kernel
from warplearn.elastic.costs import Absolute, Squared, resolve_distance
from warplearn.export.program import Program, Table, as_float32
from warplearn.export.readout import classes
from warplearn.export.streams import bytes_of, stream_program

_COSTS = {Squared: "squared", Absolute: "absolute"}


def prototype_program(model: Any) -> Program:
    """Prototypes in float32."""
    local, _ = resolve_distance(model.cost)
    if type(local) not in _COSTS:
        raise ValueError(
            f"cost must be one of {sorted(_COSTS.values())} to be exported, got {model.cost!r}"
        )
    centres = to_kernel(model.prototypes_, model.space, model.n_channels_in_)
    of_class = np.searchsorted(model.classes_, model.prototype_labels_)
    return stream_program(
        as_float32(centres, "prototypes_"), classes(model.classes_, sign=-1),
        [Table("output_of", bytes_of(of_class), "Classes of the prototypes")],
        [_COSTS[type(local)], "plain", "prototypes"],
        about="Prototypes (prototype, time, channel)",
    )  # fmt: skip
