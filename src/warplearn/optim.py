"""The generalized gradient method (sections 3.3 and 3.6 of the paper): one driver.

The empirical risk of a model is the weighted mean of its loss over the training examples plus
`lam` times a penalty on its weights.  A step follows the negative generalized gradient of the loss
of one example (incremental, the paper's method) or of the mean over a batch, with a learning rate
from a schedule; after each epoch the parameters are projected onto a ball Z, the risk is computed,
and each model's best parameters are kept.

Many models are trained at once.  They share the data and differ in anything that is a number:
initial parameters, rates, parameters of the loss, strength of the penalty, targets.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from warplearn._kernels.drive import MASK_DTYPES, flat, thread_count, threads_of
from warplearn._kernels.epochs import DIVERGED, PERFECT, STALE, train_parallel, train_serial
from warplearn._kernels.local import Product
from warplearn._kernels.records import Static
from warplearn.penalties import L2
from warplearn.schedules import Constant
from warplearn.series import SeriesCollection

_REASONS = {
    PERFECT: "perfect training accuracy",
    STALE: "no improvement",
    DIVERGED: "diverged",
}
_BANK_LANES = (32, 16, 8)
_CHUNK_SECONDS = 0.25


class Problem(NamedTuple):
    """What is minimized.

    Attributes
    ----------
    X : SeriesCollection
    targets : array (rows, cases)
        Each output of a model has one row for its targets.
    loss : loss
    size : int
        Outputs of a model, each with a weight matrix and a bias.
    cost : local score
        The elastic function of a weight matrix; the product gives the elastic inner product.
    radius : float, optional
        Sakoe-Chiba band, as kernels take it.
    penalty : penalty
    """

    X: SeriesCollection
    targets: NDArray[Any]
    loss: Any
    size: int = 1
    cost: Any = Product()
    radius: float | None = None
    penalty: Any = L2()


@dataclass
class Model:
    """One model to train: where it starts, and the numbers in which it differs from others.

    Attributes
    ----------
    W : array (size, n, m, channels)
    b : array (size,)
    eta, lam : float
    loss_parameters : sequence of float
        The numbers of the loss, in the order of its fields.
    rows : sequence of int
        Which row of the targets each output has.
    signs : sequence of float
        -1 turns the targets of an output round.
    split : int
        Which of the splits it is trained on.
    """

    W: NDArray[Any]
    b: NDArray[Any]
    eta: float
    lam: float = 0.0
    loss_parameters: Sequence[float] = ()
    rows: Sequence[int] = (0,)
    signs: Sequence[float] = (1.0,)
    split: int = 0


@dataclass
class Split:
    """Training examples: their weights, which of them, and the source of their order."""

    weights: NDArray[np.float64]
    random_state: np.random.RandomState
    shuffle: bool = True
    cases: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.cases = np.flatnonzero(self.weights)

    def order(self) -> NDArray[np.int64]:
        """The training examples in the order of one epoch."""
        return self.random_state.permutation(self.cases) if self.shuffle else self.cases


class Stopping(NamedTuple):
    """When a model's training ends, and which of its parameters are kept.

    Attributes
    ----------
    max_iter : int
        Epochs at most.
    monitor : {"accuracy", "risk"}
        What the best parameters are best in; of equal accuracy, those with the lower risk.
    perfect : bool
        Whether to stop when no training example is misclassified.
    patience : int
        Epochs without progress: fewer mistakes, or a risk lower by more than `tol`.
    tol : float
    radius : float, optional
        Radius of the ball Z that the parameters are projected onto after each epoch.
    """

    max_iter: int = 1000
    monitor: str = "accuracy"
    perfect: bool = True
    patience: int = 200
    tol: float = 1e-4
    radius: float | None = None


class Solution(NamedTuple):
    """The best parameters of a model, and how they came about.

    Attributes
    ----------
    W, b : arrays (size, n, m, channels) and (size,)
    reason : str
        Why training ended.
    n_epochs : int
    risk : float
        The risk of W, b on the training examples.
    mistakes : int
    history : array (n_epochs,)
        The risk after each epoch.
    mistakes_history : array (n_epochs,)
    """

    W: NDArray[Any]
    b: NDArray[Any]
    reason: str
    n_epochs: int
    risk: float
    mistakes: int
    history: NDArray[np.float64]
    mistakes_history: NDArray[np.float64]


class Layout(NamedTuple):
    """Which model stands where: tasks of models with the same split, in lanes of blocks."""

    lanes: int
    blocks: int
    tasks: list[list[int]]

    @classmethod
    def of(cls, models: Sequence[Model], size: int, threads: int) -> Layout:
        """Fill lanes, yet leave a task for each thread where there are models enough."""
        by_split: dict[int, list[int]] = {}
        for index, model in enumerate(models):
            by_split.setdefault(model.split, []).append(index)
        for lanes in _BANK_LANES:
            blocks = -(-size // lanes)
            room = blocks * lanes // size
            tasks = [
                group[i : i + room] for group in by_split.values() for i in range(0, len(group), room)
            ]
            filled = max(len(task) for task in tasks) * size
            if lanes == _BANK_LANES[-1] or (len(tasks) >= threads and 2 * filled > blocks * lanes):
                break
        return cls(lanes, blocks, tasks)


class Bank:
    """Models in lanes, ready to be trained some epochs at a time."""

    def __init__(
        self,
        problem: Problem,
        models: Sequence[Model],
        splits: Sequence[Split],
        *,
        schedule: Any = Constant(),
        stopping: Stopping = Stopping(),
        average: bool = False,
        first_epoch: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.problem, self.models, self.splits = problem, list(models), list(splits)
        self.schedule, self.stopping = schedule, stopping
        self.threads = thread_count(n_jobs)
        self.layout = layout = Layout.of(self.models, problem.size, self.threads)
        self.epoch = self.first_epoch = first_epoch
        X, size = problem.X, problem.size
        _, n, m, d = self.models[0].W.shape
        tasks, units = len(layout.tasks), layout.blocks * layout.lanes
        most = max(len(task) for task in layout.tasks)

        weights = np.zeros((tasks, layout.blocks, n * m * d, layout.lanes), X.dtype)
        self.bias = np.zeros((tasks, units))
        self.target_of = np.zeros((tasks, units), np.int64)
        self.sign_of = np.ones((tasks, units))
        self.eta, self.lam = np.zeros((tasks, most)), np.zeros((tasks, most))
        self.loss_parameters = np.zeros((tasks, most, len(problem.loss)))
        for task, members in enumerate(layout.tasks):
            for slot, index in enumerate(members):
                model = self.models[index]
                for output in range(size):
                    unit = slot * size + output
                    weights[task, unit // layout.lanes, :, unit % layout.lanes] = model.W[
                        output
                    ].reshape(-1)
                    self.bias[task, unit] = model.b[output]
                    self.target_of[task, unit] = model.rows[output]
                    self.sign_of[task, unit] = model.signs[output]
                self.eta[task, slot], self.lam[task, slot] = model.eta, model.lam
                self.loss_parameters[task, slot] = model.loss_parameters
        self.weights = weights.reshape(tasks, layout.blocks, -1)
        self.best, self.best_bias = self.weights.copy(), self.bias.copy()
        kept = tasks if average else 1
        self.mean = np.zeros((kept, *(self.weights.shape[1:] if average else (1, layout.lanes))), X.dtype)
        self.mean_bias = np.zeros((kept, units))
        self.average = average
        self.status = np.zeros((tasks, most), np.int64)
        self.mistakes = np.full((tasks, most), np.inf)
        self.risk = np.full((tasks, most), np.inf)
        self.stale = np.zeros((tasks, most), np.int64)
        self.epochs = np.zeros((tasks, most), np.int64)
        self.history: list[NDArray[np.float64]] = []
        self.mistakes_history: list[NDArray[np.float64]] = []
        self.shape = (n, m, d)

    @property
    def running(self) -> bool:
        """Whether some model has not come to its end."""
        active = np.array([len(task) for task in self.layout.tasks])[:, None]
        slots = np.arange(self.status.shape[1]) < active
        return self.epoch < self.stopping.max_iter and bool((self.status == 0)[slots].any())

    def run(self, epochs: int) -> None:
        """Train for some epochs, or until all models have come to their end."""
        problem, stopping, layout = self.problem, self.stopping, self.layout
        X, (_, m, d) = problem.X, self.shape
        counts = np.array([len(split.cases) for split in self.splits])
        orders = np.zeros((len(self.splits), epochs, counts.max()), np.int64)
        for split, rows in zip(self.splits, orders, strict=True):
            for row in rows:
                row[: len(split.cases)] = split.order()
        penalised = bool(self.lam.any())
        tasks, most = self.status.shape
        history = np.full((tasks, most, epochs), np.nan)
        mistakes_history = np.full((tasks, most, epochs), np.nan)
        arguments = (
            (
                Static(layout.lanes),
                Static(1) if d == 1 else d,
                Static(problem.radius is not None),
                Static(penalised),
                Static(self.average),
            ),
            (problem.cost, problem.loss, problem.penalty, self.schedule),
            (flat(X.values), X.max_length * d, X.lengths),
            (m, float(problem.radius or 0), np.empty(0, MASK_DTYPES[layout.lanes])),
            (
                np.array([len(task) for task in layout.tasks]),
                problem.size,
                self.target_of,
                self.sign_of,
                np.array([self.models[task[0]].split for task in layout.tasks]),
            ),
            (
                orders,
                counts,
                np.stack([split.weights for split in self.splits]),
                np.ascontiguousarray(problem.targets, np.float64),
            ),
            (self.eta, self.lam, self.loss_parameters),
            (self.weights, self.bias, self.best, self.best_bias, self.mean, self.mean_bias),
            (
                stopping.monitor == "risk",
                stopping.perfect,
                stopping.patience,
                stopping.tol,
                float(stopping.radius or 0),
            ),
            (
                self.status,
                self.mistakes,
                self.risk,
                self.stale,
                self.epochs,
                history,
                mistakes_history,
                self.epoch,
            ),
            epochs,
        )
        if self.threads == 1 or tasks == 1:
            train_serial(*arguments)
        else:
            with threads_of(self.threads):
                train_parallel(*arguments)
        self.history.append(history)
        self.mistakes_history.append(mistakes_history)
        self.epoch += epochs

    def solutions(self, interrupted: bool = False) -> list[Solution]:
        """The best parameters so far, in the order in which the models were given."""
        history = np.concatenate(self.history, axis=2) if self.history else None
        mistakes = np.concatenate(self.mistakes_history, axis=2) if self.history else None
        lanes, size = self.layout.lanes, self.problem.size
        found: list[Solution | None] = [None] * len(self.models)
        for task, members in enumerate(self.layout.tasks):
            best = self.best[task].reshape(self.layout.blocks, -1, lanes)
            for slot, index in enumerate(members):
                outputs = range(slot * size, (slot + 1) * size)
                status = int(self.status[task, slot])
                epochs = max(0, int(self.epochs[task, slot]) - self.first_epoch)
                ended = "interrupted" if interrupted else "max_iter epochs"
                risk, few = self.risk[task, slot], self.mistakes[task, slot]
                found[index] = Solution(
                    np.stack([best[u // lanes, :, u % lanes].reshape(self.shape) for u in outputs]),
                    self.best_bias[task, list(outputs)],
                    _REASONS.get(status, ended),
                    epochs,
                    float(risk),
                    int(few) if np.isfinite(few) else -1,
                    np.empty(0) if history is None else history[task, slot, :epochs],
                    np.empty(0) if mistakes is None else mistakes[task, slot, :epochs],
                )
        return [solution for solution in found if solution is not None]


def solve(
    problem: Problem,
    models: Sequence[Model],
    splits: Sequence[Split],
    *,
    schedule: Any = Constant(),
    stopping: Stopping = Stopping(),
    average: bool = False,
    first_epoch: int = 0,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> list[Solution]:
    """Train models with the incremental generalized gradient method.

    Parameters
    ----------
    problem : Problem
    models : sequence of Model
    splits : sequence of Split
    schedule : schedule
    stopping : Stopping
    average : bool
        Whether the parameters are the means over the epochs so far instead of the latest ones.
    first_epoch : int
        The epoch to go on from; `max_iter` counts from 0 all the same.
    verbose : int
        1 shows progress on standard error.
    n_jobs : int, optional

    Returns
    -------
    list of Solution, one for each model

    Notes
    -----
    Interrupted from the keyboard, it warns and returns the best parameters so far.
    """
    bank = Bank(
        problem, models, splits,
        schedule=schedule, stopping=stopping, average=average, first_epoch=first_epoch, n_jobs=n_jobs,
    )  # fmt: skip
    interrupted = False
    epochs = 1
    try:
        while bank.running:
            start = time.perf_counter()
            bank.run(min(epochs, stopping.max_iter - bank.epoch))
            seconds = max(time.perf_counter() - start, 1e-6)
            epochs = int(np.clip(epochs * _CHUNK_SECONDS / seconds, 1, 2 * epochs + 1))
            if verbose:
                _show(bank)
    except KeyboardInterrupt:
        interrupted = True
    if verbose:
        print(file=sys.stderr)
    solutions = bank.solutions(interrupted)
    _warn(solutions)
    return solutions


def _show(bank: Bank) -> None:
    members = [(t, s) for t, task in enumerate(bank.layout.tasks) for s in range(len(task))]
    done = sum(bank.status[at] != 0 for at in members)
    lowest = min(bank.risk[at] for at in members)
    print(
        f"\repoch {bank.epoch} of at most {bank.stopping.max_iter}, "
        f"{done} of {len(members)} models done, lowest risk {lowest:.4g}   ",
        end="",
        file=sys.stderr,
        flush=True,
    )


def _warn(solutions: Sequence[Solution]) -> None:
    """Say what went wrong, in one warning for each kind of trouble."""
    diverged = sum(solution.reason == "diverged" for solution in solutions)
    if diverged:
        warnings.warn(
            f"{diverged} of {len(solutions)} models diverged: the risk became infinite or NaN. "
            "The last good weights are kept; try a smaller eta.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if any(solution.reason == "interrupted" for solution in solutions):
        warnings.warn(
            "training was interrupted; the best weights so far are kept",
            ConvergenceWarning,
            stacklevel=3,
        )
