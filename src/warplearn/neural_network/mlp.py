"""Elastic neural networks (example 4 of the paper) under scikit-learn's contract.

A unit of the first hidden layer is an elastic linear function with an activation,
`h_u(x) = a(b_u + sigma_{W_u}(x))`.  Further hidden layers and the outputs are dense.  Series are
standardized, all with the same numbers.  The matrices W_u stand side by side and are trained by the
generalized gradient method that trains linear models: all that is new are the dense layers behind
the scores (`DenseLayers`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax, softmax

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.recursion.local import Product
from warplearn._kernels.simd.threads import limits_blas
from warplearn.base import (
    TargetScale,
    check_array_of,
    check_fitted_array,
    check_fitted_classes,
)
from warplearn.documentation import with_parameters_of
from warplearn.elastic.bands import resolve_band
from warplearn.elastic.extent import columns_for
from warplearn.registry import check_choice
from warplearn.series.chunks import mapped
from warplearn.sliding import Slides
from warplearn.training.data import TrainingSet
from warplearn.training.estimator import GradientEstimator
from warplearn.training.losses import Softmax, SquaredError
from warplearn.training.matrices import Context
from warplearn.training.plan import Array, Model, Plan, Solution, Start
from warplearn.training.supervised import TrainedClassifier, TrainedRegressor

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


class DenseLayers(NamedTuple):
    """Dense layers behind the scores; parameters are V and c of each, in turn.

    A layer maps activated inputs h to `h V + c`.
    """

    activation: str

    def outputs(self, parameters: Sequence[Array], scores: Array) -> Array:
        """Outputs (cases, outputs) for scores (cases, units)."""
        return self._forward(parameters, scores)[1]

    def gradients(
        self, parameters: Sequence[Array], scores: Array, slopes: Array
    ) -> tuple[Array, list[Array]]:
        """Derivatives with respect to the scores and the parameters (back-propagation)."""
        activated, _ = self._forward(parameters, scores)
        gradients: list[Array] = []
        for h, V in zip(reversed(activated), reversed(parameters[::2]), strict=True):
            gradients = [h.T @ slopes, slopes.sum(axis=0), *gradients]
            slopes = slopes @ V.T * ACTIVATIONS[self.activation].slope(h)
        return slopes, gradients

    def _forward(self, parameters: Sequence[Array], scores: Array) -> tuple[list[Array], Array]:
        """The activated inputs of all layers, and the outputs of the last."""
        activated, current = [], scores
        for V, c in zip(parameters[::2], parameters[1::2], strict=True):
            activated.append(ACTIVATIONS[self.activation].value(current))
            current = activated[-1] @ V + c
        return activated, current


@with_parameters_of(GradientEstimator)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMLP(GradientEstimator):
    """What elastic networks share.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(32,)
        Units of the hidden layers.  Those of the first are elastic, each with a weight matrix;
        further layers are dense.
    activation : {"tanh", "sigmoid", "relu"}, default="tanh"
        Activation of the hidden units.
    learning_rate_init : float, default=0.01
        Initial learning rate.
    learning_rate : {"constant", "decay", "invscaling"} or schedule, default="constant"
        How the rate changes from epoch to epoch (see `warplearn.training.schedules`).
    alpha : float, default=1e-4
        Strength of the penalty on the weights of all layers, not on biases.
    batch_size : int, optional, default=16
        None is the incremental method, a step for each example.
    solver : {"adam", "momentum", "sgd"} or solver, default="adam"
        How steps are made.
    max_iter : int, default=200
        Epochs at most.
    n_iter_no_change : int, default=30
        Epochs without progress after which training stops.

    Attributes
    ----------
    coef_ : array (units, n, m), or (units, n, m, channels)
        Weight matrices of the elastic units.
    intercept_ : array (units,)
        The bias of each elastic unit.
    dense_coefs_, dense_intercepts_ : lists of arrays
        Weights (inputs, outputs) and biases of the dense layers, the output layer last.
    mean_, scale_ : arrays (channels,)
        What the elements of series are standardized with.

    Notes
    -----
    Initial matrices are normal, scaled so that the scores of the training series have mean 0 and
    deviation 1 in every unit.
    """

    hidden_layer_sizes: Any = (32,)
    activation: str = "tanh"
    learning_rate_init: float = 0.01
    learning_rate: Any = "constant"
    alpha: float = 1e-4
    batch_size: int | None = 16
    solver: Any = "adam"
    max_iter: int = 200
    n_iter_no_change: int = 30

    @abstractmethod
    def _loss(self) -> Any:
        """What is minimized."""

    @abstractmethod
    def _readout(self, data: TrainingSet) -> Any:
        """How outputs become predictions; None where classes say it all."""

    @abstractmethod
    def _targets(self, data: TrainingSet, readout: Any) -> Array:
        """Targets of training, an array (outputs, cases)."""

    @abstractmethod
    def _weights(self, data: TrainingSet) -> Array:
        """Weights of the examples."""

    def plan(
        self, data: TrainingSet, rng: np.random.RandomState, start: Start | None = None
    ) -> Plan:
        """Everything that a fit needs (see `warplearn.training.plan`)."""
        self._check_parameters()
        readout = self._readout(data) if start is None else start.context.readout
        scales = data.scales if start is None else start.context.scales
        targets, weights = self._targets(data, readout), self._weights(data)
        held_out = self._held_out(data, rng)
        if start is None:
            X = data.standardized
            cases = data.cases[weights[data.cases] > 0]
            cases = cases[~np.isin(cases, held_out)]
            models = self._random_models(data, cases, len(targets), rng)
        else:
            X = data.standardized_with(scales)
            models = [self._model_from(start, data, len(targets))]
        columns = np.array([models[0].W.shape[2]])
        band = resolve_band(self.band, data.X.lengths[data.cases], columns)
        head = DenseLayers(self.activation)
        procedure = self._procedure()
        return Plan(
            X,
            targets,
            self._objective(self._loss(), len(targets), band, head),
            procedure._replace(batch_size=self.batch_size or 1),
            self._examples(data, weights, held_out, rng),
            tuple(models),
            len(models),
            context=Context.of(readout, data, scales),
        )

    def _random_models(
        self, data: TrainingSet, cases: Array, outputs: int, rng: np.random.RandomState
    ) -> list[Model]:
        X, n, sizes = data.standardized, data.max_length, self._sizes()
        shape = (sizes[0], n, columns_for(self.elasticity, n), X.n_channels)
        some = X[cases[:: -(-len(cases) // _MOST_TO_SCALE)]]
        band = resolve_band(self.band, some.lengths, np.array([shape[2]]))
        models = []
        for _ in range(self.n_init):
            W = rng.standard_normal(shape).astype(X.dtype)
            scores = evaluate(
                Product(), some.values, some.lengths, W, band=band, n_jobs=self.n_jobs
            ).values
            scale = scores.std(axis=0, dtype=np.float64)
            scale = np.where(scale > 0, scale, 1)
            W /= scale[:, None, None, None].astype(X.dtype)
            head: list[Array] = []
            for inside, outside in zip(sizes, (*sizes[1:], outputs), strict=True):
                V = rng.standard_normal((inside, outside)) / np.sqrt(inside)
                head += [V, np.zeros(outside)]
            models.append(self._model(W, -scores.mean(axis=0) / scale, tuple(head)))
        return models

    def _model_from(self, start: Start, data: TrainingSet, outputs: int) -> Model:
        """The fitted weights, with rows of 0 for series longer than any before."""
        if start.W.shape[3] != data.X.n_channels:
            raise ValueError(
                f"X must have {start.W.shape[3]} channel(s), as the fitted weights, "
                f"got {data.X.n_channels}"
            )
        if start.head[-1].shape != (outputs,):
            raise ValueError(
                f"y must have {len(start.head[-1])} classes or targets, as the fitted weights, "
                f"got {outputs}"
            )
        rows = max(start.W.shape[1], data.max_length)
        W = np.zeros((len(start.W), rows, *start.W.shape[2:]), data.X.dtype)
        W[:, : start.W.shape[1]] = start.W
        state = None if start.states is None else start.states[0]
        return self._model(W, start.b, start.head)._replace(state=state)

    def _model(self, W: Array, b: Array, head: tuple[Array, ...]) -> Model:
        rows = tuple(range(len(head[-1])))
        return Model(W, b, self.learning_rate_init, self.alpha, rows=rows, head=head)

    def adopt(self, plan: Plan, solutions: Sequence[Solution]) -> Any:
        """Set the fitted attributes from the solutions of a plan."""
        super().adopt(plan, solutions)
        self.dense_coefs_ = list(solutions[0].head[::2])
        self.dense_intercepts_ = list(solutions[0].head[1::2])
        self.mean_, self.scale_ = plan.context.scales
        return self

    def _head_parameters(self) -> tuple[Array, ...]:
        layers = zip(self.dense_coefs_, self.dense_intercepts_, strict=True)
        return tuple(p for layer in layers for p in layer)

    def _sizes(self) -> tuple[int, ...]:
        """Sizes of the hidden layers; one number is one layer."""
        sizes = self.hidden_layer_sizes
        sizes = sizes if isinstance(sizes, (list, tuple)) else (sizes,)
        if not sizes or not all(isinstance(s, Integral) and int(s) >= 1 for s in sizes):
            raise ValueError(
                "hidden_layer_sizes must be one or more positive integers, "
                f"got {self.hidden_layer_sizes!r}"
            )
        return tuple(int(size) for size in sizes)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._sizes()
        check_choice(self.activation, ACTIVATIONS, "activation")

    def _check_state(self, whole: bool = False) -> None:
        check_choice(self.activation, ACTIVATIONS, "activation")
        channels = (getattr(self, "n_channels_in_", None),)
        check_fitted_array(self, "mean_", channels)
        if not (check_fitted_array(self, "scale_", channels) > 0).all():
            raise ValueError("scale_ must be positive")
        coefs, intercepts = (
            getattr(self, name, None) for name in ("dense_coefs_", "dense_intercepts_")
        )
        if not isinstance(coefs, list) or not isinstance(intercepts, list) or not coefs:
            raise ValueError("dense_coefs_ and dense_intercepts_ must be lists of arrays")
        if len(coefs) != len(intercepts):
            raise ValueError("dense_intercepts_ must have an array for each of dense_coefs_")
        size: int | None = len(getattr(self, "intercept_", ()))
        for V, c in zip(coefs, intercepts, strict=True):
            check_array_of(V, "dense_coefs_", (size, None))
            size = V.shape[1]
            check_array_of(c, "dense_intercepts_", (size,))
        if size != self._n_outputs():
            raise ValueError(f"dense_coefs_ must end in {self._n_outputs()} outputs, got {size}")
        super()._check_state(whole)

    @abstractmethod
    def _n_outputs(self) -> int:
        """Outputs of a fitted network."""

    def _scales(self) -> tuple[Array, Array]:
        return self.mean_, self.scale_

    @limits_blas
    def _from_scores(self, read: Callable[[Array], Array], X: Any) -> Array:
        """What a function makes of the scores of the elastic units, before the activation."""
        series, operands = self._operands(X)
        bias = self.intercept_
        return mapped(lambda some: read(operands.scores(some).astype(np.float64) + bias), series)

    def _outputs(self, X: Any) -> Array:
        return self._from_scores(self._outputs_of, X)

    def _outputs_of(self, scores: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = DenseLayers(self.activation).outputs(self._head_parameters(), scores)
        if not np.isfinite(outputs).all():
            raise ValueError("outputs overflow: coef_ or dense_coefs_ or values of X are too large")
        return outputs

    def hidden_units(self, X: Any) -> Array:
        """What the elastic units make of each series, an array (cases, units)."""
        return self._from_scores(ACTIVATIONS[self.activation].value, X)


@with_parameters_of(ElasticMLP)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMLPClassifier(Slides, TrainedClassifier, ElasticMLP):
    """Elastic neural network with a softmax output.

    Parameters
    ----------
    class_weight : dict or "balanced", optional
        Weights of the classes, by default 1; "balanced" makes them inverse to the frequencies.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.

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

    def _loss(self) -> Any:
        return Softmax()

    def _n_outputs(self) -> int:
        return check_fitted_classes(self)

    def _readout(self, data: TrainingSet) -> Any:
        return None

    def _targets(self, data: TrainingSet, readout: Any) -> Array:
        assert data.classes is not None
        return (np.arange(len(data.classes))[:, None] == data.y).astype(np.float64)

    def decision_function(self, X: Any) -> Array:
        """Outputs before the softmax, one column for each class; of two classes, the difference."""
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X: Any) -> Array:
        """The class of each series."""
        return self._from_scores(
            lambda scores: self.classes_[self._outputs_of(scores).argmax(axis=1)], X
        )

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes."""
        return softmax(self._outputs(X), axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of the probabilities."""
        return log_softmax(self._outputs(X), axis=1)


@with_parameters_of(ElasticMLP)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticMLPRegressor(TrainedRegressor, ElasticMLP):
    """Elastic neural network with a linear output; least squares.

    Targets are standardized with the mean and deviation of those seen first.

    Attributes
    ----------
    target_mean_, target_scale_ : arrays (targets,)
        Mean and deviation of the training targets.
    """

    def _loss(self) -> Any:
        return SquaredError()

    def _n_outputs(self) -> int:
        scale = getattr(getattr(self, "_context", None), "readout", None)
        if not isinstance(scale, TargetScale):
            raise ValueError(f"the readout must be a scale of targets, got {scale!r}")
        scale.check()
        return len(scale.mean)

    def _readout(self, data: TrainingSet) -> TargetScale:
        return TargetScale.of(data.y[data.cases])

    def _targets(self, data: TrainingSet, readout: TargetScale) -> Array:
        return readout.standardized(data.y).T

    @property
    def _target_scale(self) -> TargetScale:
        return self._context.readout

    def predict(self, X: Any) -> Array:
        """The targets of each series, an array (cases,) or (cases, targets) like y in `fit`."""
        outputs, scale = self._outputs(X), self._target_scale
        return scale.shaped(outputs * scale.deviation + scale.mean)
