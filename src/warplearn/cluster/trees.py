"""Agglomerative clustering, with means of what was merged."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.utils import check_random_state

from warplearn.base import check_series
from warplearn.cluster.centres import Centres, check_count, common_length
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.warping import pairwise_dtw
from warplearn.mean import METHODS, Array, Objective, first_mean, minimize, named, shown


class ElasticAgglomerative(Centres):
    """Agglomerative clustering on elastic distances, with means as prototypes: the paper's AHC.

    Parameters
    ----------
    n_clusters : int, default=2
    linkage : str, default="ward"
        Any method of `scipy.cluster.hierarchy.linkage`.
    method, space, length, band, random_state, n_jobs, verbose
        As for `ElasticKMeans`.
    max_iter : int, default=30
        Sweeps for each mean.

    Attributes
    ----------
    labels_ : array of shape (cases,)
        Clusters in the order of their first series.
    cluster_centers_ : array
        The mean of each cluster, started from its medoid.
    linkage_matrix_ : array of shape (cases - 1, 4)
        As SciPy returns it, for instance for its `dendrogram`.
    n_iter_ : int
        The most sweeps of any mean.
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        linkage: str = "ward",
        method: Any = "dba",
        max_iter: int = 30,
        space: str = "series",
        length: int | None = None,
        band: BandLike = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.method = method
        self.max_iter = max_iter
        self.space = space
        self.length = length
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ElasticAgglomerative:
        """Merge the series, cut the tree, and take the means.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        collection = check_series(self, X, reset=True)
        check_count("n_clusters", self.n_clusters, collection)
        method = named(METHODS, self.method, "method", "sweep")
        rng = check_random_state(self.random_state)
        distances = pairwise_dtw(collection, band=self.band, n_jobs=self.n_jobs)
        self._say(f"{len(collection)} x {len(collection)} distances")
        condensed = squareform(distances.astype(np.float64), checks=False)
        self.linkage_matrix_, self.labels_ = np.empty((0, 4)), np.zeros(len(collection), np.intp)
        if len(collection) > 1:
            self.linkage_matrix_ = linkage(condensed, self.linkage)
            self.labels_ = cut_tree(self.linkage_matrix_, self.n_clusters)[:, 0].astype(np.intp)
        length = common_length(collection, self.length)
        resolved = resolve_band(self.band, collection.lengths, np.array([length]))
        centres: list[Array] = []
        self.n_iter_ = 0
        for c in range(self.n_clusters):
            members = (self.labels_ == c).astype(np.float64)
            objective = Objective(collection, members, resolved, self.n_jobs)
            Y = first_mean(objective._replace(band=None), "medoid", self.space, length, rng)
            found = minimize(objective, Y, method, max_iter=self.max_iter, tol=1e-6, rng=rng)
            self._say(f"cluster {c}, {int(members.sum())} series, variation {found.variation:.6g}")
            centres.append(shown(found.Y))
            self.n_iter_ = max(self.n_iter_, len(found.history) - 1)
        self.cluster_centers_ = np.stack(centres)
        return self

    def _say(self, what: str) -> None:
        if self.verbose:
            print(f"ElasticAgglomerative: {what}", flush=True)
