"""Series as vectors: the embedding around a base (section 3.1 of the paper).

Along its best path a series is embedded into a base.  The result is an ordinary vector, for
principal components, mixtures and linear models.  In the space "matrix" the embedding is the
paper's: with the squared cost, distances from the base are preserved,

    || embedded x - base || = elastic distance of x and the base,

and only those: nothing is promised about two series neither of which is the base.  In the space
"series" each element of the base is replaced by the mean of the elements aligned with it: m numbers
instead of n m, without that promise.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import ceil
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.evaluate import evaluate_paths
from warplearn._kernels.simd.threads import limits_blas
from warplearn.averaging.objective import Array
from warplearn.averaging.spaces import SPACES, check_centres, check_rows, to_kernel, to_public
from warplearn.base import CheckedState, check_series
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.mean import elastic_mean
from warplearn.registry import choose
from warplearn.series.chunks import mapped
from warplearn.series.collection import SeriesCollection, single
from warplearn.series.convert import to_floats
from warplearn.series.numbers import check_numbers
from warplearn.series.symbols import Alphabet, is_symbolic

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


@dataclass(repr=False, eq=False)
class ElasticEmbedding(
    CheckedState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Embed each series into a base, by default the mean of the training series.

    Parameters
    ----------
    space : {"matrix", "series"}, default="matrix"
        Embed into a matrix of n x m numbers, n the length of the longest training series, which
        preserves distances from the base; or into a series of m numbers.
    cost : str or local score, default="squared"
        The cost of aligning two elements (see `warplearn.elastic.costs`).  It chooses the path and
        the mean; distances are preserved with "squared" only.
    base : array or sequence of symbols, optional
        A series of shape (m,) or (channels, m) or, in the matrix space, also a matrix of shape
        (n, m) or (n, m, channels).  By default the mean in that space.
    length : int, optional
        m, where the base is a mean; by default a tenth of the longest series in the matrix space,
        as in the paper's experiments, and the length of the medoid in the space of series.
    max_iter : int, default=30
        Sweeps for the mean.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
    alphabet : Alphabet, optional
        Encodes series of symbols; by default the symbols that `fit` sees, one-hot.
    random_state : int, RandomState or None
        For the medoid of many series, from which the mean starts.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int, default=0
        Print the variation after each sweep for the mean.

    Attributes
    ----------
    base_ : array of shape (n, m) or (n, m, channels); (m,) or (channels, m) in the space of series
        The base.
    n_iter_ : int
        Sweeps for the mean, 0 where the base was given.
    alphabet_ : Alphabet
        The alphabet in use, if the series are symbols.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.random.default_rng(0).normal(size=(20, 30)).cumsum(axis=1)
    >>> make_pipeline(ElasticEmbedding(), PCA(2)).fit_transform(X).shape
    (20, 2)
    """

    space: str = "matrix"
    _: KW_ONLY
    cost: Any = "squared"
    base: Any = None
    length: int | None = None
    max_iter: int = 30
    band: BandLike = None
    alphabet: Alphabet | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @limits_blas
    def fit(self, X: Any, y: Any = None) -> ElasticEmbedding:
        """Find the base.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        choose(EMBEDDINGS, self.space, "space")
        resolve_distance(self.cost)
        collection = check_series(self, X, reset=True)
        self.n_iter_ = 0
        self.base_ = self._mean(collection) if self.base is None else self._given(collection)
        self._n_features_out = self.base_.size
        return self

    def _mean(self, X: SeriesCollection) -> Array:
        tenth = {"matrix": ceil(X.max_length / 10), "series": None}[self.space]
        result = elastic_mean(
            X,
            cost=self.cost,
            space=self.space,
            length=tenth if self.length is None else self.length,
            max_iter=self.max_iter,
            band=self.band,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        self.n_iter_ = len(result.history) - 1
        return result.mean

    def _given(self, X: SeriesCollection) -> Array:
        """The base that was given, as a point of the space."""
        d = X.n_channels
        if is_symbolic([self.base]):
            if getattr(self, "alphabet_", None) is None:
                raise ValueError(f"base must be numbers, as the series X are, got {self.base!r}")
            symbols = single(self.base, "base", dtype=X.dtype, alphabet=self.alphabet_)
            return to_public(SPACES[self.space](symbols.elements(0), X.max_length))
        base = to_floats(self.base, "base").astype(X.dtype, copy=False)
        if self.space == "matrix" and base.ndim == (2 if d == 1 else 3):
            shape = (*base.shape[:2], d)
            if base.size != np.prod(shape) or len(base) < X.max_length:
                raise ValueError(
                    f"base must have at least {X.max_length} rows, the length of the longest "
                    f"series, and {d} channel(s), got shape {base.shape}"
                )
            check_numbers(base, "base")
            return base
        series = single(base, "base", dtype=X.dtype)
        if series.n_channels != d:
            raise ValueError(f"base must have {d} channel(s), as X has, got {series.n_channels}")
        return to_public(SPACES[self.space](series.elements(0), X.max_length))

    _fitted_by = "base_"

    def _check_state(self, whole: bool = False) -> None:
        check_centres(self, getattr(self, "base_", None), "base_", one=True)
        resolve_distance(self.cost)

    @limits_blas
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
        self._check_state()
        local, _ = resolve_distance(self.cost)
        collection = check_series(self, X, reset=False)
        base = to_kernel(self.base_[None], self.space, self.n_channels_in_)[0]
        check_rows(collection, self.space, len(base))
        resolved = resolve_band(self.band, collection.lengths, np.array([base.shape[-2]]))
        embed = EMBEDDINGS[self.space]

        def embedded(some: SeriesCollection) -> Array:
            values = some.astype(base.dtype).values
            paths = evaluate_paths(
                local, values, some.lengths, base[None], band=resolved, n_jobs=self.n_jobs
            ).paths
            which = np.repeat(np.arange(len(some)), [len(path) for path in paths])
            return embed(base, values, which, np.concatenate(paths)).reshape(len(some), -1)

        return mapped(embedded, collection)
