"""Nearest neighbours and nearest prototypes under dynamic time warping."""

from warplearn.neighbors.nearest import (
    DTWNeighborsClassifier,
    DTWNeighborsRegressor,
    NearestNeighbors,
    nearest_neighbors,
)
from warplearn.neighbors.prototypes import ElasticLVQClassifier, NearestPrototypeClassifier

__all__ = [
    "DTWNeighborsClassifier",
    "DTWNeighborsRegressor",
    "ElasticLVQClassifier",
    "NearestNeighbors",
    "NearestPrototypeClassifier",
    "nearest_neighbors",
]
