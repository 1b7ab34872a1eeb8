"""Learning on time series under elastic transformations.

What needs only NumPy and Numba is imported at once; estimators, which bring scikit-learn with them,
when they are first asked for.
"""

from importlib import import_module
from typing import Any

from warplearn.catalogue import ESTIMATORS
from warplearn.elastic.bands import band_mask
from warplearn.elastic.functions import (
    ValueAndGradient,
    active_path,
    elastic_distance,
    elastic_inner_product,
    embed,
    value_and_gradient,
)
from warplearn.elastic.warping import (
    WarpingPath,
    dtw,
    pairwise_dtw,
    pairwise_dtw_blocks,
    warping_path,
)
from warplearn.series.collection import SeriesCollection
from warplearn.series.symbols import Alphabet

__version__ = "0.1.0"

_DISPLAYS = (
    "AlignmentDisplay",
    "ClustersDisplay",
    "ContributionsDisplay",
    "CriticalDifferenceDisplay",
    "ElasticityCurveDisplay",
    "LearningCurveDisplay",
    "TradeOffDisplay",
    "WarpingPathDisplay",
    "WeightMatrixDisplay",
)
_LATER = {
    **{name: entry.module for name, entry in ESTIMATORS.items() if entry.public},
    **dict.fromkeys(_DISPLAYS, "warplearn.plotting"),
    "elastic_mean": "warplearn.mean",
    "load": "warplearn.persistence",
    "nearest_neighbors": "warplearn.neighbors.nearest",
    "save": "warplearn.persistence",
    "save_pairwise_dtw": "warplearn.elastic.storing",
    "warmup": "warplearn.compilation",
}

__all__ = [
    "Alphabet",
    "SeriesCollection",
    "ValueAndGradient",
    "WarpingPath",
    "active_path",
    "band_mask",
    "dtw",
    "elastic_distance",
    "elastic_inner_product",
    "embed",
    "pairwise_dtw",
    "pairwise_dtw_blocks",
    "value_and_gradient",
    "warping_path",
]
__all__ += sorted(_LATER)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'warplearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
