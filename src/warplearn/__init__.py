"""Learning on time series under elastic transformations.

What needs only NumPy and Numba is imported at once; estimators, which bring scikit-learn with them,
when they are first asked for.
"""

from importlib import import_module
from typing import Any

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

_LATER = {
    "AlignmentDisplay": "displays",
    "ClustersDisplay": "displays",
    "ContributionsDisplay": "displays",
    "CriticalDifferenceDisplay": "displays",
    "DTWNeighborsClassifier": "neighbors",
    "DTWNeighborsRegressor": "neighbors",
    "ElasticAdaline": "linear_model",
    "ElasticAgglomerative": "cluster",
    "ElasticEmbedding": "embedding",
    "ElasticFeatureClassifier": "feature_models",
    "ElasticFeatureRegressor": "feature_models",
    "ElasticFeatures": "features",
    "ElasticGridSearchCV": "search",
    "ElasticKMeans": "cluster",
    "ElasticLVQClassifier": "prototypes",
    "ElasticLinearSVC": "linear_model",
    "ElasticLogisticRegression": "linear_model",
    "ElasticMLPClassifier": "network",
    "ElasticMLPRegressor": "network",
    "ElasticMarginPerceptron": "linear_model",
    "ElasticMean": "mean",
    "ElasticPerceptron": "linear_model",
    "ElasticSOM": "cluster",
    "ElasticityCurveDisplay": "displays",
    "LearningCurveDisplay": "displays",
    "NearestPrototypeClassifier": "prototypes",
    "WarpingPathDisplay": "displays",
    "WeightMatrixDisplay": "displays",
    "elastic_mean": "mean",
    "nearest_neighbors": "neighbors",
}

__all__ = [
    "AlignmentDisplay",
    "Alphabet",
    "ClustersDisplay",
    "ContributionsDisplay",
    "CriticalDifferenceDisplay",
    "DTWNeighborsClassifier",
    "DTWNeighborsRegressor",
    "ElasticAdaline",
    "ElasticAgglomerative",
    "ElasticEmbedding",
    "ElasticFeatureClassifier",
    "ElasticFeatureRegressor",
    "ElasticFeatures",
    "ElasticGridSearchCV",
    "ElasticKMeans",
    "ElasticLVQClassifier",
    "ElasticLinearSVC",
    "ElasticLogisticRegression",
    "ElasticMLPClassifier",
    "ElasticMLPRegressor",
    "ElasticMarginPerceptron",
    "ElasticMean",
    "ElasticPerceptron",
    "ElasticSOM",
    "ElasticityCurveDisplay",
    "LearningCurveDisplay",
    "NearestPrototypeClassifier",
    "SeriesCollection",
    "ValueAndGradient",
    "WarpingPath",
    "WarpingPathDisplay",
    "WeightMatrixDisplay",
    "active_path",
    "band_mask",
    "dtw",
    "elastic_distance",
    "elastic_inner_product",
    "elastic_mean",
    "embed",
    "nearest_neighbors",
    "pairwise_dtw",
    "pairwise_dtw_blocks",
    "value_and_gradient",
    "warping_path",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"warplearn.{_LATER[name]}"), name)
    raise AttributeError(f"module 'warplearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])
