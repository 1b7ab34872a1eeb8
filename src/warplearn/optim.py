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

from warplearn._kernels.drive import MASK_DTYPES, evaluate, flat, thread_count, threads_of
from warplearn._kernels.epochs import (
    DIVERGED,
    PERFECT,
    STALE,
    judge,
    penalty_of,
    risks_of,
    slopes_of,
    train_parallel,
    train_serial,
)
from warplearn._kernels.local import Product
from warplearn._kernels.records import Static
from warplearn.penalties import L2
from warplearn.schedules import Constant
from warplearn.schedules import rate as _rate
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

    def rules(self) -> tuple[bool, bool, int, float, float]:
        """The numbers that kernels need."""
        return (
            self.monitor == "risk", self.perfect, self.patience, float(self.tol),
            float(self.radius or 0),
        )  # fmt: skip


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

    @property
    def lowest_risk(self) -> float:
        """The lowest risk of any model so far."""
        return float(self.risk.min())

    @property
    def done(self) -> tuple[int, int]:
        """How many models have come to their end, and how many there are."""
        return int((self.status != 0).sum()), len(self.models)

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
            stopping.rules(),
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
                found[index] = Solution(
                    np.stack([best[u // lanes, :, u % lanes].reshape(self.shape) for u in outputs]),
                    self.best_bias[task, list(outputs)],
                    reason_of(status, interrupted),
                    epochs,
                    float(self.risk[task, slot]),
                    mistakes_as_int(self.mistakes[task, slot]),
                    np.empty(0) if history is None else history[task, slot, :epochs],
                    np.empty(0) if mistakes is None else mistakes[task, slot, :epochs],
                )
        return [solution for solution in found if solution is not None]


class Momentum(NamedTuple):
    """Heavy-ball momentum: a step keeps a share `beta` of the last one."""

    beta: float = 0.9

    def start(self, shape: tuple[int, ...]) -> Any:
        """Memory for parameters of a shape."""
        return np.zeros(shape)

    def step(self, memory: Any, gradient: NDArray[Any], rate: NDArray[Any]) -> NDArray[Any]:
        """What to subtract from the parameters."""
        memory *= self.beta
        memory += gradient
        return rate * memory  # type: ignore[no-any-return]


class Adam(NamedTuple):
    """Adam: steps scaled by running moments of the gradient."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def start(self, shape: tuple[int, ...]) -> Any:
        """Memory for parameters of a shape: both moments, and how often they were updated."""
        return [np.zeros(shape), np.zeros(shape), 0]

    def step(self, memory: Any, gradient: NDArray[Any], rate: NDArray[Any]) -> NDArray[Any]:
        """What to subtract from the parameters."""
        first, second, _ = memory
        memory[2] += 1
        first += (1 - self.beta1) * (gradient - first)
        second += (1 - self.beta2) * (gradient**2 - second)
        mean = first / (1 - self.beta1 ** memory[2])
        spread = np.sqrt(second / (1 - self.beta2 ** memory[2]))
        return rate * mean / (spread + self.epsilon)  # type: ignore[no-any-return]


OPTIMIZERS: dict[str, Any] = {"sgd": Momentum(0.0), "momentum": Momentum(), "adam": Adam()}


class Batches:
    """Models trained on batches, with steps of any kind; the counterpart of `Bank`.

    A step follows the gradient of the mean loss over a batch.  Lanes hold the series of a batch.
    """

    def __init__(
        self,
        problem: Problem,
        models: Sequence[Model],
        splits: Sequence[Split],
        *,
        batch_size: int,
        optimizer: Any,
        schedule: Any = Constant(),
        stopping: Stopping = Stopping(),
        average: bool = False,
        first_epoch: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.problem, self.models, self.splits = problem, list(models), list(splits)
        self.schedule, self.stopping, self.average = schedule, stopping, average
        self.batch_size, self.optimizer, self.n_jobs = batch_size, optimizer, n_jobs
        self.epoch = self.first_epoch = first_epoch
        self.W = np.stack([model.W for model in self.models])
        self.b = np.stack([np.asarray(model.b, np.float64) for model in self.models])
        self.best, self.best_b = self.W.copy(), self.b.copy()
        self.mean, self.mean_b = np.zeros_like(self.W), np.zeros_like(self.b)
        self.memory = [
            (optimizer.start(model.W.shape), optimizer.start(np.shape(model.b)))
            for model in self.models
        ]
        count = len(self.models)
        self.status = np.zeros(count, np.int64)
        self.mistakes, self.risk = np.full(count, np.inf), np.full(count, np.inf)
        self.stale, self.epochs = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.history: list[list[float]] = [[] for _ in self.models]
        self.mistakes_history: list[list[float]] = [[] for _ in self.models]

    @property
    def running(self) -> bool:
        """Whether some model has not come to its end."""
        return self.epoch < self.stopping.max_iter and bool((self.status == 0).any())

    @property
    def lowest_risk(self) -> float:
        """The lowest risk of any model so far."""
        return float(self.risk.min())

    @property
    def done(self) -> tuple[int, int]:
        """How many models have come to their end, and how many there are."""
        return int((self.status != 0).sum()), len(self.models)

    def run(self, epochs: int) -> None:
        """Train for some epochs, or until all models have come to their end."""
        for _ in range(epochs):
            for number, split in enumerate(self.splits):
                members = np.array(
                    [
                        i
                        for i, model in enumerate(self.models)
                        if model.split == number and self.status[i] == 0
                    ],
                    dtype=np.int64,
                )
                if len(members):
                    self._epoch(members, split)
            self.epoch += 1

    def _epoch(self, members: NDArray[np.int64], split: Split) -> None:
        problem = self.problem
        order = split.order()
        rates = np.array([rate_of(self.schedule, self.models[i].eta, self.epoch) for i in members])
        for start in range(0, len(order), self.batch_size):
            cases = order[start : start + self.batch_size]
            weights = split.weights[cases]
            W, b = self.W[members], self.b[members]
            y, f = self._targets(members, cases), self._outputs(W, b, cases)
            slopes = np.zeros_like(f)
            slopes_of(problem.loss, self._parameters(members), problem.size, y, f, slopes)
            slopes *= (weights / weights.sum())[:, None]
            X = problem.X[cases]
            gradient = evaluate(
                problem.cost, X.values, X.lengths, W.reshape(-1, *W.shape[2:]),
                radius=problem.radius, upstream=slopes, want_matrix=True, n_jobs=self.n_jobs,
            ).matrix_gradient.reshape(W.shape)  # fmt: skip
            bias_gradient = slopes.sum(axis=0).reshape(b.shape)
            for slot, i in enumerate(members):
                if self.models[i].lam > 0:
                    gradient[slot] += self.models[i].lam * self._penalty(W[slot])[1]
                to_W, to_b = self.memory[i]
                self.W[i] -= self.optimizer.step(to_W, gradient[slot], rates[slot])
                self.b[i] -= self.optimizer.step(to_b, bias_gradient[slot], rates[slot])
        self._judge(members, split)

    def _judge(self, members: NDArray[np.int64], split: Split) -> None:
        """Project, average, compute the risk, and keep what is best."""
        limit = self.stopping.radius
        for i in members:
            norm = np.sqrt((self.W[i].astype(np.float64) ** 2).sum() + (self.b[i] ** 2).sum())
            if limit is not None and norm > limit:
                self.W[i] *= limit / norm
                self.b[i] *= limit / norm
        W, b = self.W, self.b
        if self.average:
            share = 1.0 / (self.epoch - self.first_epoch + 1)
            self.mean[members] += share * (self.W[members] - self.mean[members])
            self.mean_b[members] += share * (self.b[members] - self.mean_b[members])
            W, b = self.mean, self.mean_b
        problem, cases = self.problem, split.cases
        f, y = self._outputs(W[members], b[members], cases), self._targets(members, cases)
        risks, mistakes = np.empty(len(members)), np.empty(len(members))
        risks_of(
            problem.loss, self._parameters(members), problem.size, y, f,
            split.weights[cases], risks, mistakes,
        )  # fmt: skip
        for slot, i in enumerate(members):
            if self.models[i].lam > 0:
                risks[slot] += self.models[i].lam * self._penalty(W[i])[0]
            self.history[i].append(risks[slot])
            self.mistakes_history[i].append(mistakes[slot])
        state = [a[members] for a in (self.status, self.mistakes, self.risk, self.stale, self.epochs)]
        better = np.zeros(len(members), np.bool_)
        judge(self.epoch, risks, mistakes, self.stopping.rules(), *state, better)
        for whole, part in zip(
            (self.status, self.mistakes, self.risk, self.stale, self.epochs), state, strict=True
        ):
            whole[members] = part
        improved = members[better]
        self.best[improved], self.best_b[improved] = W[improved], b[improved]

    def _parameters(self, members: NDArray[np.int64]) -> NDArray[np.float64]:
        rows = [tuple(self.models[i].loss_parameters) for i in members]
        return np.array(rows, np.float64).reshape(len(members), len(self.problem.loss))

    def _targets(
        self, members: NDArray[np.int64], cases: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        columns = [
            sign * self.problem.targets[row, cases]
            for i in members
            for row, sign in zip(self.models[i].rows, self.models[i].signs, strict=True)
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1), np.float64)

    def _outputs(
        self, W: NDArray[Any], b: NDArray[Any], cases: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        X = self.problem.X[cases]
        scores = evaluate(
            self.problem.cost, X.values, X.lengths, W.reshape(-1, *W.shape[2:]),
            radius=self.problem.radius, n_jobs=self.n_jobs,
        ).values  # fmt: skip
        return scores.astype(np.float64) + b.reshape(-1)

    def _penalty(self, W: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        """The penalty of a model's weights, and its derivative."""
        padded = np.zeros(-(-W.size // 8) * 8, W.dtype)
        padded[: W.size] = W.reshape(-1)
        slopes = np.empty_like(padded)
        value = penalty_of(Static(8), self.problem.penalty, padded, slopes)
        return float(value), slopes[: W.size].reshape(W.shape)

    def solutions(self, interrupted: bool = False) -> list[Solution]:
        """The best parameters so far, in the order in which the models were given."""
        return [
            Solution(
                self.best[i], self.best_b[i], reason_of(self.status[i], interrupted),
                len(self.history[i]), float(self.risk[i]), mistakes_as_int(self.mistakes[i]),
                np.array(self.history[i]), np.array(self.mistakes_history[i]),
            )
            for i in range(len(self.models))
        ]  # fmt: skip


def solve(
    problem: Problem,
    models: Sequence[Model],
    splits: Sequence[Split],
    *,
    batch_size: int | None = None,
    optimizer: Any = None,
    schedule: Any = Constant(),
    stopping: Stopping = Stopping(),
    average: bool = False,
    first_epoch: int = 0,
    verbose: int = 0,
    n_jobs: int | None = None,
) -> list[Solution]:
    """Train models with the generalized gradient method.

    Parameters
    ----------
    problem : Problem
    models : sequence of Model
    splits : sequence of Split
    batch_size : int, optional
        None is the incremental method, a step for each example, with all models in lanes.
        Otherwise a step follows the mean gradient over so many examples; with at least as many as
        there are it is the full-batch method.
    optimizer : {"sgd", "momentum", "adam"} or optimizer, optional
        How steps are made in batches; for steps other than plain ones give a `batch_size`.
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
    options = {
        "schedule": schedule, "stopping": stopping, "average": average,
        "first_epoch": first_epoch, "n_jobs": n_jobs,
    }  # fmt: skip
    steps: Bank | Batches
    if batch_size is None:
        if optimizer not in (None, "sgd"):
            raise ValueError(f"optimizer={optimizer!r} needs a batch_size, got batch_size=None")
        steps = Bank(problem, models, splits, **options)
    else:
        chosen = OPTIMIZERS.get(optimizer or "sgd", optimizer) if _is_name(optimizer) else optimizer
        if not hasattr(chosen, "step"):
            raise ValueError(
                f"optimizer must be one of {sorted(OPTIMIZERS)} or an optimizer, got {optimizer!r}"
            )
        steps = Batches(
            problem, models, splits, batch_size=batch_size, optimizer=chosen, **options
        )
    interrupted = False
    epochs = 1
    try:
        while steps.running:
            start = time.perf_counter()
            steps.run(min(epochs, stopping.max_iter - steps.epoch))
            seconds = max(time.perf_counter() - start, 1e-6)
            epochs = int(np.clip(epochs * _CHUNK_SECONDS / seconds, 1, 2 * epochs + 1))
            if verbose:
                _show(steps)
    except KeyboardInterrupt:
        interrupted = True
    if verbose:
        print(file=sys.stderr)
    solutions = steps.solutions(interrupted)
    _warn(solutions)
    return solutions


def _is_name(optimizer: Any) -> bool:
    return optimizer is None or isinstance(optimizer, str)


def rate_of(schedule: Any, eta: float, t: int) -> float:
    """The learning rate of epoch t."""
    return float(_rate(schedule, float(eta), t))


def reason_of(status: int, interrupted: bool) -> str:
    """Why a model's training ended."""
    return _REASONS.get(int(status), "interrupted" if interrupted else "max_iter epochs")


def mistakes_as_int(mistakes: float) -> int:
    """-1 if no epoch was finished."""
    return int(mistakes) if np.isfinite(mistakes) else -1


def _show(steps: Bank | Batches) -> None:
    done, count = steps.done
    print(
        f"\repoch {steps.epoch} of at most {steps.stopping.max_iter}, "
        f"{done} of {count} models done, lowest risk {steps.lowest_risk:.4g}   ",
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
