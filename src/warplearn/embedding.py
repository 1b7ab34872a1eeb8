"""Series as vectors: the embedding around a base (section 3.1 of the paper).

Along its best path a series is embedded into a base, and what results is an ordinary vector, on
which principal components, mixtures and linear models are what they always were.  In the space
"matrix" the embedding is the paper's: distances from the base are preserved,

    || embedded x - base || = elastic distance of x and the base,

and only those: about two series neither of which is the base nothing is promised.  In the space
"series" each element of the base is
replaced by the mean of what is aligned with it: m numbers instead of n m, and no such promise.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.evaluate import evaluate_paths
from warplearn._kernels.recursion.local import Squared
from warplearn.base import check_series
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.mean import SPACES, Array, check_rows, chunks, elastic_mean, hidden, named, shown
from warplearn.series.collection import SeriesCollection, single

__all__ = ["ElasticEmbedding"]


def _in_matrix(base: Array, values: Array, which: Array, cells: Array) -> Array:
    """Copies of the base, with each series on its path."""
    embedded = np.repeat(base[None], len(values), axis=0)
    embedded[which, cells[:, 0], cells[:, 1]] = values[which, cells[:, 0]]
    return embedded


def _in_series(base: Array, values: Array, which: Array, cells: Array) -> Array:
    """Means of the elements aligned with each element of the base."""
    summed = np.zeros((len(values), *base.shape), base.dtype)
    count = np.zeros((len(values), len(base), 1), base.dtype)
    np.add.at(summed, (which, cells[:, 1]), values[which, cells[:, 0]])
    np.add.at(count, (which, cells[:, 1]), 1)
    return summed / count


EMBEDDINGS = {"matrix": _in_matrix, "series": _in_series}


class ElasticEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Embed each series into a base, by default the mean of the training series.

    Parameters
    ----------
    space : {"matrix", "series"}, default="matrix"
        Embed into a matrix of n x m numbers, n the length of the longest training series, which
        preserves distances from the base; or into a series of m numbers.
    base : array, optional
        A series of shape (m,) or (channels, m) or, in the matrix space, also a matrix of shape
        (n, m) or (n, m, channels).  By default the mean in that space.
    length : int, optional
        m, where the base is a mean; by default a tenth of the longest series in the matrix space,
        as in the paper's experiments, and the length of the medoid in the space of series.
    max_iter : int, default=30
        Sweeps for the mean.
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.
    verbose : int, default=0

    Attributes
    ----------
    base_ : array of shape (n, m) or (n, m, channels); (m,) or (channels, m) in the space of series
    n_iter_ : int
        Sweeps for the mean, 0 where the base was given.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.random.default_rng(0).normal(size=(20, 30)).cumsum(axis=1)
    >>> make_pipeline(ElasticEmbedding(), PCA(2)).fit_transform(X).shape
    (20, 2)
    """

    def __init__(
        self,
        space: str = "matrix",
        *,
        base: Any = None,
        length: int | None = None,
        max_iter: int = 30,
        band: BandLike = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.space = space
        self.base = base
        self.length = length
        self.max_iter = max_iter
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ElasticEmbedding:
        """Find the base.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        named(EMBEDDINGS, self.space, "space")
        collection = check_series(self, X, reset=True)
        self.n_iter_ = 0
        self.base_ = self._mean(collection) if self.base is None else self._given(collection)
        self._n_features_out = self.base_.size
        return self

    def _mean(self, X: SeriesCollection) -> Array:
        tenth = {"matrix": ceil(X.max_length / 10), "series": None}[self.space]
        found = elastic_mean(
            X,
            space=self.space,
            length=tenth if self.length is None else self.length,
            max_iter=self.max_iter,
            band=self.band,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.n_iter_ = len(found.history) - 1
        return found.mean

    def _given(self, X: SeriesCollection) -> Array:
        base, d = np.asarray(self.base, X.dtype), X.n_channels
        if self.space == "matrix" and base.ndim == (2 if d == 1 else 3):
            shape = (*base.shape[:2], d)
            if base.size != np.prod(shape) or len(base) < X.max_length:
                raise ValueError(
                    f"base must have at least {X.max_length} rows, the length of the longest "
                    f"series, and {d} channel(s), got shape {base.shape}"
                )
            if not np.isfinite(base).all():
                raise ValueError("base must be finite, but contains NaN or infinity")
            return base
        series = single(base, "base", dtype=X.dtype)
        if series.n_channels != d:
            raise ValueError(f"base must have {d} channel(s), as X has, got {series.n_channels}")
        return shown(SPACES[self.space](series[0], X.max_length))

    def transform(self, X: Any) -> Array:
        """Embed series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, features)
            The embedded series, flat: n m, or m, numbers for each channel.
        """
        check_is_fitted(self)
        collection = check_series(self, X, reset=False)
        base = hidden(self.base_[None], self.space, self.n_channels_in_)[0]
        check_rows(collection, self.space, len(base))
        collection = collection.astype(base.dtype)
        resolved = resolve_band(self.band, collection.lengths, np.array([base.shape[-2]]))
        embedded = np.empty((len(collection), base.size), base.dtype)
        for cases in chunks(collection):
            part = collection[cases]
            found = evaluate_paths(
                Squared(), part.values, part.lengths, base[None],
                band=resolved, n_jobs=self.n_jobs,
            )  # fmt: skip
            assert found.paths is not None
            which = np.repeat(np.arange(len(part)), [len(path) for path in found.paths])
            cells = np.concatenate(found.paths)
            into = EMBEDDINGS[self.space](base, part.values, which, cells)
            embedded[cases] = into.reshape(len(part), -1)
        return embedded
