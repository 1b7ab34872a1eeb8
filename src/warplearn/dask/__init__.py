"""Fits and predictions on a cluster, with Dask.

`fit(estimator, X, y)` fits an ordinary estimator on series that are spread over the workers of a
cluster.  The fitted estimator saves, exports and predicts without Dask.  `predict` and its like
are lazy: they return Dask arrays.
"""

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is missing, which runs a cluster; run: pip install 'warplearn[dask]'"
    ) from error

from warplearn.dask.calling import caller
from warplearn.dask.collecting import collection
from warplearn.dask.fitting import fit
from warplearn.dask.lazy import (
    decision_function,
    explain,
    pairwise_dtw,
    predict,
    predict_proba,
    read_parquet,
    transform,
)

__all__ = [
    "caller",
    "collection",
    "decision_function",
    "explain",
    "fit",
    "pairwise_dtw",
    "predict",
    "predict_proba",
    "read_parquet",
    "transform",
]
