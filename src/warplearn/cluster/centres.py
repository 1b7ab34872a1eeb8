"""Series and centres: costs, the nearest, and what estimators with fitted centres share.

Centres are stacked in the kernels' form: (u, m, channels) or, in the matrix space,
(u, n, m, channels).

All computations are on *summed costs*, the cost of the best path.  With the squared cost, and all
others whose distance is a root, these are squared distances; with others they are the distances.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn.averaging.objective import Array
from warplearn.averaging.spaces import SPACES, check_centres, check_rows, to_kernel
from warplearn.base import CheckedState, check_series
from warplearn.elastic.bands import Band, resolve_band
from warplearn.elastic.costs import COSTS, resolve_distance
from warplearn.elastic.scoring import scores_of
from warplearn.registry import choose
from warplearn.series.chunks import mapped
from warplearn.series.collection import SeriesCollection
from warplearn.series.lengths import resample


def summed_costs(
    X: SeriesCollection, centres: Array, cost: Any, band: Band | None, n_jobs: int | None
) -> Array:
    """Summed costs of aligning all series with all centres, in the dtype of the centres."""
    options = {"centres": centres, "cost": cost, "band": band, "n_jobs": n_jobs}
    return mapped(partial(costs_of, **options), X)


def costs_of(
    some: SeriesCollection, centres: Array, cost: Any, band: Band | None, n_jobs: int | None
) -> Array:
    """Summed costs of aligning some series with all centres."""
    scores = scores_of(cost, some.astype(centres.dtype), centres, band, n_jobs)
    # Rounding errors may put 0 on the wrong side, with some costs.
    return np.maximum(np.negative(scores, out=scores), 0, out=scores)


def distances_of(costs: Array, cost: Any) -> Array:
    """The distances that summed costs mean."""
    return np.sqrt(costs) if COSTS.about(cost).root else costs


def nearest(
    X: SeriesCollection, centres: Array, cost: Any, band: Band | None, n_jobs: int | None
) -> tuple[NDArray[np.intp], Array]:
    """The nearest centre of each series, the first of equals, and the summed costs to it."""
    options = {"centres": centres, "cost": cost, "band": band, "n_jobs": n_jobs}
    chosen = mapped(partial(_nearest_of, **options), X)
    return chosen["label"].copy(), chosen["cost"].copy()


def _nearest_of(some: SeriesCollection, **options: Any) -> NDArray[Any]:
    """The nearest centres of some series; a function that travels, as `costs_of` is."""
    to_all = costs_of(some, **options)
    chosen = np.empty(len(some), [("label", np.intp), ("cost", to_all.dtype)])
    chosen["label"] = to_all.argmin(axis=1)
    chosen["cost"] = to_all[np.arange(len(to_all)), chosen["label"]]
    return chosen


def common_length(X: SeriesCollection, length: int | None) -> int:
    """The length of centres: as given, else the mean length of the series, rounded."""
    if length is None:
        return round(float(X.lengths.mean()))
    check_scalar(length, "length", (int, np.integer), min_val=1, max_val=2**31)
    return int(length)


def stacked(X: SeriesCollection, cases: Any, space: str, length: int, rows: int) -> Array:
    """Some series of a collection as centres of one length; matrices have `rows` rows."""
    lift = choose(SPACES, space, "space")
    some = X[np.asarray(cases)]
    series = [some.elements(case) for case in range(len(some))]
    return np.stack([lift(resample(each, length), rows) for each in series])


def check_cluster_count(name: str, wanted: int, X: SeriesCollection) -> None:
    """There are no more clusters than series."""
    check_scalar(wanted, name, (int, np.integer), min_val=1)
    if wanted > len(X):
        raise ValueError(f"{name} must be at most n_samples={len(X)}, got {wanted}")


def centres_and_series(
    estimator: Any, centres: Array, X: Any
) -> tuple[Array, SeriesCollection, Band | None]:
    """The centres of a fitted estimator and new series in the kernels' form, and its band."""
    collection = check_series(estimator, X, reset=False)
    check_centres(estimator, centres)
    centres = to_kernel(centres, estimator.space, estimator.n_channels_in_)
    check_rows(collection, estimator.space, centres.shape[1])
    band = resolve_band(estimator.band, collection.lengths, np.array([centres.shape[-2]]))
    return centres, collection, band


class Centres(CheckedState, ClusterMixin, TransformerMixin, BaseEstimator):
    """Prediction by fitted centres; subclasses set `cluster_centers_` in `fit`.

    Parameters
    ----------
    cost : str or local score, default="squared"
        The cost of aligning two elements (see `warplearn.elastic.costs`), with a derivative.
    space : {"series", "matrix"}, default="series"
        Whether centres are series, or matrices as in the paper.
    length : int, optional
        Length of the centres; by default the mean length of the training series.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
    alphabet : Alphabet, optional
        Encodes series of symbols; by default the symbols that `fit` sees, one-hot.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.

    Attributes
    ----------
    alphabet_ : Alphabet
        The alphabet in use, if the series are symbols.
    """

    _fitted_by = "cluster_centers_"
    cluster_centers_: Array
    cost: Any
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
        self._check_state()
        local, _ = resolve_distance(self.cost)
        centres, collection, band = centres_and_series(self, self.cluster_centers_, X)
        return nearest(collection, centres, local, band, self.n_jobs)[0]

    def transform(self, X: Any) -> Array:
        """Elastic distances of each series to all centres.

        Parameters
        ----------
        X : series collection

        Returns
        -------
        array of shape (cases, centres)
            As `elastic_distance` and `dtw` give them: with the squared cost, roots.
        """
        check_is_fitted(self)
        self._check_state()
        local, _ = resolve_distance(self.cost)
        centres, collection, band = centres_and_series(self, self.cluster_centers_, X)
        return distances_of(summed_costs(collection, centres, local, band, self.n_jobs), local)

    def _check_state(self, whole: bool = False) -> None:
        check_centres(self, getattr(self, "cluster_centers_", None), "cluster_centers_")
        resolve_distance(self.cost)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
