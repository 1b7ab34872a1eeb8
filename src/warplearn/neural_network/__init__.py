"""Elastic neural networks."""

from warplearn.neural_network.mlp import (
    ElasticMLPClassifier,
    ElasticMLPRegressor,
)

__all__ = [
    "ElasticMLPClassifier",
    "ElasticMLPRegressor",
]
