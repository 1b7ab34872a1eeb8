"""Means of series under dynamic time warping (section 3.5 and Algorithm 2 of the paper).

A mean minimizes the variation, the weighted sum of squared elastic distances

    F(Y) = sum over i of w_i * min over paths phi of || x_i embedded in Y along phi  -  Y ||^2.

There are two parameter spaces, which differ in the shape of Y and in nothing else.  In the space
"matrix", the paper's, Y is any n x m matrix, n the length of the longest series.  In the space
"series", Y stands for a matrix whose rows are all the same, and the distance is that of dynamic
time warping.

One pass over the series (`pull`) gives the variation, the *force* `sum of w_i (X_i - Y)` with
which the embedded series X_i pull at Y, and how much weight passes through each cell.  A method
turns these into a step, and one loop (`minimize`) repeats the steps:

===============  ===================================================================
`Averaging`      `Y + force / visits`: each cell becomes the mean of what is aligned with it
`Gradient`       `Y + eta force`, by default eta = 1/N: the paper's special case
`Stochastic`     `Y + eta_t (X_i - Y)`, one series at a time
===============  ===================================================================

`Averaging` is DBA: it minimizes, for fixed paths, a function that lies above the variation and
touches it at Y, so the variation never increases.  In the matrix space no path passes a cell
twice; with eta = 1/N every cell then moves towards that same minimum and at most up to it, so
the variation never increases either.  In the space of series a path may pass a cell many times
and the same eta can overshoot.  `minimize` keeps the best Y it has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.evaluate import evaluate, evaluate_pairs
from warplearn._kernels.recursion.local import Squared
from warplearn.base import check_series, check_weights
from warplearn.elastic.bands import Band, BandLike, resolve_band
from warplearn.series.collection import SeriesCollection, single

__all__ = [
    "Averaging",
    "ElasticMean",
    "Gradient",
    "Mean",
    "Stochastic",
    "elastic_mean",
]

Array: TypeAlias = NDArray[Any]
T = TypeVar("T")

# Series looked at in one go.  What a pass allocates is of this order, however many there are.
_CHUNK_BYTES = 2**21
_MEDOID_CANDIDATES = 256


def named(table: Mapping[str, T], choice: Any, argument: str, part: str | None = None) -> T:
    """The entry of a table that an argument names.

    Parameters
    ----------
    part : str, optional
        The method that makes an object a fit part itself, where one may be given instead.
    """
    if part is not None and hasattr(choice, part) and not isinstance(choice, type):
        return choice
    if not isinstance(choice, str) or choice not in table:
        instead = "" if part is None else f" or an object with a method {part!r}"
        raise ValueError(f"{argument} must be one of {sorted(table)}{instead}, got {choice!r}")
    return table[choice]


def chunks(X: SeriesCollection, cases: NDArray[np.int64] | None = None) -> Iterator[Any]:
    """Indices of all series, or of some given in ascending order, a few at a time."""
    size = max(1, _CHUNK_BYTES // (X.max_length * X.n_channels * X.dtype.itemsize))
    if cases is not None and len(cases) == len(X):
        cases = None  # slices do not copy
    count = len(X) if cases is None else len(cases)
    for start in range(0, count, size):
        part = slice(start, min(start + size, count))
        yield part if cases is None else cases[part]


# Objective


class Pull(NamedTuple):
    """What the series, embedded along their active paths, do to Y."""

    variation: float
    force: Array
    visits: Array


class Objective(NamedTuple):
    """The variation of weighted series, as a function of Y in the kernels' form.

    Y has shape (m, channels) or (n, m, channels).  Series of weight 0 cost nothing.
    """

    X: SeriesCollection
    weights: NDArray[np.float64]
    band: Band | None = None
    n_jobs: int | None = None

    def value(self, Y: Array) -> float:
        """The variation."""
        return sum(
            -float(self.weights[cases] @ self._evaluate(cases, Y).values[:, 0])
            for cases in self._chunks()
        )

    def pull(self, Y: Array) -> Pull:
        """The variation, and the way downhill."""
        variation, force, visits = 0.0, np.zeros_like(Y), np.zeros_like(Y[..., :1])
        for cases in self._chunks():
            weights = self.weights[cases]
            found = self._evaluate(
                cases, Y, upstream=weights[:, None], want_matrix=True, want_visits=True
            )
            assert found.matrix_gradient is not None
            assert found.visits is not None
            variation -= float(weights @ found.values[:, 0])
            force += found.matrix_gradient[0] / 2  # of -(x - y)^2 the derivative is 2 (x - y)
            visits += found.visits[0][..., None]
        return Pull(variation, force, visits)

    def _chunks(self) -> Iterator[Any]:
        return chunks(self.X, np.flatnonzero(self.weights))

    def _evaluate(self, cases: Any, Y: Array, **wanted: Any) -> Any:
        part = self.X[cases]
        return evaluate(
            Squared(), part.values, part.lengths, Y[None],
            band=self.band, n_jobs=self.n_jobs, **wanted,
        )  # fmt: skip


def averaged(found: Pull) -> Array:
    """The step to the mean of what is aligned with each cell; none where nothing is."""
    nothing = np.zeros_like(found.force)
    return np.divide(found.force, found.visits, out=nothing, where=found.visits > 0)


# Methods


class Method(Protocol):
    """What `minimize` asks of a method."""

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """Go over the series once: the variation at Y, and the next Y."""
        ...


@final
@dataclass(frozen=True)
class Averaging:
    """Barycentre averaging (DBA, majorize-minimize)."""

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """One DBA step."""
        found = objective.pull(Y)
        return found.variation, Y + averaged(found)


@final
@dataclass(frozen=True)
class Gradient:
    """Generalized gradient steps, in the sign of the reading notes: `Y + eta sum(X_i - Y)`.

    Parameters
    ----------
    rate : float, optional
        eta; by default one over the sum of the weights.
    """

    rate: float | None = None

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """One step along the generalized gradient."""
        found = objective.pull(Y)
        rate = 1 / objective.weights.sum() if self.rate is None else self.rate
        return found.variation, Y + Y.dtype.type(rate) * found.force


@final
@dataclass(frozen=True)
class Stochastic:
    """Stochastic generalized gradient steps, one series at a time in a new order each sweep.

    Parameters
    ----------
    rate : float
        Of the first step; after t sweeps it is `rate / (1 + t)`, also within a sweep.
    """

    rate: float = 0.05

    def sweep(
        self, objective: Objective, Y: Array, number: int, rng: np.random.RandomState
    ) -> tuple[float, Array]:
        """One step for each series."""
        variation = objective.value(Y)
        order = rng.permutation(np.flatnonzero(objective.weights))
        weights = objective.weights * (len(order) / objective.weights.sum())
        for position, case in enumerate(order):
            one = objective._replace(X=objective.X[[case]], weights=weights[[case]])
            rate = self.rate / (1 + number + position / len(order))
            Y = Y + Y.dtype.type(rate) * one.pull(Y).force
        return variation, Y


METHODS: dict[str, Method] = {
    "dba": Averaging(),
    "gradient": Gradient(),
    "stochastic": Stochastic(),
}


class Solution(NamedTuple):
    """The best Y of a run, its variation, and the variations of all it went through."""

    Y: Array
    variation: float
    history: list[float]


def minimize(
    objective: Objective,
    Y: Array,
    method: Method,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
    report: Callable[[int, float], None] = lambda number, variation: None,
) -> Solution:
    """Sweep until the variation no longer falls by more than its `tol`-th part.

    A stochastic method may rise for a sweep before it falls, so only a small change in either
    direction ends the run.
    """
    best = Solution(Y, np.inf, [])
    for number in range(max_iter + 1):
        if number < max_iter:
            variation, following = method.sweep(objective, Y, number, rng)
        else:
            variation, following = objective.value(Y), Y
        best.history.append(variation)
        report(number, variation)
        if variation < best.variation:
            best = best._replace(Y=Y, variation=variation)
        if not np.isfinite(variation):
            break
        if number and abs(best.history[-2] - variation) <= tol * best.history[-2]:
            break
        Y = following
    return best


# Where to start, and in which space


def resampled(z: Array, length: int | None) -> Array:
    """A series (time, channels) stretched to a length by linear interpolation."""
    if length is None or length == len(z):
        return z
    at = np.linspace(0, len(z) - 1, length)
    stretched = [np.interp(at, np.arange(len(z)), channel) for channel in z.T]
    return np.stack(stretched, axis=1).astype(z.dtype)


class Start(Protocol):
    """A way to choose the first mean."""

    def __call__(
        self, objective: Objective, length: int | None, rng: np.random.RandomState
    ) -> Array: ...


def _medoid(objective: Objective, length: int | None, rng: np.random.RandomState) -> Array:
    cases = np.flatnonzero(objective.weights)
    if len(cases) > _MEDOID_CANDIDATES:
        cases = np.sort(rng.choice(cases, _MEDOID_CANDIDATES, replace=False))
    among = objective.X[cases]
    values = evaluate_pairs(
        Squared(), among.values, among.lengths, band=objective.band, n_jobs=objective.n_jobs
    ).values
    return np.array(among[int(np.argmax(values @ objective.weights[cases]))])


def _random(objective: Objective, length: int | None, rng: np.random.RandomState) -> Array:
    shares = objective.weights / objective.weights.sum()
    return np.array(objective.X[int(rng.choice(len(shares), p=shares))])


def _euclidean(objective: Objective, length: int | None, rng: np.random.RandomState) -> Array:
    X = objective.X
    length = X.max_length if length is None else length
    total = np.zeros((length, X.n_channels))
    for x, weight in zip(X, objective.weights, strict=True):
        total += weight * resampled(x, length)
    return np.asarray(total / objective.weights.sum(), X.dtype)


STARTS: dict[str, Start] = {"medoid": _medoid, "random": _random, "euclidean": _euclidean}


def _given(init: Any, X: SeriesCollection) -> Start:
    """A start that is a series."""
    series = single(init, "init", dtype=X.dtype)
    if series.n_channels != X.n_channels:
        raise ValueError(
            f"init must have {X.n_channels} channel(s), as X has, got {series.n_channels}"
        )
    first = series[0]
    return lambda objective, length, rng: first


def _as_series(z: Array, rows: int) -> Array:
    return z


def _as_matrix(z: Array, rows: int) -> Array:
    return np.repeat(z[None], rows, axis=0)


SPACES: dict[str, Callable[[Array, int], Array]] = {"series": _as_series, "matrix": _as_matrix}


def shown(Y: Array) -> Array:
    """A mean as users see it: (m,) or (channels, m); a matrix (n, m) or (n, m, channels)."""
    if Y.shape[-1] == 1:
        return Y[..., 0]
    return Y.T if Y.ndim == 2 else Y


def hidden(means: Array, space: str, n_channels: int) -> Array:
    """Several means in the kernels' form: what `shown` made of each, undone."""
    if n_channels == 1:
        return means[..., None]
    return means.swapaxes(1, 2) if space == "series" else means


def check_rows(X: SeriesCollection, space: str, rows: int) -> None:
    """In the matrix space a series has no more elements than the matrix has rows."""
    if space == "matrix" and X.max_length > rows:
        case = int(X.lengths.argmax())
        raise ValueError(
            f"X[{case}] has length {X.max_length}, but the matrices of space='matrix' have {rows} "
            "rows, the length of the longest series seen in fit"
        )


def first_mean(
    objective: Objective, init: Any, space: str, length: int | None, rng: np.random.RandomState
) -> Array:
    """The mean to start from, in the kernels' form."""
    lift = named(SPACES, space, "space")
    start = named(STARTS, init, "init") if isinstance(init, str) else _given(init, objective.X)
    first: Array = lift(resampled(start(objective, length, rng), length), objective.X.max_length)
    return first


class Mean(NamedTuple):
    """What `elastic_mean` returns.

    Attributes
    ----------
    mean : array
        A series of shape (m,) or (channels, m), or a matrix of shape (n, m) or (n, m, channels).
    variation : float
        The weighted sum of squared distances to it.
    history : array
        The variation at the start and after each sweep.
    """

    mean: Array
    variation: float
    history: NDArray[np.float64]


def elastic_mean(
    X: Any,
    *,
    method: Any = "dba",
    space: str = "series",
    init: Any = "medoid",
    length: int | None = None,
    max_iter: int = 30,
    tol: float = 1e-6,
    weights: Any = None,
    band: BandLike = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Mean:
    """Mean of series: a minimizer of the sum of squared elastic distances.

    Parameters
    ----------
    X : series collection
        Anything `SeriesCollection.of` takes.
    method : {"dba", "gradient", "stochastic"} or a method, default="dba"
        `Averaging()`, `Gradient()` and `Stochastic()`; pass an instance to choose a rate.
    space : {"series", "matrix"}, default="series"
        Whether the mean is a series, or a matrix as in the paper.
    init : {"medoid", "random", "euclidean"} or series, default="medoid"
        Where to start.  The medoid is sought among at most 256 series drawn at random.
    length : int, optional
        Length of the mean, or columns of the matrix; by default that of the first mean.
    max_iter : int, default=30
        Sweeps over the series.
    tol : float, default=1e-6
        Stop when a sweep changes the variation by no more than this part of it.
    weights : array of shape (cases,), optional
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side.
    random_state : int, RandomState or None
        For random starts and for the order of "stochastic".
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.
    verbose : int, default=0
        Print the variation after each sweep.

    Returns
    -------
    Mean
        `mean`, `variation` and `history`.

    Notes
    -----
    A soft minimum is not offered: it changes the recursion itself, not the step.

    Examples
    --------
    >>> found = elastic_mean([[0.0, 0.0, 1.0], [0.0, 3.0, 3.0]], init=[0.0, 1.0])
    >>> found.mean, found.variation
    (array([0.        , 2.33333333]), 2.6666666666666665)
    """
    check_scalar(max_iter, "max_iter", (int, np.integer), min_val=0)
    check_scalar(tol, "tol", (int, float), min_val=0)
    if length is not None:
        check_scalar(length, "length", (int, np.integer), min_val=1)
    collection = SeriesCollection.of(X)
    chosen = named(METHODS, method, "method", "sweep")
    given = check_weights(collection, weights)
    rng = check_random_state(random_state)
    objective = Objective(collection, given, None, n_jobs)
    Y = first_mean(objective, init, space, length, rng)
    columns = np.array([Y.shape[-2]])
    objective = objective._replace(band=resolve_band(band, collection.lengths, columns))

    def report(number: int, variation: float) -> None:
        if verbose:
            print(f"elastic_mean: sweep {number}, variation {variation:.6g}", flush=True)

    found = minimize(objective, Y, chosen, max_iter=max_iter, tol=tol, rng=rng, report=report)
    return Mean(shown(found.Y), found.variation, np.array(found.history))


class ElasticMean(BaseEstimator):
    """Mean of series, as an estimator.

    Parameters
    ----------
    method, space, init, length, max_iter, tol, band, random_state, n_jobs, verbose
        As for `elastic_mean`.

    Attributes
    ----------
    mean_ : array
        A series of shape (m,) or (channels, m), or a matrix.
    variation_ : float
        The weighted sum of squared distances of the training series to the mean.
    history_ : array
        The variation at the start and after each sweep.
    n_iter_ : int
        How many sweeps there were.
    """

    def __init__(
        self,
        *,
        method: Any = "dba",
        space: str = "series",
        init: Any = "medoid",
        length: int | None = None,
        max_iter: int = 30,
        tol: float = 1e-6,
        band: BandLike = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.space = space
        self.init = init
        self.length = length
        self.max_iter = max_iter
        self.tol = tol
        self.band = band
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ElasticMean:
        """Find the mean.

        Parameters
        ----------
        X : series collection
        y : ignored
        sample_weight : array of shape (cases,), optional
        """
        collection = check_series(self, X, reset=True)
        found = elastic_mean(collection, weights=sample_weight, **self.get_params(deep=False))
        self.mean_, self.variation_, self.history_ = found
        self.n_iter_ = len(found.history) - 1
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the variation of series around the mean: greater is better."""
        check_is_fitted(self)
        collection = check_series(self, X, reset=False)
        Y = hidden(self.mean_[None], self.space, self.n_channels_in_)[0]
        collection = collection.astype(Y.dtype)
        check_rows(collection, self.space, Y.shape[0])
        band = resolve_band(self.band, collection.lengths, np.array([Y.shape[-2]]))
        ones = np.ones(len(collection))
        return -Objective(collection, ones, band, self.n_jobs).value(Y)
