"""Clusters and maps of series: k-means, self-organizing maps, agglomerative clustering.

All three are built on the weighted mean (`warplearn.mean`), as section 3.5 of the paper says they
should be: k-means gives a series weight 1 in the mean it is nearest to, a self-organizing map
also some in the neighbours of that, and agglomerative clustering takes means of what it merged.
"""

from warplearn.cluster.kmeans import ElasticKMeans
from warplearn.cluster.maps import ElasticSOM
from warplearn.cluster.trees import ElasticAgglomerative

__all__ = ["ElasticAgglomerative", "ElasticKMeans", "ElasticSOM"]
