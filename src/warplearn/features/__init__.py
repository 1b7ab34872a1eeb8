"""Elastic features of windows, and ridge models on them.

`ElasticFeatures` and `ElasticShapelets` turn series into rows of numbers;
`ElasticFeatureClassifier` and `ElasticFeatureRegressor` are ridge regressions on these.
"""

from warplearn.features.base import Shrinkage
from warplearn.features.cascade import Stage
from warplearn.features.models import ElasticFeatureClassifier, ElasticFeatureRegressor
from warplearn.features.shapelets import ElasticShapelets, Shapelet
from warplearn.features.transformer import ElasticFeatures, Filter

__all__ = [
    "ElasticFeatureClassifier",
    "ElasticFeatureRegressor",
    "ElasticFeatures",
    "ElasticShapelets",
    "Filter",
    "Shapelet",
    "Shrinkage",
    "Stage",
]
