"""Training as data: what a fit needs (`Plan`), and what comes out of it (`Solution`).

An estimator turns its parameters and the training series into a plan, `train` turns plans into
solutions, and the estimator adopts the solution.  A plan holds everything that training needs and
is never changed by it, so plans can be made for many fits and trained side by side.

`Group` is what the two methods, `incremental` and `batches`, work on: plans that share the data,
the objective and the procedure, and differ in numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.recursion.grid import Band
from warplearn._kernels.recursion.local import Product
from warplearn.series.chunks import shuffled
from warplearn.series.collection import SeriesCollection
from warplearn.training.optimizers import SGD
from warplearn.training.penalties import L2
from warplearn.training.schedules import Constant

Array = NDArray[Any]


class Objective(NamedTuple):
    """What is minimized: the mean loss over the examples, plus `lam` times a penalty.

    Attributes
    ----------
    loss : loss
    n_outputs : int
        Outputs of a model, each with a target.
    cost : local score
        The elastic function of a weight matrix; the product gives the elastic inner product.
    band : Band, optional
    penalty : penalty
    head : head, optional
        What stands behind the matrices (see `batches.Direct`); None: each output is a matrix.
    """

    loss: Any
    n_outputs: int = 1
    cost: Any = Product()
    band: Band | None = None
    penalty: Any = L2()
    head: Any = None


class Stopping(NamedTuple):
    """When a model's training ends, and which of its parameters are kept.

    Attributes
    ----------
    max_iter : int
        Epochs at most.
    monitor : {"accuracy", "loss"}
        What the best parameters are best in; of equal accuracy, those with the lower risk.
        Training for accuracy also ends when no example is misclassified, if `perfect` is set.
    perfect : bool
    patience : int, optional
        Epochs without progress: fewer mistakes, or a risk lower by more than `tol`.  None: never
        stop for lack of progress.
    tol : float
    """

    max_iter: int = 1000
    monitor: str = "accuracy"
    perfect: bool = True
    patience: int | None = 200
    tol: float = 1e-4


class Procedure(NamedTuple):
    """How the objective is minimized.

    Attributes
    ----------
    batch_size : int, optional
        None is the incremental method, a step for each example, with all models in lanes.
        Otherwise a step follows the mean gradient over so many examples.
    solver : solver
        How steps are made from gradients; others than `SGD` need a `batch_size`.
    schedule : schedule
    stopping : Stopping
    average : bool
        Whether the parameters are the means over the epochs so far instead of the latest ones.
    max_norm : float, optional
        Radius of the ball that the parameters are projected onto after each epoch.
    """

    batch_size: int | None = None
    solver: Any = SGD()
    schedule: Any = Constant()
    stopping: Stopping = Stopping()
    average: bool = False
    max_norm: float | None = None


@dataclass(frozen=True, eq=False)
class Examples:
    """Training examples: which, with which weights, and in which order.

    Attributes
    ----------
    cases : array of int
        The examples that are trained on.
    weights : array (all cases,)
    seed : int
        Of the orders of the epochs.
    shuffle : bool
    held_out : array of int
        Examples that are not trained on; if there are any, they are judged by.
    """

    cases: NDArray[np.int64]
    weights: NDArray[np.float64]
    seed: int = 0
    shuffle: bool = True
    held_out: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def judged(self) -> NDArray[np.int64]:
        """The examples whose risk is computed."""
        return self.held_out if len(self.held_out) else self.cases

    @property
    def key(self) -> tuple[Any, ...]:
        """Examples with the same key are the same, in the same order."""
        arrays = (self.cases, self.weights, self.held_out)
        return (self.seed, self.shuffle, *(array.tobytes() for array in arrays))

    def orders(self, X: SeriesCollection) -> Orders:
        """The orders of the epochs, from the first one on."""
        return Orders(self, X)


class Orders:
    """The order of the examples in one epoch after the other."""

    def __init__(self, examples: Examples, X: SeriesCollection) -> None:
        self._examples, self._X = examples, X
        self._rng = np.random.RandomState(examples.seed)

    def next(self) -> NDArray[np.int64]:
        """The examples in the order of the next epoch."""
        cases = self._examples.cases
        return shuffled(self._X, cases, self._rng) if self._examples.shuffle else cases


class State(NamedTuple):
    """Where training stands, so that it can go on.

    Attributes
    ----------
    parameters : list of arrays
        The latest W, b and parameters of the head.
    memory : list, optional
        What the solver keeps of its steps, for each of the parameters.
    mean : list of arrays, optional
        The means of the parameters over the epochs, if they are averaged.
    n_averaged : int
        The number of epochs in the mean.
    solver : solver, optional
        Whose memory it is.
    """

    parameters: list[Array]
    memory: list[Any] | None = None
    mean: list[Array] | None = None
    n_averaged: int = 0
    solver: Any = None


class Model(NamedTuple):
    """One model to train: where it starts, and the numbers in which it differs from others.

    Attributes
    ----------
    W : array (matrices, n, m, channels)
        Rows may be fewer than the longest series has elements: the rest is 0 and stays 0.
    b : array (matrices,)
    eta, lam : float
        Initial learning rate, strength of the penalty.
    loss_parameters : tuple of float
        The numbers of the loss, in the order of its fields; none are those of the objective's.
    rows : tuple of int
        Which row of the targets each output has.
    head : tuple of arrays
        Parameters of the head.
    state : State, optional
        What a solver or a mean over epochs left behind, to go on from.
    """

    W: Array
    b: Array
    eta: float
    lam: float = 0.0
    loss_parameters: tuple[float, ...] = ()
    rows: tuple[int, ...] = (0,)
    head: tuple[Array, ...] = ()
    state: State | None = None

    @property
    def parameters(self) -> list[Array]:
        """All arrays of the model: W, b and those of the head."""
        return [self.W, self.b, *self.head]


class Plan(NamedTuple):
    """Everything that a fit needs.

    Attributes
    ----------
    X : SeriesCollection
    targets : array (rows, cases)
        Each output of a model has one row.
    objective : Objective
    procedure : Procedure
    examples : Examples
    models : tuple of Model
        All restarts of the first model, then of the second, and so on.
    n_init : int
        Restarts of a model, of which the best is kept.
    first_epoch : int
        Epochs before, for the schedule.
    context : any
        What the estimator needs to know when it adopts the solutions.
    """

    X: SeriesCollection
    targets: NDArray[np.float64]
    objective: Objective
    procedure: Procedure
    examples: Examples
    models: tuple[Model, ...]
    n_init: int = 1
    first_epoch: int = 0
    context: Any = None

    def for_one_epoch(self, first_epoch: int) -> Plan:
        """The same plan, for one epoch after others."""
        stopping = self.procedure.stopping._replace(max_iter=1)
        procedure = self.procedure._replace(stopping=stopping)
        return self._replace(procedure=procedure, first_epoch=first_epoch)


class Solution(NamedTuple):
    """The best parameters of a model, and how they came about.

    Attributes
    ----------
    W, b, head
        As in `Model`.
    reason : str
        Why training ended.
    n_epochs : int
    risk : float
        The risk of the parameters on the examples that are judged.
    mistakes : int
        -1 if no epoch was finished.
    history : array (n_epochs,)
        The risk after each epoch.
    mistakes_history : array (n_epochs,)
    state : State, optional
        To go on from; None where W, b and head say it all.
    """

    W: Array
    b: Array
    head: tuple[Array, ...]
    reason: str
    n_epochs: int
    risk: float
    mistakes: int
    history: NDArray[np.float64]
    mistakes_history: NDArray[np.float64]
    state: State | None = None

    @property
    def parameters(self) -> list[Array]:
        """All arrays of the model: W, b and those of the head."""
        return [self.W, self.b, *self.head]

    def without_weights(self) -> Solution:
        """How the parameters came about; estimators keep the parameters themselves elsewhere."""
        nothing = np.empty(0)
        return self._replace(W=nothing, b=nothing, head=(), state=None)


class Start(NamedTuple):
    """Fitted parameters that a plan starts from instead of random ones.

    Attributes
    ----------
    W, b, head
        Of all models, side by side.
    states : list of State, optional
        Of each model.
    context : any
        The context of the plan that they come from.
    """

    W: Array
    b: Array
    head: tuple[Array, ...] = ()
    states: list[State | None] | None = None
    context: Any = None


class Group(NamedTuple):
    """Models of one or more plans that are trained together.

    Attributes
    ----------
    X, targets, objective, procedure, first_epoch
        As in `Plan`.
    models : list of Model
        With `rows` of the group's targets.
    examples : list of Examples
    examples_of : list of int
        Which of `examples` each model is trained on.
    """

    X: SeriesCollection
    targets: NDArray[np.float64]
    objective: Objective
    procedure: Procedure
    models: list[Model]
    examples: list[Examples]
    examples_of: list[int]
    first_epoch: int = 0


def group_key(plan: Plan) -> tuple[Any, ...]:
    """Plans with the same key can be trained together."""
    objective, procedure = plan.objective, plan.procedure
    return (
        id(plan.X), type(objective.loss), *_typed(objective._replace(loss=None)),
        *_typed(procedure), plan.models[0].W.shape[:1], plan.models[0].W.shape[2:],
        tuple(p.shape for p in plan.models[0].head), plan.first_epoch,
        plan.models[0].state and plan.models[0].state.n_averaged,
    )  # fmt: skip


def _typed(parts: tuple[Any, ...]) -> list[Any]:
    """Types and values: records of different classes may be equal as tuples."""
    return [(type(part), part) for part in parts]


def group_plans(plans: Sequence[Plan]) -> list[tuple[Group, list[int]]]:
    """Groups of plans that can be trained together, and which plans they are of."""
    by_key: dict[Any, list[int]] = {}
    for index, plan in enumerate(plans):
        by_key.setdefault(group_key(plan), []).append(index)
    return [(_merge([plans[i] for i in members]), members) for members in by_key.values()]


def _merge(plans: Sequence[Plan]) -> Group:
    """One group of plans with the same key; equal targets and examples are kept once."""
    first = plans[0]
    row_of: dict[bytes, int] = {}
    targets: list[NDArray[np.float64]] = []
    example_of: dict[Any, int] = {}
    group = Group(first.X, first.targets, first.objective, first.procedure, [], [], [])
    for plan in plans:
        rows = []
        for row in plan.targets:
            content = row.tobytes()
            if content not in row_of:
                row_of[content] = len(targets)
                targets.append(row)
            rows.append(row_of[content])
        key = plan.examples.key
        if key not in example_of:
            example_of[key] = len(group.examples)
            group.examples.append(plan.examples)
        loss_parameters = tuple(plan.objective.loss)
        for model in plan.models:
            own_rows = tuple(rows[r] for r in model.rows)
            own_loss = tuple(model.loss_parameters) or loss_parameters
            group.models.append(model._replace(rows=own_rows, loss_parameters=own_loss))
            group.examples_of.append(example_of[key])
    return group._replace(targets=np.stack(targets), first_epoch=first.first_epoch)
