"""How much each time step contributes to the output of a model.

The output of an elastic linear model is a sum over the cells of a warping path.  The cells of a row
of the grid belong to one time step, so the sum splits into contributions of time steps.  Where the
path climbs columns within a row, one time step is counted several times.  Long climbs are common
at the first and the last step, because a path begins and ends in corners of the grid.  So what
climbing adds is shown apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate_paths
from warplearn._kernels.recursion.local import Product
from warplearn.series.collection import SeriesCollection
from warplearn.training.matrices import Operands


class Explanation(NamedTuple):
    """Contributions of time steps to outputs.

    Attributes
    ----------
    contributions : array (cases, time) or (cases, channels, time)
        0 behind the end of a series; for several outputs with a first axis for them.
    bias : float, array (outputs,) or None
        What completes the contributions to the outputs; None if they do not add up (occlusion).
    climbing : array, optional
        The part of `contributions` that is due to climbing, of elastic linear models only.  A time
        step whose row of the grid has k cells of the path is counted k times: its climbing part is
        (k - 1) / k of its contribution.
    """

    contributions: NDArray[Any]
    bias: Any
    climbing: NDArray[Any] | None = None

    @property
    def along(self) -> NDArray[Any]:
        """Contributions without climbing: each time step counted once."""
        return self.contributions if self.climbing is None else self.contributions - self.climbing


def contributions(
    some: SeriesCollection, operands: Operands, mix: NDArray[np.float64], length: int
) -> NDArray[np.float64]:
    """For each output the sum of `x_i w_ij` over the cells of each row on the active paths.

    An array (2, outputs, cases, length) or (2, outputs, cases, channels, length): contributions,
    and their climbing part.  Channels derived from one channel of a series are added up.
    """
    series = operands.series(some)
    by_matrix = np.stack([_along_paths(series, operands, unit) for unit in range(len(mix))])
    mixed = np.einsum("up...,uo->po...", by_matrix, mix)
    by_name = mixed.reshape(*mixed.shape[:3], len(operands.channels), -1, series.max_length)
    parts = np.zeros((*mixed.shape[:3], by_name.shape[4], length))
    parts[..., : series.max_length] = by_name.sum(axis=3)
    return parts[..., 0, :] if parts.shape[3] == 1 else parts


def _along_paths(series: SeriesCollection, operands: Operands, unit: int) -> NDArray[np.float64]:
    """Contributions to the score of one matrix and their climbing part.

    An array (2, cases, channels, time).
    """
    values, W = series.values, operands.W[unit]
    paths = evaluate_paths(
        Product(), values, series.lengths, W[None], band=operands.band, n_jobs=operands.n_jobs
    ).paths
    case = np.repeat(np.arange(len(series)), [len(path) for path in paths])
    i, j = np.concatenate(list(paths)).T
    row, n_rows = case * values.shape[1] + i, len(series) * values.shape[1]
    visits = np.bincount(row, minlength=n_rows)
    products = values[case, i].astype(np.float64) * W[i, j]
    totals = np.stack([np.bincount(row, channel, n_rows) for channel in products.T])
    climbing = totals * (1 - 1 / np.maximum(visits, 1))
    shape = (2, values.shape[2], *values.shape[:2])
    return np.stack([totals, climbing]).reshape(shape).swapaxes(1, 2)
