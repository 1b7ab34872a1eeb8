"""Means of series under dynamic time warping; see `warplearn.averaging` for how they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.simd.threads import limits_blas
from warplearn.averaging.methods import (
    Averaging,
    Descent,
    Gradient,
    Method,
    Stochastic,
    minimize,
    resolve_method,
)
from warplearn.averaging.objective import Array, Objective
from warplearn.averaging.spaces import check_centres, check_rows, to_kernel, to_public
from warplearn.averaging.starts import first_mean
from warplearn.base import CheckedState, check_not_negative, check_series, check_weights
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.costs import resolve_distance
from warplearn.series.symbols import Alphabet

__all__ = [
    "Averaging",
    "Descent",
    "ElasticMean",
    "Gradient",
    "Mean",
    "Method",
    "Stochastic",
    "elastic_mean",
]


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMean(CheckedState, BaseEstimator):
    """Mean of series: a minimizer of the variation.

    The variation is the weighted sum of the summed costs of aligning each series with the mean.
    With the squared cost, and others whose distance is a root, these are squared distances; with
    costs such as "absolute" they are the distances, and the mean is a kind of median.

    Parameters
    ----------
    cost : str or local score, default="squared"
        The cost of aligning two elements (see `warplearn.elastic.costs`), with a derivative.
    method : {"auto", "dba", "descent", "gradient", "stochastic"} or a method, default="auto"
        `Averaging()` ("dba", for the squared cost only), `Descent()`, `Gradient()` or
        `Stochastic()`; pass an instance to choose a rate.  "auto" is "dba" for the squared cost
        and "descent" for others.
    space : {"series", "matrix"}, default="series"
        Whether the mean is a series, or a matrix as in the paper.
    init : {"medoid", "random", "euclidean"} or series, default="medoid"
        Where to start.  The medoid is sought among at most 256 series drawn at random.
    length : int, optional
        Length of the mean, or columns of the matrix; by default that of the first mean.
    max_iter : int, default=30
        Sweeps over the series.  With 0 the mean is the start, with any cost.
    tol : float, default=1e-6
        Stop when the relative change of the variation in a sweep is no greater.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side, such as 0.1 or "10%".
    alphabet : Alphabet, optional
        Encodes series of symbols; by default the symbols that `fit` sees, one-hot.
    random_state : int, RandomState or None
        For random starts and for the order of "stochastic".
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int, default=0
        Print the variation after each sweep.

    Attributes
    ----------
    mean_ : array
        A series of shape (m,) or (channels, m), or a matrix of shape (n, m) or (n, m, channels).
    variation_ : float
        The variation of the training series around the mean.
    history_ : list of one array
        The variation at the start and after each sweep.
    n_iter_ : int
        The number of sweeps.
    alphabet_ : Alphabet
        The alphabet in use, if the series are symbols.

    Notes
    -----
    A soft minimum is not offered: it changes the recursion itself, not the step.

    Examples
    --------
    >>> model = ElasticMean(init=[0.0, 1.0]).fit([[0.0, 0.0, 1.0], [0.0, 3.0, 3.0]])
    >>> model.mean_, model.variation_
    (array([0.        , 2.33333333]), 2.6666666666666665)
    """

    cost: Any = "squared"
    method: Any = "auto"
    space: str = "series"
    init: Any = "medoid"
    length: int | None = None
    max_iter: int = 30
    tol: float = 1e-6
    band: BandLike = None
    alphabet: Alphabet | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    @limits_blas
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticMean:
        """Find the mean.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        check_scalar(self.max_iter, "max_iter", (int, np.integer), min_val=0)
        check_not_negative(self, "tol")
        if self.length is not None:
            check_scalar(self.length, "length", (int, np.integer), min_val=1, max_val=2**31)
        collection = check_series(self, X, reset=True)
        local, _ = resolve_distance(self.cost)
        method = resolve_method(self.method, local, self.max_iter)
        weights = check_weights(collection, sample_weight)
        rng = check_random_state(self.random_state)
        objective = Objective.of(collection, weights, local, None, self.n_jobs)
        alphabet = getattr(self, "alphabet_", None)
        Y = first_mean(objective, self.init, self.space, self.length, rng, alphabet)
        band = resolve_band(self.band, collection.lengths, np.array([Y.shape[-2]]))
        minimum = minimize(
            objective._replace(band=band), Y[None], method,
            max_iter=self.max_iter, tol=self.tol, rng=rng, report=self._report,
        )  # fmt: skip
        self.mean_, self.variation_ = to_public(minimum.Y[0]), float(minimum.variations[0])
        self.history_ = [np.array(minimum.histories[0])]
        self.n_iter_ = len(self.history_[0]) - 1
        return self

    _fitted_by = "mean_"

    def _check_state(self, whole: bool = False) -> None:
        check_centres(self, getattr(self, "mean_", None), "mean_", one=True)
        resolve_distance(self.cost)

    def _report(self, number: int, variations: NDArray[np.float64]) -> None:
        if self.verbose:
            print(f"ElasticMean: sweep {number}, variation {variations[0]:.6g}", flush=True)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the variation of series around the mean: greater is better.

        Parameters
        ----------
        X : series collection
        y : ignored
        """
        check_is_fitted(self)
        self._check_state()
        collection = check_series(self, X, reset=False)
        Y = to_kernel(self.mean_[None], self.space, self.n_channels_in_)
        check_rows(collection, self.space, Y.shape[1])
        band = resolve_band(self.band, collection.lengths, np.array([Y.shape[-2]]))
        local, _ = resolve_distance(self.cost)
        ones = np.ones(len(collection))
        return -float(Objective.of(collection, ones, local, band, self.n_jobs).values(Y)[0])


class Mean(NamedTuple):
    """The result of `elastic_mean`.

    Attributes
    ----------
    mean : array
        A series of shape (m,) or (channels, m), or a matrix of shape (n, m) or (n, m, channels).
    variation : float
        The weighted sum of the summed costs of aligning the series with it.
    history : array
        The variation at the start and after each sweep.
    """

    mean: Array
    variation: float
    history: NDArray[np.float64]


def elastic_mean(X: Any, *, sample_weight: Any = None, **parameters: Any) -> Mean:
    """Mean of series: a minimizer of the sum of squared elastic distances.

    The same as `ElasticMean`, as a function.

    Parameters
    ----------
    X : series collection
        Anything `SeriesCollection.of` takes.
    sample_weight : array of shape (cases,), optional
        Weights of the series.
    **parameters
        Those of `ElasticMean`: `cost`, `method`, `space`, `init`, `length`, `max_iter`, `tol`,
        `band`, `alphabet`, `random_state`, `n_jobs`, `verbose`.

    Returns
    -------
    Mean
        `mean`, `variation` and `history`.

    Examples
    --------
    >>> result = elastic_mean([[0.0, 0.0, 1.0], [0.0, 3.0, 3.0]], init=[0.0, 1.0])
    >>> result.mean, result.variation
    (array([0.        , 2.33333333]), 2.6666666666666665)
    """
    model = ElasticMean(**parameters).fit(X, sample_weight=sample_weight)
    return Mean(model.mean_, model.variation_, model.history_[0])
