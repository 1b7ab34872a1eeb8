"""Agglomerative clustering, with means of the merged series."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.utils import check_random_state, check_scalar

from warplearn._kernels.simd.threads import limits_blas
from warplearn.averaging.methods import minimize, resolve_method
from warplearn.averaging.objective import Array, Objective
from warplearn.averaging.spaces import to_public
from warplearn.averaging.starts import first_mean
from warplearn.base import check_series
from warplearn.cluster.centres import Centres, check_cluster_count, common_length
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.elastic.warping import pairwise_dtw
from warplearn.registry import check_choice
from warplearn.series.collection import SeriesCollection
from warplearn.series.symbols import Alphabet

LINKAGES = ("average", "centroid", "complete", "median", "single", "ward", "weighted")


@with_parameters_of(Centres)
@dataclass(repr=False, eq=False)
class ElasticAgglomerative(Centres):
    """Agglomerative clustering on elastic distances, with means as prototypes: the paper's AHC.

    Parameters
    ----------
    n_clusters : int, default=2
        The number of clusters.
    cost : str or local score, default="squared"
        The cost of aligning two elements (see `warplearn.elastic.costs`); it must be symmetric.
    linkage : str, default="ward"
        One of `LINKAGES`, the methods of `scipy.cluster.hierarchy.linkage`.  It is given the
        distances, with the squared cost roots.
    method : {"auto", "dba", "descent", "gradient", "stochastic"} or a method, default="auto"
        How means are found (see `ElasticMean`).
    max_iter : int, default=30
        Sweeps for each mean.  With 0 the prototypes are medoids, with any cost.
    random_state : int, RandomState or None
        For medoids of many series, and for the order of "stochastic".
    verbose : int, default=0
        Print the variation of each cluster.

    Attributes
    ----------
    labels_ : array of shape (cases,)
        Clusters in the order of their first series.
    cluster_centers_ : array of shape (n_clusters, m) or (n_clusters, channels, m)
        The mean of each cluster, started from its medoid; in the matrix space of shape
        (n_clusters, n, m) or (n_clusters, n, m, channels).
    linkage_matrix_ : array of shape (cases - 1, 4)
        As SciPy returns it, for instance for its `dendrogram`.
    history_ : list of arrays
        For each cluster, the variation around its mean at the start and after each sweep.
    n_iter_ : int
        The most sweeps of any mean.

    Examples
    --------
    >>> X = [[0.0, 0.0, 1.0], [5.0, 5.0, 4.0], [0.0, 1.0, 1.0], [5.0, 4.0, 4.0]]
    >>> ElasticAgglomerative(2).fit(X).labels_
    array([0, 1, 0, 1])
    """

    n_clusters: int = 2
    _: KW_ONLY
    cost: Any = "squared"
    linkage: str = "ward"
    method: Any = "auto"
    max_iter: int = 30
    space: str = "series"
    length: int | None = None
    band: BandLike = None
    alphabet: Alphabet | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @limits_blas
    def fit(self, X: Any, y: Any = None) -> ElasticAgglomerative:
        """Merge the series, cut the tree, and take the means.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        collection = check_series(self, X, reset=True)
        check_cluster_count("n_clusters", self.n_clusters, collection)
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=0)
        local, traits = resolve_distance(self.cost)
        if not traits.symmetric:
            raise ValueError(f"cost must be symmetric to merge series by it, got {self.cost!r}")
        method = resolve_method(self.method, local, self.max_iter)
        rng = check_random_state(self.random_state)
        self._merge(collection)
        length = common_length(collection, self.length)
        band = resolve_band(self.band, collection.lengths, np.array([length]))
        objective = Objective.of(collection, np.ones(len(collection)), local, band, self.n_jobs)
        objective = objective.split(self.labels_, np.eye(self.n_clusters))
        starts = [self._start(objective, c, length, rng) for c in range(self.n_clusters)]
        minimum = minimize(
            objective, np.stack(starts), method, max_iter=self.max_iter, tol=1e-6, rng=rng
        )
        for c, size in enumerate(np.bincount(self.labels_)):
            variation = minimum.variations[c]
            self._report(f"cluster {c}, {size} series, variation {variation:.6g}")
        self.history_ = [np.array(history) for history in minimum.histories]
        self.n_iter_ = max(len(history) for history in self.history_) - 1
        self.cluster_centers_ = np.stack([to_public(Y) for Y in minimum.Y])
        return self

    def _start(
        self, objective: Objective, c: int, length: int, rng: np.random.RandomState
    ) -> Array:
        """The medoid of a cluster."""
        X, members = objective.X, objective.weights_in(c)
        own = Objective.of(X, members, objective.cost, None, self.n_jobs)
        return first_mean(own, "medoid", self.space, length, rng)

    def _merge(self, X: SeriesCollection) -> None:
        """Set `linkage_matrix_` and `labels_`."""
        distances = pairwise_dtw(X, band=self.band, cost=self.cost, n_jobs=self.n_jobs)
        self._report(f"{len(X)} x {len(X)} distances")
        condensed = squareform(distances.astype(np.float64), checks=False)
        self.linkage_matrix_, self.labels_ = np.empty((0, 4)), np.zeros(len(X), np.intp)
        check_choice(self.linkage, LINKAGES, "linkage")
        if len(X) > 1:
            self.linkage_matrix_ = linkage(condensed, self.linkage)
            self.labels_ = cut_tree(self.linkage_matrix_, self.n_clusters)[:, 0].astype(np.intp)

    def _report(self, what: str) -> None:
        if self.verbose:
            print(f"ElasticAgglomerative: {what}", flush=True)
