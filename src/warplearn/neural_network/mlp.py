"""Elastic neural networks (example 4 of the paper) under scikit-learn's contract.

A hidden unit is an elastic linear function with an activation, `h_u(x) = a(b_u + sigma_{W_u}(x))`;
the outputs are linear in the hidden units.  Series are standardized, all with the same numbers.
The matrices W_u stand side by side and are trained by the generalized gradient method that trains
linear models: all that is new is the layer behind the scores (`Layer`), and a share of the series
that is held out to tell when to stop.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Product
from warplearn.base import (
    check_classes,
    check_counts,
    check_labelled,
    check_labels,
    check_length,
    check_not_negative,
    check_series,
    check_weights,
    element_scales,
    hold_out,
    standardized,
    weigh_classes,
)
from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.extent import columns_for
from warplearn.series.collection import SeriesCollection
from warplearn.training import penalties, schedules
from warplearn.training.losses import Softmax, SquaredNorm
from warplearn.training.train import Model, Problem, Solution, Split, Stopping, best_restarts, solve

Array = NDArray[Any]

_MOST_TO_SCALE = 500  # series that initial weights are scaled with


class Activation(NamedTuple):
    """A function of scores, and its derivative as a function of its value."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]


ACTIVATIONS = {
    "sigmoid": Activation(expit, lambda h: h * (1 - h)),
    "tanh": Activation(np.tanh, lambda h: 1 - h**2),
    "relu": Activation(lambda z: np.maximum(z, 0), lambda h: (h > 0).astype(h.dtype)),
}


class Layer(NamedTuple):
    """Outputs that are linear in activated scores; its parameters are V and c."""

    activation: Activation

    def outputs(self, parameters: Sequence[Array], scores: Array) -> Array:
        """Outputs (cases, outputs) for scores (cases, units)."""
        V, c = parameters
        outputs: Array = self.activation.value(scores) @ V + c
        return outputs

    def gradients(
        self, parameters: Sequence[Array], scores: Array, slopes: Array
    ) -> tuple[Array, list[Array]]:
        """What slopes with respect to the outputs mean for the scores, and for V and c."""
        V, _ = parameters
        hidden = self.activation.value(scores)
        to_scores = slopes @ V.T * self.activation.slope(hidden)
        return to_scores, [hidden.T @ slopes, slopes.sum(axis=0)]


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMLP(BaseEstimator, metaclass=ABCMeta):
    """What elastic networks share.

    Parameters
    ----------
    units : int, default=32
        Hidden units, each with a weight matrix.
    activation : {"tanh", "sigmoid", "relu"}, default="tanh"
    elasticity : int or float, default=0.1
        Columns m of the weight matrices: an integer, or a ratio to the length n, rounded up; 0.0
        is m = 1, an ordinary network.
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side of the grid.
    eta : float, default=0.01
        Initial learning rate.
    schedule : {"constant", "decay", "invscaling"} or schedule, default="constant"
    penalty : {"l2", "l1"} or penalty, default="l2"
    lam : float, default=1e-4
        Strength of the penalty on the weights of both layers, not on biases.
    batch_size : int, optional, default=16
        None is the incremental method, a step for each example.
    optimizer : {"adam", "momentum", "sgd"} or optimizer, default="adam"
    max_iter : int, default=200
        Epochs at most.
    validation_share : float, default=0.0
        Share of the training series that is held out.  Training ends when the risk, on them or
        without them on the training series, has not fallen by more than `tol` for
        `n_iter_no_change` epochs; the weights with the lowest risk are kept.
    tol : float, default=1e-4
    n_iter_no_change : int, default=30
    n_init : int, default=1
        Restarts from other initial weights, side by side; the best one is kept.
    shuffle : bool, default=True
        Whether examples come in a new order each epoch.
    alphabet : Alphabet, optional
        For sequences of symbols; by default the symbols seen in `fit`.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the last one.
    random_state : int or RandomState, optional
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads; None is Numba's current setting, -1 all cores.  Results do not depend on it.

    Attributes
    ----------
    coef_ : array (units, n, m), or (units, n, m, channels)
        Weight matrices of the hidden units.
    intercept_ : array (units,)
    output_coef_, output_intercept_ : arrays (units, outputs) and (outputs,)
    mean_, scale_ : arrays (channels,)
        What the elements of series are standardized with.
    n_iter_ : int
        Epochs.
    history_ : array (n_iter_,)
        The risk after each epoch, on the series held out if there are any.
    solution_ : Solution
        Why training stopped, and more.
    n_features_in_ : int
        Length of the longest training series, the rows of the matrices.

    Notes
    -----
    Initial matrices are normal, scaled so that the scores of the training series have mean 0 and
    deviation 1 in every unit.
    """

    units: int = 32
    activation: str = "tanh"
    elasticity: float = 0.1
    band: BandLike = None
    eta: float = 0.01
    schedule: Any = "constant"
    penalty: Any = "l2"
    lam: float = 1e-4
    batch_size: int | None = 16
    optimizer: Any = "adam"
    max_iter: int = 200
    validation_share: float = 0.0
    tol: float = 1e-4
    n_iter_no_change: int = 30
    n_init: int = 1
    shuffle: bool = True
    alphabet: Any = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    @property
    @abstractmethod
    def _loss(self) -> Any:
        """What is minimized."""

    def _fit(self, X: SeriesCollection, targets: Array, weights: Array, strata: Any) -> None:
        """Train on targets (cases, outputs); what is held out has its share of all `strata`."""
        self._check_parameters()
        self._random_state = check_random_state(self.random_state)
        warm = self.warm_start and hasattr(self, "coef_")
        X = self._scaled(X, reset=not warm)
        held_out = hold_out(self.validation_share, weights, strata, self._random_state)
        cases = np.setdiff1d(np.flatnonzero(weights), held_out)
        models = (
            [self._model_from_coef(X, targets)]
            if warm
            else self._new_models(X, cases, targets.shape[1])
        )
        stopping = Stopping(self.max_iter, "risk", False, self.n_iter_no_change, self.tol)
        solutions = self._solve(X, targets, models, self._split(weights, held_out), stopping)
        self._adopt(best_restarts(solutions, len(models), stopping)[0])
        self.t_ = self.n_iter_

    def _partial_fit(self, X: SeriesCollection, targets: Array, weights: Array) -> None:
        """Train for one epoch."""
        self._check_parameters()
        first = not hasattr(self, "coef_")
        X = self._scaled(X, reset=first)
        if first:
            self._random_state = check_random_state(self.random_state)
            self.t_ = 0
            model = self._new_models(X, np.arange(len(X)), targets.shape[1])[0]
        else:
            self.n_features_in_ = max(self.coef_.shape[1], X.max_length)
            model = self._model_from_coef(X, targets)
        solution = self._solve(
            X, targets, [model], self._split(weights), Stopping(self.t_ + 1, "risk", False),
            first_epoch=self.t_,
        )[0]  # fmt: skip
        self._adopt(solution)
        self.t_ += 1

    def _scaled(self, X: SeriesCollection, *, reset: bool) -> SeriesCollection:
        """Standardized series; with `reset` they say with what."""
        if reset:
            self.mean_, self.scale_ = element_scales(X)
        elif len(self.mean_) != X.n_channels:
            raise ValueError(
                f"X must have {len(self.mean_)} channel(s), as the fitted weights, "
                f"got {X.n_channels}"
            )
        return standardized(X, self.mean_, self.scale_)

    def _split(self, weights: Array, held_out: Sequence[int] | Array = ()) -> Split:
        own = np.random.RandomState(self._random_state.randint(np.iinfo(np.int32).max))
        return Split(weights, own, self.shuffle, held_out)

    def _new_models(self, X: SeriesCollection, cases: Array, outputs: int) -> list[Model]:
        """Restarts from random weights."""
        n, rng = X.max_length, self._random_state
        shape = (self.units, n, columns_for(self.elasticity, n), X.n_channels)
        some = X[cases[:: -(-len(cases) // _MOST_TO_SCALE)]]
        radius = resolve_band(self.band, some.lengths, np.array([shape[2]]))
        models = []
        for _ in range(self.n_init):
            W = rng.standard_normal(shape).astype(X.dtype)
            scores = evaluate(
                Product(), some.values, some.lengths, W, band=radius, n_jobs=self.n_jobs
            ).values
            scale = scores.std(axis=0, dtype=np.float64)
            scale = np.where(scale > 0, scale, 1)
            W /= scale[:, None, None, None].astype(X.dtype)
            V = rng.standard_normal((self.units, outputs)) / np.sqrt(self.units)
            models.append(self._model(W, -scores.mean(axis=0) / scale, (V, np.zeros(outputs))))
        return models

    def _model_from_coef(self, X: SeriesCollection, targets: Array) -> Model:
        """The fitted weights, with rows of 0 for series longer than any before."""
        W = self._matrices().astype(X.dtype)
        if self.output_coef_.shape[1] != targets.shape[1]:
            raise ValueError(
                f"y must have {self.output_coef_.shape[1]} classes or targets, as the fitted "
                f"weights, got {targets.shape[1]}"
            )
        memory = self.solution_.memory
        more = max(0, X.max_length - W.shape[1])
        if more:
            W = np.concatenate([W, np.zeros((len(W), more, *W.shape[2:]), W.dtype)], axis=1)
            memory = None  # it has the shape of the old weights
        return self._model(W, self.intercept_, (self.output_coef_, self.output_intercept_), memory)

    def _model(self, W: Array, b: Array, head: tuple[Array, ...], memory: Any = None) -> Model:
        outputs = head[0].shape[1]
        return Model(
            W, b, self.eta, self.lam,
            rows=range(outputs), signs=(1.0,) * outputs, head=head, memory=memory,
        )  # fmt: skip

    def _solve(
        self,
        X: SeriesCollection,
        targets: Array,
        models: list[Model],
        split: Split,
        stopping: Stopping,
        first_epoch: int = 0,
    ) -> list[Solution]:
        radius = resolve_band(self.band, X.lengths, np.array([models[0].W.shape[2]]))
        problem = Problem(
            X, targets.T, self._loss, targets.shape[1], Product(), radius,
            penalties.resolve(self.penalty),
        )  # fmt: skip
        return solve(
            problem, models, [split],
            batch_size=1 if self.batch_size is None else self.batch_size,
            optimizer=self.optimizer, schedule=schedules.resolve(self.schedule),
            stopping=stopping, head=self._head, first_epoch=first_epoch,
            verbose=self.verbose, n_jobs=self.n_jobs,
        )  # fmt: skip

    def _adopt(self, solution: Solution) -> None:
        """Take over a solution as the fitted model."""
        W = solution.W
        self.coef_ = W[..., 0] if W.shape[-1] == 1 else W
        self.intercept_ = solution.b
        self.output_coef_, self.output_intercept_ = solution.head
        self.solution_ = solution
        self.history_ = solution.history
        self.n_iter_ = solution.n_epochs

    def _check_parameters(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {sorted(ACTIVATIONS)}, got {self.activation!r}"
            )
        check_not_negative(self, "eta", "lam", "tol")
        check_counts(self, "units", "max_iter", "n_init", "n_iter_no_change")
        if self.batch_size is not None:
            check_counts(self, "batch_size")

    @property
    def _head(self) -> Layer:
        return Layer(ACTIVATIONS[self.activation])

    def _matrices(self) -> Array:
        return self.coef_ if self.coef_.ndim == 4 else self.coef_[..., None]

    def _outputs(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._head.outputs((self.output_coef_, self.output_intercept_), self._scores(X))

    def _scores(self, X: Any) -> Array:
        """Scores of the hidden units, before the activation."""
        check_is_fitted(self)
        series = check_series(self, X, reset=False)
        W = self._matrices()
        check_length(series, W.shape[1])
        dtype = np.result_type(series.dtype, W.dtype)
        radius = resolve_band(self.band, series.lengths, np.array([W.shape[2]]))
        series = standardized(series.astype(dtype), self.mean_, self.scale_)
        scores = evaluate(
            Product(), series.values, series.lengths, W.astype(dtype, copy=False),
            band=radius, n_jobs=self.n_jobs,
        ).values  # fmt: skip
        return scores.astype(np.float64) + self.intercept_

    def hidden_units(self, X: Any) -> Array:
        """What the hidden units make of each series, an array (cases, units)."""
        hidden: Array = ACTIVATIONS[self.activation].value(self._scores(X))
        return hidden

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMLPClassifier(ClassifierMixin, ElasticMLP):
    """Elastic neural network with one hidden layer and a softmax output.

    Attributes
    ----------
    classes_ : array

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.choice([-3, -1, 1, 3], 200)  # no elastic linear classifier can tell (a > 0) != ...
    >>> y = np.isin(a, [-3, 1])
    >>> X = a[:, None] * np.hanning(30) + rng.normal(0, 0.1, (200, 30))
    >>> ElasticMLPClassifier(random_state=0).fit(X[:100], y[:100]).score(X[100:], y[100:])
    1.0
    """

    class_weight: Any = None

    @property
    def _loss(self) -> Any:
        return Softmax()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticMLPClassifier:
        """Train on series X with labels y.

        Parameters
        ----------
        X : series collection
            Anything `SeriesCollection.of` takes, or a list of strings or lists of symbols.
        y : array (cases,)
        sample_weight : array (cases,), optional
        """
        series, codes, weights = check_labelled(self, X, y, sample_weight)
        weights = weigh_classes(self.class_weight, self.classes_, codes, weights)
        self._fit(series, self._indicators(codes), weights, codes)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> ElasticMLPClassifier:
        """Train for one epoch on more series.

        Series longer than any before give the weight matrices more rows, which start at 0.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array, optional
            All classes there will be; needed in the first call.
        """
        first = not hasattr(self, "coef_")
        series = check_series(self, X, reset=first)
        labels = check_labels(series, y)
        codes = check_classes(self, labels, classes, reset=first)
        weights = check_weights(series, sample_weight)
        weights = weigh_classes(self.class_weight, self.classes_, codes, weights)
        self._partial_fit(series, self._indicators(codes), weights)
        return self

    def _indicators(self, codes: Array) -> Array:
        indicators: Array = (codes[:, None] == np.arange(len(self.classes_))).astype(np.float64)
        return indicators

    def decision_function(self, X: Any) -> Array:
        """Outputs before the softmax, one column for each class; of two classes, the difference."""
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X: Any) -> Array:
        """The class of each series."""
        codes = self._outputs(X).argmax(axis=1)
        labels: Array = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes."""
        probabilities: Array = softmax(self._outputs(X), axis=1)
        return probabilities

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities."""
        logarithms: Array = log_softmax(self._outputs(X), axis=1)
        return logarithms


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMLPRegressor(RegressorMixin, ElasticMLP):
    """Elastic neural network with one hidden layer and a linear output; least squares.

    Targets are standardized with the mean and deviation of those seen first.

    Attributes
    ----------
    target_mean_, target_scale_ : arrays (targets,)
    """

    @property
    def _loss(self) -> Any:
        return SquaredNorm()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticMLPRegressor:
        """Train on series X with targets y.

        Parameters
        ----------
        X : series collection
            Anything `SeriesCollection.of` takes, or a list of strings or lists of symbols.
        y : array (cases,) or (cases, targets)
        sample_weight : array (cases,), optional
        """
        series = check_series(self, X, reset=True)
        targets = self._check_targets(series, y, reset=True)
        self._fit(series, targets, check_weights(series, sample_weight), None)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> ElasticMLPRegressor:
        """Train for one epoch on more series, which may be longer than any before."""
        first = not hasattr(self, "coef_")
        series = check_series(self, X, reset=first)
        targets = self._check_targets(series, y, reset=first)
        self._partial_fit(series, targets, check_weights(series, sample_weight))
        return self

    def _check_targets(self, X: SeriesCollection, y: Any, *, reset: bool) -> Array:
        """Standardized targets (cases, targets)."""
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None")
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if len(targets) != len(X):
            raise ValueError(
                "X and y must have as many cases: Found input variables with inconsistent numbers "
                f"of samples: [{len(X)}, {len(targets)}]"
            )
        if reset:
            self._flat = targets.ndim == 1 or (targets.ndim == 2 and targets.shape[1] == 1)
        targets = targets.reshape(len(targets), -1)
        if reset:
            scale = targets.std(axis=0)
            self.target_mean_ = targets.mean(axis=0)
            self.target_scale_ = np.where(scale > 0, scale, 1.0)
        elif targets.shape[1] != len(self.target_mean_):
            raise ValueError(
                f"y must have {len(self.target_mean_)} target(s) for each series, as before, "
                f"got {targets.shape[1]}"
            )
        standardized: Array = (targets - self.target_mean_) / self.target_scale_
        return standardized

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any) -> Array:
        """The targets of each series, an array (cases,) or (cases, targets) like y in `fit`."""
        predicted: Array = self._outputs(X) * self.target_scale_ + self.target_mean_
        return predicted[:, 0] if self._flat else predicted
