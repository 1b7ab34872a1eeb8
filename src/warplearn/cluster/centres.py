"""Series and centres: distances, the nearest, and what estimators with fitted centres share.

Centres are stacked in the kernels' form: (u, m, channels) or, in the matrix space,
(u, n, m, channels).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Squared
from warplearn.base import check_series
from warplearn.elastic.bands import Band, resolve_band
from warplearn.mean import SPACES, Array, check_rows, chunks, hidden, named, resampled
from warplearn.series.collection import SeriesCollection


def squared_distances(
    X: SeriesCollection, centres: Array, band: Band | None, n_jobs: int | None
) -> Array:
    """Squared elastic distances of all series to all centres."""
    found = np.empty((len(X), len(centres)), X.dtype)
    for cases in chunks(X):
        part = X[cases]
        scores = evaluate(
            Squared(), part.values, part.lengths, centres, band=band, n_jobs=n_jobs
        ).values
        np.negative(scores, out=found[cases])
    return found


def nearest(
    X: SeriesCollection, centres: Array, band: Band | None, n_jobs: int | None
) -> tuple[NDArray[np.intp], Array]:
    """The nearest centre of each series, the first of equals, and the squared distance to it."""
    labels, costs = np.empty(len(X), np.intp), np.empty(len(X), X.dtype)
    for cases in chunks(X):
        to_all = squared_distances(X[cases], centres, band, n_jobs)
        labels[cases] = to_all.argmin(axis=1)
        costs[cases] = to_all[np.arange(len(to_all)), labels[cases]]
    return labels, costs


def common_length(X: SeriesCollection, length: int | None) -> int:
    """The length of centres: as given, else the mean length of the series, rounded."""
    if length is None:
        return round(float(X.lengths.mean()))
    check_scalar(length, "length", (int, np.integer), min_val=1)
    return int(length)


def stacked(series: list[Array], X: SeriesCollection, space: str, length: int) -> Array:
    """Series made centres of one length."""
    lift = named(SPACES, space, "space")
    return np.stack([lift(resampled(z, length), X.max_length) for z in series])


def check_count(name: str, wanted: int, X: SeriesCollection) -> None:
    """There are no more clusters than series."""
    check_scalar(wanted, name, (int, np.integer), min_val=1)
    if wanted > len(X):
        raise ValueError(f"{name} must be at most n_samples={len(X)}, got {wanted}")


def centres_and_series(
    estimator: Any, centres: Array, X: Any
) -> tuple[Array, SeriesCollection, Band | None]:
    """The centres of a fitted estimator and new series in the kernels' form, and its band."""
    collection = check_series(estimator, X, reset=False)
    centres = hidden(centres, estimator.space, estimator.n_channels_in_)
    check_rows(collection, estimator.space, centres.shape[1])
    band = resolve_band(estimator.band, collection.lengths, np.array([centres.shape[-2]]))
    return centres, collection.astype(centres.dtype), band


class Centres(ClusterMixin, TransformerMixin, BaseEstimator):
    """What fitted centres are good for; subclasses set `cluster_centers_` in `fit`."""

    cluster_centers_: Array
    n_jobs: int | None

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The nearest centre of each series.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases,)
        """
        check_is_fitted(self)
        centres, collection, band = centres_and_series(self, self.cluster_centers_, X)
        return nearest(collection, centres, band, self.n_jobs)[0]

    def transform(self, X: Any) -> Array:
        """Elastic distances of each series to all centres.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, centres)
        """
        check_is_fitted(self)
        centres, collection, band = centres_and_series(self, self.cluster_centers_, X)
        found = squared_distances(collection, centres, band, self.n_jobs)
        return np.sqrt(found, out=found)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
