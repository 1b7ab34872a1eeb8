"""What estimators share that are trained by the generalized gradient method.

`fit` and `partial_fit` are three calls: the estimator makes a plan, `train` solves it, and the
estimator adopts the solution.  A plan depends on the parameters, the data and the random source
only, so that a grid search or a study can make many plans and train them side by side
(`warplearn.model_selection`).
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from warplearn._kernels.recursion.local import Product
from warplearn.base import (
    check_array_of,
    check_counts,
    check_fitted_count,
    check_not_negative,
    hold_out,
)
from warplearn.elastic.bands import Band, BandLike
from warplearn.elastic.extent import ExtentLike
from warplearn.registry import check_choice
from warplearn.series.lengths import LONGER
from warplearn.series.numbers import LARGEST, check_flag
from warplearn.training import optimizers, penalties, schedules
from warplearn.training.data import TrainingSet
from warplearn.training.matrices import Context, MatrixModel
from warplearn.training.plan import (
    Array,
    Examples,
    Objective,
    Plan,
    Procedure,
    Solution,
    Start,
    State,
    Stopping,
)
from warplearn.training.train import train

MONITORS = ("accuracy", "loss")


@dataclass(repr=False, eq=False, kw_only=True)
class GradientEstimator(MatrixModel, metaclass=ABCMeta):
    """Parameters and methods of estimators with weight matrices.

    Parameters
    ----------
    elasticity : int, float or str, default=0.1
        Columns m of the weight matrices: an integer, or a share of the length n such as 0.1 or
        "10%", rounded up; 1 (or 0.0) is the ordinary model without warping.
    band : int, float or str, optional
        Sakoe-Chiba band: a radius in cells, or a share of the longer side of the grid.
    learning_rate_init : float, default=0.1
        Initial learning rate (the paper's eta).
    learning_rate : {"constant", "decay", "invscaling"} or schedule, default="decay"
        How the rate changes from epoch to epoch (see `warplearn.training.schedules`).
    penalty : {"l2", "l1"} or penalty, default="l2"
        Penalty on the weights, of strength `alpha` (see `warplearn.training.penalties`).
    alpha : float, default=0.0
        Strength of the penalty (the paper's lambda), added to the loss of every example.
    batch_size : int, optional
        None is the incremental method of the paper, a step for each example.  Otherwise steps
        follow the mean gradient over so many examples.
    solver : {"sgd", "momentum", "adam"} or solver, default="sgd"
        How steps are made; those other than "sgd" need a `batch_size`.
    max_iter : int, default=500
        Epochs at most.
    early_stopping : bool, default=False
        Whether to hold out `validation_fraction` of the training series and judge by them instead
        of by those trained on.
    validation_fraction : float, default=0.1
        Share of the training series that `early_stopping` holds out.
    monitor : {"accuracy", "loss"}, default="loss"
        "accuracy" stops when all series are classified correctly, or after `n_iter_no_change`
        epochs without fewer mistakes, and keeps the weights with the fewest.  "loss" stops when
        the risk has not fallen by more than `tol` for `n_iter_no_change` epochs, and keeps the
        weights with the lowest.
    tol : float, optional, default=1e-4
        None never stops for lack of progress.
    n_iter_no_change : int, default=200
        Epochs without progress after which training stops.
    average : bool, default=False
        Whether to use the mean of the weights over the epochs.
    max_norm : float, optional
        Project the parameters of a model onto the ball of this radius after each epoch.
    n_init : int, default=1
        Restarts from other initial weights, side by side; the best one is kept.
    shuffle : bool, default=True
        Whether examples come in a new order each epoch.
    longer : {"error", "truncate", "resample"}, default="error"
        What to do with series to predict that are longer than those of `fit`: refuse them, cut
        them, or resample them to the longest length of `fit`.
    alphabet : Alphabet, optional
        For sequences of symbols; by default the symbols seen in `fit`.
    warm_start : bool, default=False
        Whether `fit` starts from the weights of the last one.
    random_state : int or RandomState, optional
        Source of initial weights and of the order of examples.
    verbose : int, default=0
        1 shows progress.
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.  Results do not depend on it.

    Attributes
    ----------
    coef_ : array (matrices, n, m), or (matrices, n, m, channels)
        Weight matrices.
    intercept_ : array (matrices,)
        The bias of each matrix.
    n_iter_ : int
        Epochs, the most of any model.
    history_ : list of arrays
        The risk after each epoch, for each model; on the series held out if there are any.
    solutions_ : list of Solution
        For each model why training stopped, and more.
    n_features_in_ : int
        Length of the longest training series, the rows of the matrices.
    """

    elasticity: ExtentLike = 0.1
    band: BandLike = None
    learning_rate_init: float = 0.1
    learning_rate: Any = "decay"
    penalty: Any = "l2"
    alpha: float = 0.0
    batch_size: int | None = None
    solver: Any = "sgd"
    max_iter: int = 500
    early_stopping: bool = False
    validation_fraction: float = 0.1
    monitor: str = "loss"
    tol: float | None = 1e-4
    n_iter_no_change: int = 200
    average: bool = False
    max_norm: float | None = None
    n_init: int = 1
    shuffle: bool = True
    longer: str = "error"
    alphabet: Any = None
    warm_start: bool = False
    random_state: Any = None
    verbose: int = 0
    n_jobs: int | None = None

    # Training: plan, train, adopt.

    @abstractmethod
    def plan(
        self, data: TrainingSet, rng: np.random.RandomState, start: Start | None = None
    ) -> Plan:
        """Everything that a fit on `data` needs.

        Neither reads nor sets fitted attributes; `start` gives fitted weights to go on from.
        """

    def adopt(self, plan: Plan, solutions: Sequence[Solution]) -> Any:
        """Set the fitted attributes from the solutions of a plan."""
        context: Context = plan.context
        W = np.concatenate([solution.W for solution in solutions])
        self.coef_ = W[..., 0] if W.shape[-1] == 1 else W
        self.intercept_ = np.concatenate([solution.b for solution in solutions])
        self.n_features_in_, self.n_channels_in_ = W.shape[1], context.n_channels
        if context.classes is not None:
            self.classes_ = context.classes
        if context.alphabet is not None:
            self.alphabet_ = context.alphabet
        self.solutions_ = [solution.without_weights() for solution in solutions]
        self.history_ = [solution.history for solution in solutions]
        self.n_iter_ = max(solution.n_epochs for solution in solutions)
        self.t_ = plan.first_epoch + self.n_iter_
        self._context, self._states = context, [solution.state for solution in solutions]
        return self

    def _learn(self, data: TrainingSet, *, one_epoch: bool = False) -> Any:
        """`fit` on a training set, or one epoch of `partial_fit`."""
        fitted = hasattr(self, "coef_")
        start, rng = None, check_random_state(self.random_state)
        if one_epoch and self.early_stopping:
            raise ValueError("partial_fit needs early_stopping=False, got True")
        if one_epoch and fitted:
            start, rng = self._start(self._states), getattr(self, "_rng", rng)
        elif fitted and self.warm_start:
            start = self._start(None)
        plan = self.plan(data, rng, start)
        if one_epoch:
            plan = plan.for_one_epoch(self.t_ if fitted else 0)
        (solutions,) = train([plan], n_jobs=self.n_jobs, verbose=self.verbose)
        self._rng = rng
        return self.adopt(plan, solutions)

    def _start(self, states: list[Any] | None) -> Start:
        """The fitted parameters; with states, the latest ones instead of their means."""
        W, b, head = self.matrices_, self.intercept_, self._head_parameters()
        latest = [s.parameters for s in states or [] if s is not None and s.mean is not None]
        if latest:
            W, b = (np.concatenate(each) for each in list(zip(*latest, strict=True))[:2])
            head = tuple(latest[0][2:]) or head
        return Start(W, b, head, states, self._context)

    def _head_parameters(self) -> tuple[Array, ...]:
        return ()

    # Parts of a plan.

    def _procedure(self) -> Procedure:
        patience = None if self.tol is None else self.n_iter_no_change
        by_accuracy = self.monitor == "accuracy"
        stopping = Stopping(self.max_iter, self.monitor, by_accuracy, patience, self.tol or 0.0)
        return Procedure(
            self.batch_size, optimizers.resolve(self.solver), schedules.resolve(self.learning_rate),
            stopping, self.average, self.max_norm,
        )  # fmt: skip

    def _held_out(self, data: TrainingSet, rng: np.random.RandomState) -> NDArray[np.int64]:
        """The series that early stopping judges by, the same fraction of each class."""
        if not self.early_stopping:
            return np.empty(0, np.int64)
        strata = None if data.classes is None else data.y
        return hold_out(self.validation_fraction, data.weighted, strata, rng)

    def _examples(
        self,
        data: TrainingSet,
        weights: NDArray[np.float64],
        held_out: NDArray[np.int64],
        rng: np.random.RandomState,
    ) -> Examples:
        """The training examples in an order of their own; draws the last number of a plan."""
        cases = data.cases[weights[data.cases] > 0]
        if len(held_out):
            cases = cases[~np.isin(cases, held_out)]
        # Orders are drawn ahead, how far is a matter of time: so from a source of their own.
        seed = int(rng.randint(np.iinfo(np.int32).max))
        return Examples(cases, weights, seed, self.shuffle, held_out)

    def _objective(self, loss: Any, n_outputs: int, band: Band | None, head: Any) -> Objective:
        penalty = penalties.resolve(self.penalty)
        return Objective(loss, n_outputs, Product(), band, penalty, head)

    def _check_parameters(self) -> None:
        check_not_negative(self, "learning_rate_init", "alpha")
        if self.tol is not None:
            check_not_negative(self, "tol")
        check_counts(self, "max_iter", "n_init", "n_iter_no_change")
        if self.batch_size is not None:
            check_counts(self, "batch_size")
        check_choice(self.monitor, MONITORS, "monitor")
        check_choice(self.longer, LONGER, "longer")
        for name in ("early_stopping", "average", "shuffle"):
            check_flag(getattr(self, name), name)
        if not isinstance(self.validation_fraction, Real) or not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction must be between 0 and 1, got {self.validation_fraction!r}"
            )
        if self.max_norm is not None and not (
            isinstance(self.max_norm, Real) and 0 < self.max_norm <= LARGEST[8]
        ):
            raise ValueError(f"max_norm must be None or a positive number, got {self.max_norm!r}")

    # Fitted attributes that only further training needs.

    def _check_state(self, whole: bool = False) -> None:
        super()._check_state(whole)
        if whole:
            check_fitted_count(self, "n_iter_", 0)
            check_fitted_count(self, "t_", 0)
            self._check_states()

    def _check_states(self) -> None:
        """What `partial_fit` goes on from fits the weights."""
        states, head = getattr(self, "_states", None), self._head_parameters()
        if not isinstance(states, list) or not states or len(self.coef_) % len(states):
            raise ValueError("the states of training must be a list, one for each model")
        size = len(self.coef_) // len(states)
        shapes = [(size, *self.matrices_.shape[1:]), (size,), *(p.shape for p in head)]
        for state in states:
            if state is None:
                continue
            if not isinstance(state, State):
                raise ValueError(f"a state of training must be None or a State, got {state!r}")
            for arrays in (state.parameters, state.mean):
                if arrays is not None and len(arrays) != len(shapes):
                    raise ValueError(f"a state of training must have {len(shapes)} arrays")
                for array, shape in zip(arrays or [], shapes, strict=False):
                    check_array_of(array, "a state of training", shape, finite=False)
            memory = [None] * len(shapes) if state.memory is None else state.memory
            if len(memory) != len(shapes):
                raise ValueError(f"the memory of a solver must have {len(shapes)} entries")
            for kept, shape in zip(memory, shapes, strict=True):
                for each in kept if isinstance(kept, list) else [kept]:
                    if isinstance(each, np.ndarray):
                        check_array_of(each, "the memory of a solver", shape, finite=False)
