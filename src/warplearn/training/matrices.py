"""Fitted weight matrices: how series are brought to them, and what else predictions need."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.recursion.local import Product
from warplearn.base import CheckedState, check_fitted_array, check_fitted_count, check_series
from warplearn.elastic.bands import Band, BandLike, resolve_band
from warplearn.elastic.scoring import scores_of
from warplearn.series.collection import SeriesCollection
from warplearn.series.derived import RAW, derived
from warplearn.series.lengths import fit_length, fitting_lengths
from warplearn.series.scaling import standardized
from warplearn.training.data import TrainingSet
from warplearn.training.plan import Array


class Operands(NamedTuple):
    """Fitted matrices, and how series are brought to them; works on some series at a time.

    Attributes
    ----------
    W : array (matrices, n, m, channels)
    band : Band or None
    longer : str
        What is done with series of more than n elements.
    scales : tuple of arrays, optional
        Mean and deviation that series are standardized with.
    n_jobs : int or None
    channels : tuple of str
        Names of the channels that are derived from series (see `warplearn.series.derived`).
    """

    W: Array
    band: Band | None
    longer: str
    scales: tuple[Array, Array] | None
    n_jobs: int | None
    channels: tuple[str, ...] = RAW

    def series(self, some: SeriesCollection) -> SeriesCollection:
        """Series as the matrices need them: dtype, length, channels and scale."""
        some = fit_length(some, self.W.shape[1], self.longer).astype(self.W.dtype)
        some = derived(some, self.channels)
        return some if self.scales is None else standardized(some, *self.scales)

    def scores(self, some: SeriesCollection) -> Array:
        """Elastic inner products of series with all matrices, without the biases."""
        return scores_of(Product(), self.series(some), self.W, self.band, self.n_jobs)


class Context(NamedTuple):
    """What a plan of an estimator knows beyond training, for the fitted attributes.

    Attributes
    ----------
    readout : any
        How outputs of models become predictions.
    n_channels : int
    classes, alphabet
        Of the training set.
    scales : tuple of arrays, optional
        What series are standardized with.
    """

    readout: Any
    n_channels: int
    classes: NDArray[Any] | None = None
    alphabet: Any = None
    scales: tuple[Array, Array] | None = None

    @classmethod
    def of(cls, readout: Any, data: TrainingSet, scales: Any = None) -> Context:
        """The context of a fit on a training set."""
        return cls(readout, data.X.n_channels, data.classes, data.alphabet, scales)


class MatrixModel(CheckedState, BaseEstimator):
    """Prediction with weight matrices, however they were trained.

    Estimators have the parameters `band`, `longer` and `n_jobs`.
    """

    band: BandLike
    longer: str
    n_jobs: int | None
    coef_: Array
    intercept_: Array
    n_features_in_: int
    n_channels_in_: int
    _context: Context

    @property
    def matrices_(self) -> Array:
        """The weight matrices, (units, n, m, channels) also for one channel."""
        return self.coef_ if self.coef_.ndim == 4 else self.coef_[..., None]

    def _check_state(self, whole: bool = False) -> None:
        rows, channels = (
            check_fitted_count(self, name) for name in ("n_features_in_", "n_channels_in_")
        )
        channels *= len(self._derived_channels())
        flat = channels == 1 and getattr(getattr(self, "coef_", None), "ndim", 0) == 3
        shape = (None, rows, None) if flat else (None, rows, None, channels)
        W = check_fitted_array(self, "coef_", shape, "fiu")
        check_fitted_array(self, "intercept_", (len(W),), "fiu")
        if not isinstance(getattr(self, "_context", None), Context):
            raise ValueError("the model lacks its context, how scores become predictions")

    def _operands(self, X: Any) -> tuple[SeriesCollection, Operands]:
        """Checked series of any dtype and length, and what is needed to bring them to matrices."""
        check_is_fitted(self)
        self._check_state()
        W = self.matrices_
        series = check_series(self, X, reset=False)
        lengths = fitting_lengths(series.lengths, W.shape[1], self.longer)
        W = W.astype(np.result_type(series.dtype, W.dtype), copy=False)
        band = resolve_band(self.band, lengths, np.array([W.shape[2]]))
        channels = self._derived_channels()
        return series, Operands(W, band, self.longer, self._scales(), self.n_jobs, channels)

    def _scales(self) -> tuple[Array, Array] | None:
        """What series are standardized with before they meet the matrices, if anything."""
        return None

    def _derived_channels(self) -> tuple[str, ...]:
        """Names of the channels that are derived from series before they meet the matrices."""
        return RAW

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
