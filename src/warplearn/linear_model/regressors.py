"""Elastic linear regression under scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.base import TargetScale
from warplearn.documentation import with_parameters_of
from warplearn.linear_model.base import ElasticLinearModel
from warplearn.registry import check_choice
from warplearn.training.data import TrainingSet
from warplearn.training.estimator import GradientEstimator
from warplearn.training.losses import AbsoluteError, Huber, SquaredError
from warplearn.training.supervised import TrainedRegressor

LOSSES: dict[str, Callable[[float], Any]] = {
    "squared_error": lambda epsilon: SquaredError(),
    "absolute_error": lambda epsilon: AbsoluteError(),
    "huber": Huber,
}


class TargetReadout(NamedTuple):
    """How outputs stand for targets: one model with a matrix for each target.

    The counterpart of `Polarity`; models are trained on standardized targets.
    """

    scale: TargetScale

    @property
    def n_models(self) -> int:
        """One model predicts all targets."""
        return 1

    @property
    def n_matrices(self) -> int:
        """Matrices of the model, one for each target."""
        return len(self.scale.mean)

    def rows(self, model: int) -> tuple[int, ...]:
        """Which row of the targets each output of a model has."""
        return tuple(range(self.n_matrices))

    @property
    def mix(self) -> NDArray[np.float64]:
        """An array (matrices, targets): predictions are `scores @ mix + offset`."""
        return np.diag(self.scale.deviation)

    @property
    def offset(self) -> NDArray[np.float64]:
        """What is added to get predictions."""
        return self.scale.mean


@with_parameters_of(GradientEstimator)
@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearRegression(TrainedRegressor, ElasticLinearModel):
    """Elastic linear regression: targets are elastic inner products with weight matrices.

    Targets are standardized for training with the mean and deviation of those seen first.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber"}, default="squared_error"
        What is minimized, summed over the training series.
    epsilon : float, default=1.35
        Where the Huber loss changes from squared to absolute, in deviations of the target.
    learning_rate_init : float, default=0.01
        Initial learning rate.
    learning_rate : {"constant", "decay", "invscaling"} or schedule, default="constant"
        How the rate changes from epoch to epoch (see `warplearn.training.schedules`).
    batch_size : int, optional, default=16
        None is the incremental method of the paper, a step for each example.
    solver : {"adam", "momentum", "sgd"} or solver, default="adam"
        How steps are made; those other than "sgd" need a `batch_size`.
    monitor : {"loss"}, default="loss"
        Training stops when the risk has not fallen by more than `tol`.
    n_iter_no_change : int, default=30
        Epochs without progress after which training stops.
    init_scale : float, default=0.01
        Initial weights are uniform in [-init_scale, init_scale].

    Attributes
    ----------
    coef_ : array (targets, n, m), or (targets, n, m, channels)
        Weight matrices, for standardized targets.
    intercept_ : array (targets,)
        The bias of each target.
    target_mean_, target_scale_ : arrays (targets,)
        Predictions are `(scores + intercept_) * target_scale_ + target_mean_`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> time, y = np.linspace(0, 1, 40), rng.uniform(1, 3, 120)
    >>> peak = rng.uniform(0.4, 0.6, 120)
    >>> X = y[:, None] * np.exp(-100 * (time - peak[:, None]) ** 2)
    >>> model = ElasticLinearRegression(random_state=0).fit(X[:80], y[:80])
    >>> model.score(X[80:], y[80:]) > 0.9
    True
    """

    loss: str = "squared_error"
    epsilon: float = 1.35
    learning_rate_init: float = 0.01
    learning_rate: Any = "constant"
    batch_size: int | None = 16
    solver: Any = "adam"
    n_iter_no_change: int = 30

    def _readout(self, data: TrainingSet) -> TargetReadout:
        return TargetReadout(TargetScale.of(data.y[data.cases]))

    def _loss(self, readout: TargetReadout) -> Any:
        check_choice(self.loss, LOSSES, "loss")
        if not isinstance(self.epsilon, Real) or not 0 < float(self.epsilon) < np.inf:
            raise ValueError(f"epsilon must be a positive number, got {self.epsilon!r}")
        return LOSSES[self.loss](float(self.epsilon))

    def _targets(self, data: TrainingSet, readout: TargetReadout) -> NDArray[np.float64]:
        return readout.scale.standardized(data.y).T

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.monitor, ("loss",), "monitor of a regression")

    def _check_state(self, whole: bool = False) -> None:
        readout = getattr(getattr(self, "_context", None), "readout", None)
        if not isinstance(readout, TargetReadout) or not isinstance(readout.scale, TargetScale):
            raise ValueError(f"the readout must be that of a regression, got {readout!r}")
        readout.scale.check()
        super()._check_state(whole)

    @property
    def _target_scale(self) -> TargetScale:
        return self._context.readout.scale

    def predict(self, X: Any) -> NDArray[Any]:
        """The targets of each series, an array (cases,) or (cases, targets) like y in `fit`."""
        return self._from_scores(self.predict_from_scores, X)

    def predict_from_scores(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The targets that elastic inner products with `matrices_`, computed elsewhere, mean."""
        return self._target_scale.shaped(self._combined(scores))
