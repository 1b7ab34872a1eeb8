"""Learning on time series under elastic transformations.

Names are imported when they are first asked for, so that `import warplearn`, and with it the help
of the command line, waits neither for Numba nor for scikit-learn.
"""

import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from warplearn.catalogue import ESTIMATORS

if TYPE_CHECKING:
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
_MODULES = {  # of every public name
    "Alphabet": "warplearn.series.symbols",
    "SeriesCollection": "warplearn.series.collection",
    "band_mask": "warplearn.elastic.bands",
    **dict.fromkeys(
        (
            "ValueAndGradient",
            "active_path",
            "elastic_distance",
            "elastic_inner_product",
            "embed",
            "value_and_gradient",
        ),
        "warplearn.elastic.functions",
    ),
    **dict.fromkeys(
        ("WarpingPath", "dtw", "pairwise_dtw", "pairwise_dtw_blocks", "warping_path"),
        "warplearn.elastic.warping",
    ),
    **{name: entry.module for name, entry in ESTIMATORS.items() if entry.public},
    **dict.fromkeys(_DISPLAYS, "warplearn.plotting"),
    "elastic_mean": "warplearn.mean",
    "event_metrics": "warplearn.detection.metrics",
    "explain": "warplearn.explanation",
    "load": "warplearn.persistence",
    "nearest_neighbors": "warplearn.neighbors.nearest",
    "save": "warplearn.persistence",
    "save_pairwise_dtw": "warplearn.elastic.storing",
    "to_c": "warplearn.export",
    "warmup": "warplearn.compilation",
}
_PACKAGES = (
    "datasets",
    "detection",
    "elastic",
    "experiments",
    "export",
    "plotting",
    "series",
    "torch",
)

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
__all__ += sorted(set(_MODULES).difference(__all__))


def _imported(name: str) -> ModuleType:
    """A module, at whose first import the garbage collector waits.

    Hardly anything is garbage then, and looking for it would take a tenth of the time.
    """
    if name in sys.modules or not gc.isenabled():
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        if not gc.get_freeze_count():  # else somebody wants some objects to stay frozen
            gc.freeze()  # and so all objects become old ones, which are looked at less often
            gc.unfreeze()
        gc.enable()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(_imported(_MODULES[name]), name)
    if name in _PACKAGES:
        return _imported(f"warplearn.{name}")
    raise AttributeError(f"module 'warplearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_PACKAGES})
