"""The incremental method: a step for each example, with many models side by side in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.blocks import tile_for
from warplearn._kernels.drivers.evaluate import MASK_DTYPES, flat
from warplearn._kernels.drivers.train import train_parallel, train_serial
from warplearn._kernels.recursion.grid import NO_BAND
from warplearn._kernels.recursion.local import Product
from warplearn._kernels.recursion.lone import skew, skewed_size, unskew
from warplearn._kernels.simd.records import Static, facts
from warplearn._kernels.simd.threads import in_threads, thread_count
from warplearn._kernels.simd.vector import CACHE_LINE, aligned_zeros, lanes_for
from warplearn.training.penalties import L2
from warplearn.training.plan import (
    Model,
    Problem,
    Solution,
    Split,
    Stopping,
    mistakes_as_int,
    reason_of,
)

_BANK_LANES = (32, 16, 8)


def _lanes_for_cases(dtype: np.dtype[Any], cases: int) -> Static:
    """Lanes for the series of a split: no more than they fill, and no less than a cache line."""
    least, most = CACHE_LINE // dtype.itemsize, lanes_for(dtype).value
    return Static(min(most, max(least, 1 << (cases - 1).bit_length())))


class Layout(NamedTuple):
    """Which model stands where: tasks of models with the same split, in lanes of blocks.

    A task that is a single matrix is *lone*: its lanes hold the rows of the matrix.
    """

    lanes: int
    blocks: int
    tasks: list[list[int]]
    lone: bool = False

    @classmethod
    def of(cls, problem: Problem, models: Sequence[Model], threads: int) -> Layout:
        """Fill lanes, yet leave a task for each thread where there are models enough."""
        size = problem.size
        by_split: dict[int, list[int]] = {}
        for index, model in enumerate(models):
            by_split.setdefault(model.split, []).append(index)
        groups = list(by_split.values())
        plain = problem.X.n_channels == 1 and problem.radius is None
        if plain and isinstance(problem.cost, Product) and max(map(len, groups)) * size == 1:
            columns = models[0].W.shape[2]
            return cls(32 if columns >= 32 else 16, 1, groups, lone=True)
        for lanes in _BANK_LANES:
            blocks = -(-size // lanes)
            room = blocks * lanes // size
            tasks = [g[i : i + room] for g in groups for i in range(0, len(g), room)]
            filled = max(len(task) for task in tasks) * size
            if lanes == _BANK_LANES[-1] or (len(tasks) >= threads and 2 * filled > blocks * lanes):
                break
        return cls(lanes, blocks, tasks)

    @property
    def units(self) -> int:
        """Outputs that a task has room for."""
        return 1 if self.lone else self.blocks * self.lanes

    def block_size(self, n: int, m: int, d: int) -> int:
        """Numbers in a block of n x m matrices of d channels."""
        return int(skewed_size(self.lanes, n, m)) if self.lone else n * m * d * self.lanes

    def put(self, blocks: NDArray[Any], unit: int, matrix: NDArray[Any]) -> None:
        """Store the matrix of an output in the blocks of its task."""
        if self.lone:
            n, m, _ = matrix.shape
            skew(self.lanes, np.ascontiguousarray(matrix).reshape(-1), n, m, blocks[0])
        else:
            laned = blocks[unit // self.lanes].reshape(-1, self.lanes)
            laned[:, unit % self.lanes] = matrix.reshape(-1)

    def take(self, blocks: NDArray[Any], unit: int, shape: tuple[int, int, int]) -> NDArray[Any]:
        """The matrix of an output."""
        if self.lone:
            matrix = np.empty(shape, blocks.dtype)
            unskew(self.lanes, blocks[0], shape[0], shape[1], matrix.reshape(-1))
            return matrix
        laned = blocks[unit // self.lanes].reshape(-1, self.lanes)
        return laned[:, unit % self.lanes].reshape(shape)


class Bank:
    """Models in lanes, ready to be trained some epochs at a time."""

    def __init__(
        self,
        problem: Problem,
        models: Sequence[Model],
        splits: Sequence[Split],
        *,
        schedule: Any,
        stopping: Stopping,
        average: bool = False,
        first_epoch: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.problem, self.models, self.splits = problem, list(models), list(splits)
        self.schedule, self.stopping = schedule, stopping
        self.threads = thread_count(n_jobs)
        self.layout = layout = Layout.of(problem, self.models, self.threads)
        self.epoch = self.first_epoch = first_epoch
        X, size = problem.X, problem.size
        _, n, m, d = self.models[0].W.shape
        tasks, units = len(layout.tasks), layout.units
        most = max(len(task) for task in layout.tasks)

        self.weights = aligned_zeros((tasks, layout.blocks, layout.block_size(n, m, d)), X.dtype)
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
                    layout.put(self.weights[task], unit, model.W[output].astype(X.dtype))
                    self.bias[task, unit] = model.b[output]
                    self.target_of[task, unit] = model.rows[output]
                    self.sign_of[task, unit] = model.signs[output]
                self.eta[task, slot], self.lam[task, slot] = model.eta, model.lam
                self.loss_parameters[task, slot] = tuple(model.loss_parameters) or problem.loss
        self.best, self.best_bias = self.weights.copy(), self.bias.copy()
        kept = tasks if average else 1
        self.mean = np.zeros((kept, *self.weights.shape[1:]) if average else (1, 1, 0), X.dtype)
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
        scales = isinstance(problem.cost, Product) and isinstance(problem.penalty, L2)
        tasks, most = self.status.shape
        history = np.full((tasks, most, epochs), np.nan)
        mistakes_history = np.full((tasks, most, epochs), np.nan)
        # Kernels fill them in place; an interrupt comes as soon as a kernel has returned.
        self.history.append(history)
        self.mistakes_history.append(mistakes_history)
        arguments = (
            facts(
                Static(layout.lanes),
                Static(1) if d == 1 else d,
                Static(problem.radius is not None),
                Static(layout.lone),
                Static(penalised),
                Static(penalised and scales),
                Static(self.average),
                tile_for(X.dtype.itemsize),
                _lanes_for_cases(X.dtype, int(counts.max())),
            ),
            (problem.cost, problem.loss, problem.penalty, self.schedule),
            (flat(X.values), X.max_length * d, flat(X.lengths)),
            (m, *(problem.radius or NO_BAND), np.empty(0, MASK_DTYPES[layout.lanes])),
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
            (
                self.weights,
                self.bias,
                self.best,
                self.best_bias,
                self.mean,
                self.mean_bias,
            ),
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
        in_threads(train_serial, train_parallel, arguments, min(self.threads, tasks))
        self.epoch += epochs

    def solutions(self, interrupted: bool = False) -> list[Solution]:
        """The best parameters so far, in the order in which the models were given."""
        self.weights = np.empty(0)  # training is over: make room for the solutions
        history = np.concatenate(self.history, axis=2) if self.history else None
        mistakes = np.concatenate(self.mistakes_history, axis=2) if self.history else None
        size = self.problem.size
        found: list[Solution | None] = [None] * len(self.models)
        for task, members in enumerate(self.layout.tasks):
            for slot, index in enumerate(members):
                outputs = range(slot * size, (slot + 1) * size)
                status = int(self.status[task, slot])
                epochs = max(0, int(self.epochs[task, slot]) - self.first_epoch)
                found[index] = Solution(
                    np.stack([self.layout.take(self.best[task], u, self.shape) for u in outputs]),
                    self.best_bias[task, list(outputs)],
                    reason_of(status, interrupted),
                    epochs,
                    float(self.risk[task, slot]),
                    mistakes_as_int(self.mistakes[task, slot]),
                    np.empty(0) if history is None else history[task, slot, :epochs],
                    np.empty(0) if mistakes is None else mistakes[task, slot, :epochs],
                )
        return [solution for solution in found if solution is not None]
