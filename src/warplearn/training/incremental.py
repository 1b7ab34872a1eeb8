"""The incremental method: a step for each example, with many models side by side in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.banks import Grids, Plan, Series
from warplearn._kernels.drivers.judging import Progress
from warplearn._kernels.drivers.train import (
    Components,
    History,
    Models,
    Run,
    Weights,
    train_parallel,
    train_serial,
)
from warplearn._kernels.drivers.train import Examples as KernelExamples
from warplearn._kernels.recursion.grid import NO_BAND
from warplearn._kernels.recursion.local import Product
from warplearn._kernels.recursion.lone import skew, skewed_size, unskew
from warplearn._kernels.simd.arrays import CACHE_LINE, aligned_zeros, flat
from warplearn._kernels.simd.constants import Static
from warplearn._kernels.simd.target import bank_lanes, lanes_for
from warplearn._kernels.simd.threads import in_threads, thread_count, worth_threads
from warplearn.training.judging import reason_of, rules_of, whole_mistakes
from warplearn.training.penalties import L2
from warplearn.training.plan import Examples, Group, Solution, State

_FEW_EPOCHS = 20


def _lanes_for_cases(dtype: np.dtype[Any], cases: int) -> Static:
    """Lanes for the series of a split: no more than they fill, and no less than a cache line."""
    least, most = CACHE_LINE // dtype.itemsize, lanes_for(dtype).value
    return Static(min(most, max(least, 1 << (cases - 1).bit_length())))


def _cells_of_epochs(group: Group) -> float:
    """Cells of all grids in as many epochs as most fits need at least."""
    epochs = min(group.procedure.stopping.max_iter, _FEW_EPOCHS)
    matrices = len(group.models) * group.models[0].W.shape[0]
    return float(group.X.lengths.sum()) * group.models[0].W.shape[2] * matrices * epochs


class Layout(NamedTuple):
    """Which model stands where: tasks of models with the same examples, in lanes of blocks.

    A task that is a single matrix is *lone*: its lanes hold the rows of the matrix.
    """

    lanes: int
    blocks: int
    tasks: list[list[int]]
    lone: bool = False

    @classmethod
    def of(cls, group: Group, threads: int) -> Layout:
        """Fill lanes, yet leave a task for each thread where there are models enough."""
        size, objective = group.objective.n_outputs, group.objective
        by_examples: dict[int, list[int]] = {}
        for index, examples in enumerate(group.examples_of):
            by_examples.setdefault(examples, []).append(index)
        members = list(by_examples.values())
        plain = group.X.n_channels == 1 and objective.band is None
        if plain and isinstance(objective.cost, Product) and max(map(len, members)) * size == 1:
            columns = group.models[0].W.shape[2]
            return cls(32 if columns >= 32 else 16, 1, members, lone=True)
        choices = bank_lanes(group.X.dtype)
        for lanes in choices:
            blocks = -(-size // lanes)
            room = blocks * lanes // size
            tasks = [g[i : i + room] for g in members for i in range(0, len(g), room)]
            filled = max(len(task) for task in tasks) * size
            if lanes == choices[-1] or (len(tasks) >= threads and 2 * filled > blocks * lanes):
                break
        return cls(lanes, blocks, tasks)

    @property
    def units(self) -> int:
        """Outputs that a task has room for."""
        return 1 if self.lone else self.blocks * self.lanes

    def block_size(self, n: int, m: int, d: int) -> int:
        """Numbers in a block of n x m matrices of d channels."""
        return int(skewed_size(self.lanes, n, m)) if self.lone else n * m * d * self.lanes

    def put(self, blocks: NDArray[Any], matrices: Sequence[NDArray[Any]]) -> None:
        """Store the matrices of a task, one for each output; rows they have not stay 0."""
        if self.lone:
            n, m, _ = matrices[0].shape
            matrix = np.ascontiguousarray(matrices[0], blocks.dtype)
            skew(self.lanes, matrix.reshape(-1), n, m, blocks[0])
            return
        for number, block in enumerate(blocks):
            some = matrices[number * self.lanes : (number + 1) * self.lanes]
            rows = np.zeros((len(some), block.size // self.lanes), block.dtype)
            for row, matrix in zip(rows, some, strict=True):
                row[: matrix.size] = matrix.reshape(-1)
            block.reshape(-1, self.lanes)[:, : len(some)] = rows.T  # all at once, in memory order

    def take(self, blocks: NDArray[Any], n: int, m: int, d: int) -> NDArray[Any]:
        """The n x m matrices of a task, one for each output; they may be a view."""
        if self.lone:
            matrix = np.empty((1, n, m, d), blocks.dtype)
            unskew(self.lanes, blocks[0], n, m, matrix.reshape(-1))
            return matrix
        by_block = blocks.reshape(len(blocks), -1, self.lanes).swapaxes(1, 2)
        return by_block.reshape(self.units, -1, m, d)[:, :n]


class Bank:
    """Models in lanes, trained some epochs at a time."""

    def __init__(self, group: Group, *, n_jobs: int | None = None) -> None:
        self.group = group
        self.threads = worth_threads(thread_count(n_jobs), _cells_of_epochs(group))
        self.layout = layout = Layout.of(group, self.threads)
        self.epoch = 0
        self.orders = [examples.orders(group.X) for examples in group.examples]
        X, size = group.X, group.objective.n_outputs
        rows = max(X.max_length, *(model.W.shape[1] for model in group.models))
        m, d = group.models[0].W.shape[2:]
        tasks, units = len(layout.tasks), layout.units
        most = max(len(task) for task in layout.tasks)

        self.weights = aligned_zeros((tasks, layout.blocks, layout.block_size(rows, m, d)), X.dtype)
        self.bias = np.zeros((tasks, units))
        self.target_of = np.zeros((tasks, units), np.int64)
        self.eta, self.lam = np.zeros((tasks, most)), np.zeros((tasks, most))
        self.loss_parameters = np.zeros((tasks, most, len(group.objective.loss)))
        self.average = group.procedure.average
        averaged_shape = self.weights.shape if self.average else (1, 1, 0)
        self.mean = aligned_zeros(averaged_shape, X.dtype)
        self.mean_bias = np.zeros((tasks if self.average else 1, units))
        first_state = group.models[0].state
        self.n_averaged = 0 if first_state is None else first_state.n_averaged
        for task, members in enumerate(layout.tasks):
            models, used = [group.models[index] for index in members], slice(len(members))
            self.target_of[task, : size * len(models)] = [
                row for each in models for row in each.rows
            ]
            self._put(self.weights, self.bias, task, [model.parameters for model in models])
            means = [model.state.mean for model in models if model.state and model.state.mean]
            if self.average and means:
                self._put(self.mean, self.mean_bias, task, means)
            self.eta[task, used] = [model.eta for model in models]
            self.lam[task, used] = [model.lam for model in models]
            self.loss_parameters[task, used] = [model.loss_parameters for model in models]
        self.best, self.best_bias = self.weights.copy(), self.bias.copy()
        self.status = np.zeros((tasks, most), np.int64)
        self.mistakes = np.full((tasks, most), np.inf)
        self.risk = np.full((tasks, most), np.inf)
        self.stale = np.zeros((tasks, most), np.int64)
        self.epochs = np.zeros((tasks, most), np.int64)
        self.history: list[History] = []

    def _put(
        self,
        weights: NDArray[Any],
        bias: NDArray[Any],
        task: int,
        parameters: Sequence[Sequence[NDArray[Any]]],
    ) -> None:
        """Store W and b of the models of a task."""
        self.layout.put(weights[task], [matrix for W, *_ in parameters for matrix in W])
        biases = np.concatenate([b for _, b, *_ in parameters])
        bias[task, : len(biases)] = biases

    def _take(
        self, weights: NDArray[Any], bias: NDArray[Any], task: int
    ) -> list[list[NDArray[Any]]]:
        """W and b of each model of a task."""
        size, members = self.group.objective.n_outputs, self.layout.tasks[task]
        shapes = [self.group.models[index].W.shape[1:] for index in members]
        matrices, found = self.layout.take(weights[task], *max(shapes)), []
        for slot, (rows, *_) in enumerate(shapes):
            units = slice(slot * size, (slot + 1) * size)
            found.append([np.ascontiguousarray(matrices[units, :rows]), bias[task, units].copy()])
        return found

    @property
    def running(self) -> bool:
        """Whether some model has not come to its end."""
        active = np.array([len(task) for task in self.layout.tasks])[:, None]
        slots = np.arange(self.status.shape[1]) < active
        most = self.group.procedure.stopping.max_iter
        return self.epoch < most and bool((self.status == 0)[slots].any())

    @property
    def lowest_risk(self) -> float:
        """The lowest risk of any model so far."""
        return float(self.risk.min())

    @property
    def done(self) -> tuple[int, int]:
        """How many models have come to their end, and how many there are."""
        return int((self.status != 0).sum()), len(self.group.models)

    def run(self, epochs: int) -> None:
        """Train for some epochs, or until all models have come to their end."""
        group, objective, layout = self.group, self.group.objective, self.layout
        X, m = group.X, group.models[0].W.shape[2]
        tasks, most = self.status.shape
        history = History(*(np.full((tasks, most, epochs), np.nan) for _ in range(2)))
        # Kernels fill it in place; an interrupt comes as soon as a kernel has returned.
        self.history.append(history)
        procedure = group.procedure
        arguments = (
            self._kernel_plan(),
            Components(objective.cost, objective.loss, objective.penalty, procedure.schedule),
            Series(flat(X.values), X.max_length * X.n_channels, flat(X.lengths)),
            Grids(m, *(objective.band or NO_BAND)),
            Models(
                np.array([len(task) for task in layout.tasks]),
                objective.n_outputs,
                self.target_of,
                np.array([group.examples_of[task[0]] for task in layout.tasks]),
                self.eta,
                self.lam,
                self.loss_parameters,
            ),
            self._examples(epochs),
            Weights(self.weights, self.bias, self.best, self.best_bias, self.mean, self.mean_bias),
            rules_of(procedure.stopping),
            Progress(self.status, self.mistakes, self.risk, self.stale, self.epochs),
            history,
            Run(
                epochs, group.first_epoch, self.epoch, self.n_averaged,
                float(procedure.max_norm or 0),
            ),
        )  # fmt: skip
        in_threads(train_serial, train_parallel, arguments, min(self.threads, tasks))
        self.epoch += epochs

    def _kernel_plan(self) -> Plan:
        """What the kernel is compiled for."""
        group, objective, layout = self.group, self.group.objective, self.layout
        d = group.models[0].W.shape[3]
        penalised = bool(self.lam.any())
        judged = max(len(examples.judged) for examples in group.examples)
        wide = _lanes_for_cases(group.X.dtype, judged)
        used = max(len(task) for task in layout.tasks) * objective.n_outputs
        # Lanes that would be idle: of the bank, or of batches of series.
        in_bank = (
            not layout.lone
            and layout.units * judged <= used * -(-judged // wide.value) * wide.value
        )
        scales = isinstance(objective.cost, Product) and isinstance(objective.penalty, L2)
        return Plan(
            lanes=Static(layout.lanes),
            in_bank=Static(in_bank),
            wide=wide,
            channels=Static(1) if d == 1 else d,
            banded=Static(objective.band is not None),
            lone=Static(layout.lone),
            penalised=Static(penalised),
            scaled=Static(penalised and scales),
            projected=Static(bool(group.procedure.max_norm)),
            averaged=Static(self.average),
        )

    def _examples(self, epochs: int) -> KernelExamples:
        """The examples of some epochs, a row for each split."""
        group = self.group
        counts = np.array([len(examples.cases) for examples in group.examples])
        orders = np.zeros((len(counts), epochs, counts.max()), np.int64)
        for source, rows in zip(self.orders, orders, strict=True):
            for row in rows:
                order = source.next()
                row[: len(order)] = order
        return KernelExamples(
            orders,
            counts,
            np.stack([examples.weights for examples in group.examples]),
            np.ascontiguousarray(group.targets, np.float64),
            *_held_out(group.examples),
        )

    def solutions(self, interrupted: bool = False) -> list[Solution]:
        """The best parameters so far, in the order in which the models were given."""
        if not self.average:
            self.weights = np.empty(0)  # training is over: make room for the solutions
        risks, mistakes = self._histories()
        ordered: dict[int, Solution] = {}
        for task, members in enumerate(self.layout.tasks):
            best, states = self._take(self.best, self.best_bias, task), self._states(task)
            for slot, index in enumerate(members):
                epochs = int(self.epochs[task, slot])
                W, b = best[slot]
                ordered[index] = Solution(
                    W,
                    b,
                    (),
                    reason_of(int(self.status[task, slot]), interrupted),
                    epochs,
                    float(self.risk[task, slot]),
                    whole_mistakes(self.mistakes[task, slot]),
                    risks[task, slot, :epochs],
                    mistakes[task, slot, :epochs],
                    states[slot],
                )
        return [ordered[index] for index in range(len(ordered))]

    def _histories(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Risks and mistakes after each epoch, (tasks, models, epochs)."""
        if not self.history:
            nothing = np.empty((*self.status.shape, 0))
            return nothing, nothing
        risks = np.concatenate([each.risks for each in self.history], axis=2)
        return risks, np.concatenate([each.mistakes for each in self.history], axis=2)

    def _states(self, task: int) -> Sequence[State | None]:
        """With a mean over epochs, the latest parameters are not those of the solutions."""
        members = self.layout.tasks[task]
        if not self.average:
            return [None] * len(members)
        latest = self._take(self.weights, self.bias, task)
        means = self._take(self.mean, self.mean_bias, task)
        counts = self.n_averaged + self.epochs[task]
        return [
            State(parameters, mean=mean, n_averaged=int(count))
            for parameters, mean, count in zip(latest, means, counts[: len(members)], strict=True)
        ]


def _held_out(examples: Sequence[Examples]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The examples held out, a row for each split, and how many they are."""
    counts = np.array([len(each.held_out) for each in examples])
    table = np.zeros((len(counts), counts.max()), np.int64)
    for each, row in zip(examples, table, strict=True):
        row[: len(each.held_out)] = each.held_out
    return table, counts
