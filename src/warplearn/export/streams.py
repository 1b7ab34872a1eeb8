"""Programs that keep the last row of each grid: linear models, networks, prototypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.export.program import SINGLE, Number, Program, Table
from warplearn.export.readout import Readout

_COUNTER = 4  # bytes of the number of samples
_ENDLESS = 2**31 - 1


def stream_program(
    weights: NDArray[Any],
    readout: Readout,
    tables: list[Table],
    parts: list[str],
    *,
    about: str,
    number: Number = SINGLE,
    constants: Mapping[str, int | str] | None = None,
    scratch: int = 0,
) -> Program:
    """A program that takes a sample in O(m) time and memory.

    Parameters
    ----------
    weights : array (matrices, n, m, channels), or (matrices, m, channels)
        With three axes, all rows of a matrix are the same and series are of any length.
    readout : Readout
    tables : list of Table
        Without the weights.
    parts : list of str
        Templates of the local score, of taking a sample, and of the outputs; the recursion and the
        stream stand before the outputs.
    about : str
        What the weights are.
    number : Number
    constants : mapping, optional
        More constants.
    scratch : int
        Bytes of the stack that the outputs need.
    """
    units, (columns, channels) = len(weights), weights.shape[-2:]
    whole = weights.ndim == 4
    sizes: dict[str, int | str] = {
        "LENGTH": weights.shape[1] if whole else _ENDLESS,
        "CHANNELS": channels,
        "UNITS": units,
        "COLUMNS": columns,
        "ROW_STRIDE": columns * channels if whole else 0,
        "UNIT_STRIDE": weights[0].size,
    }
    local, take, *outputs = parts
    return Program(
        {**sizes, **readout.constants, **(constants or {})},
        [Table("weights", weights, about), *tables],
        [local, take, "recursion", "stream", *outputs, *readout.parts],
        state=4 * units * columns + _COUNTER,
        scratch=scratch + 4 * int(readout.constants["OUTPUTS"]) + 4 * channels,
        labels=readout.labels,
        number=number,
    )


def bytes_of(numbers: Any) -> NDArray[np.uint8]:
    """Places in a table of at most 256 entries."""
    return np.asarray(numbers).astype(np.uint8)
