"""How much each time step contributes to the output of an elastic linear model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Product
from warplearn.elastic.bands import Band
from warplearn.series.collection import SeriesCollection


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
    series: SeriesCollection,
    W: NDArray[Any],
    band: Band | None,
    mix: NDArray[np.float64],
    n_jobs: int | None,
) -> NDArray[Any]:
    """For each output the sum of `x_i w_ij` over the cells of each row on the active paths.

    An array (outputs, cases, time) or (outputs, cases, channels, time).
    """
    by_output = []
    for column in mix.T:
        slopes = evaluate(
            Product(), series.values, series.lengths, W, band=band, want_series=True,
            upstream=np.broadcast_to(column, (len(series), len(column))), n_jobs=n_jobs,
        ).series_gradient  # fmt: skip
        products = (slopes * series.values).swapaxes(1, 2)
        by_output.append(products[:, 0] if series.n_channels == 1 else products)
    return np.stack(by_output)
