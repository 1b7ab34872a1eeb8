"""How much each time step contributes to the output of an elastic linear model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Product
from warplearn.series.collection import SeriesCollection
from warplearn.training.estimator import Operands


class Explanation(NamedTuple):
    """Contributions of time steps to outputs, and the bias that completes them.

    Attributes
    ----------
    contributions : array (cases, time) or (cases, channels, time)
        0 behind the end of a series; for several outputs with a first axis for them.
    bias : float or array (outputs,)
    """

    contributions: NDArray[Any]
    bias: Any


def contributions(
    some: SeriesCollection, operands: Operands, mix: NDArray[np.float64], length: int
) -> NDArray[Any]:
    """For each output the sum of `x_i w_ij` over the cells of each row on the active paths.

    An array (outputs, cases, length) or (outputs, cases, channels, length).
    """
    series = operands.series(some)
    shape = (mix.shape[1], len(series), series.n_channels, length)
    by_output = np.zeros(shape, series.dtype)
    for column, by_time in zip(mix.T, by_output, strict=True):
        slopes = evaluate(
            Product(), series.values, series.lengths, operands.W, band=operands.band,
            want_series=True, upstream=np.broadcast_to(column, (len(series), len(column))),
            n_jobs=operands.n_jobs,
        ).series_gradient  # fmt: skip
        by_time[..., : series.max_length] = (slopes * series.values).swapaxes(1, 2)
    return by_output[:, :, 0] if series.n_channels == 1 else by_output
