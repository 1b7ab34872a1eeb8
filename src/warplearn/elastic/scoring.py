"""Scores of series and matrices, whether series are arrays or windows of a recording."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.drivers.recording import window_scores
from warplearn.elastic.bands import Band
from warplearn.series.collection import SeriesCollection
from warplearn.series.windows import least_deviation

__all__ = ["scores_of"]


def scores_of(
    cost: Any, X: SeriesCollection, w: NDArray[Any], band: Band | None, n_jobs: int | None
) -> NDArray[Any]:
    """Score every series against every matrix, both of one dtype; windows are not cut.

    Parameters
    ----------
    cost : local score
    X : SeriesCollection
    w : array (matrices, rows, columns, channels), or (matrices, columns, channels)
        As for `evaluate`.
    band : Band or None
    n_jobs : int or None

    Returns
    -------
    array (series, matrices)
    """
    source = X.window_source
    if source is None:
        return evaluate(cost, X.values, X.lengths, w, band=band, n_jobs=n_jobs).values
    return window_scores(
        cost,
        source.samples,
        source.starts,
        source.length,
        w,
        least_deviation=least_deviation(w.dtype) if source.normalize == "window" else None,
        band=band,
        n_jobs=n_jobs,
    )
