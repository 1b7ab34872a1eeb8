"""Learning on time series under elastic transformations."""

from warplearn.bands import band_mask
from warplearn.functions import (
    ValueAndGradient,
    active_path,
    elastic_distance,
    elastic_inner_product,
    embed,
    value_and_gradient,
)
from warplearn.series import SeriesCollection
from warplearn.symbols import Alphabet
from warplearn.warping import (
    WarpingPath,
    dtw,
    pairwise_dtw,
    pairwise_dtw_blocks,
    warping_path,
)

__version__ = "0.1.0"

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
