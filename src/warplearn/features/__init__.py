"""Random elastic features, and ridge models on them.

`ElasticFeatures` turns series into rows of numbers; `ElasticFeatureClassifier` and
`ElasticFeatureRegressor` are ridge regressions on these.
"""

from warplearn.features.base import Shrinkage
from warplearn.features.models import ElasticFeatureClassifier, ElasticFeatureRegressor
from warplearn.features.transformer import ElasticFeatures, Filter

__all__ = [
    "ElasticFeatureClassifier",
    "ElasticFeatureRegressor",
    "ElasticFeatures",
    "Filter",
    "Shrinkage",
]
