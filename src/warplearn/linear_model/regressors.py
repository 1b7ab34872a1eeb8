"""Elastic linear regression under scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.base import TargetScale
from warplearn.linear_model.base import ElasticLinearModel
from warplearn.training.data import TrainingSet
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


@dataclass(repr=False, eq=False, kw_only=True)
class ElasticLinearRegression(TrainedRegressor, ElasticLinearModel):
    """Elastic linear regression: targets are elastic inner products with weight matrices.

    Targets are standardized for training with the mean and deviation of those seen first.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber"}, default="squared_error"
    epsilon : float, default=1.35
        Where the Huber loss changes from squared to absolute, in deviations of the target.
    elasticity : int, float or str, default=0.1
        Columns m of the weight matrices: an integer, or a share of the length n such as 0.1 or
        "10%", rounded up; 1 (or 0.0) is ordinary linear regression.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side of the grid.
    learning_rate_init : float, default=0.01
        Initial learning rate.
    learning_rate : {"constant", "decay", "invscaling"} or schedule, default="constant"
        How the rate changes from epoch to epoch (see `warplearn.training.schedules`).
    penalty : {"l2", "l1"} or penalty, default="l2"
    alpha : float, default=0.0
        Strength of the penalty.
    batch_size : int, optional, default=16
        None is the incremental method of the paper, a step for each example.
    solver : {"adam", "momentum", "sgd"} or solver, default="adam"
        How steps are made; those other than "sgd" need a `batch_size`.
    max_iter : int, default=500
        Epochs at most.
    early_stopping : bool, default=False
        Whether to hold out `validation_fraction` of the training series and judge by them instead
        of by those trained on.
    validation_fraction : float, default=0.1
    monitor : {"loss"}, default="loss"
    tol : float, optional, default=1e-4
        Training stops when the risk has not fallen by more than this for `n_iter_no_change`
        epochs; None never stops for lack of progress.
    n_iter_no_change : int, default=30
    average : bool, default=False
        Whether to use the mean of the weights over the epochs.
    max_norm : float, optional
        Project the parameters onto the ball of this radius after each epoch.
    init_scale : float, default=0.01
        Initial weights are uniform in [-init_scale, init_scale].
    n_init : int, default=1
        Restarts from other initial weights; the best one is kept.
    shuffle : bool, default=True
        Whether examples come in a new order each epoch.
    longer : {"error", "truncate", "resample"}, default="error"
        What to do with series to predict that are longer than those of `fit`.
    alphabet : Alphabet, optional
        For sequences of symbols; by default the symbols seen in `fit`.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the last one.
    random_state : int or RandomState, optional
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.  Results do not depend on it.

    Attributes
    ----------
    coef_ : array (targets, n, m), or (targets, n, m, channels)
        Weight matrices, for standardized targets.
    intercept_ : array (targets,)
    target_mean_, target_scale_ : arrays (targets,)
        Predictions are `(scores + intercept_) * target_scale_ + target_mean_`.
    n_iter_ : int
        Epochs.
    history_ : list of one array
        The risk after each epoch.
    solutions_ : list of one Solution
        Why training stopped, and more.
    n_features_in_ : int
        Length of the longest training series, the rows of the matrices.

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
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {sorted(LOSSES)}, got {self.loss!r}")
        if not isinstance(self.epsilon, Real) or not 0 < float(self.epsilon) < np.inf:
            raise ValueError(f"epsilon must be a positive number, got {self.epsilon!r}")
        return LOSSES[self.loss](float(self.epsilon))

    def _targets(self, data: TrainingSet, readout: TargetReadout) -> NDArray[np.float64]:
        return readout.scale.standardized(data.y).T

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.monitor != "loss":
            raise ValueError(f"monitor must be 'loss' in regression, got {self.monitor!r}")

    def _check_state(self, whole: bool = False) -> None:
        readout = getattr(getattr(self, "_context", None), "readout", None)
        if not isinstance(readout, TargetReadout):
            raise ValueError(f"the readout must be that of a regression, got {readout!r}")
        readout.scale.check()
        super()._check_state(whole)

    @property
    def _target_scale(self) -> TargetScale:
        return self._context.readout.scale

    def predict(self, X: Any) -> NDArray[Any]:
        """The targets of each series, an array (cases,) or (cases, targets) like y in `fit`."""
        return self.predict_from_scores(self._scores(*self._operands(X)))

    def predict_from_scores(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The targets that elastic inner products with `matrices_`, computed elsewhere, mean."""
        return self._target_scale.shaped(self._combined(scores))
