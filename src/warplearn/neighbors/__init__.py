"""Nearest neighbours and nearest prototypes under dynamic time warping."""

from warplearn.neighbors.nearest import DTWNeighborsClassifier, DTWNeighborsRegressor
from warplearn.neighbors.prototypes import ElasticLVQClassifier, NearestPrototypeClassifier
from warplearn.neighbors.search import NearestNeighbors, nearest_neighbors

__all__ = [
    "DTWNeighborsClassifier",
    "DTWNeighborsRegressor",
    "ElasticLVQClassifier",
    "NearestNeighbors",
    "NearestPrototypeClassifier",
    "nearest_neighbors",
]
