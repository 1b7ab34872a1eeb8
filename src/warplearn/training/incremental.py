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

    def put(self, blocks: NDArray[Any], unit: int, matrix: NDArray[Any]) -> None:
        """Store the matrix of an output in the blocks of its task; rows it has not stay 0."""
        if self.lone:
            n, m, _ = matrix.shape
            skew(self.lanes, np.ascontiguousarray(matrix).reshape(-1), n, m, blocks[0])
        else:
            laned = blocks[unit // self.lanes].reshape(-1, self.lanes)
            laned[: matrix.size, unit % self.lanes] = matrix.reshape(-1)

    def take(self, blocks: NDArray[Any], unit: int, shape: tuple[int, int, int]) -> NDArray[Any]:
        """The matrix of an output."""
        if self.lone:
            matrix = np.empty(shape, blocks.dtype)
            unskew(self.lanes, blocks[0], shape[0], shape[1], matrix.reshape(-1))
            return matrix
        laned = blocks[unit // self.lanes].reshape(-1, self.lanes)
        return laned[: int(np.prod(shape)), unit % self.lanes].reshape(shape)


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
            for slot, index in enumerate(members):
                model = group.models[index]
                for output in range(size):
                    self.target_of[task, slot * size + output] = model.rows[output]
                self._put(self.weights, self.bias, task, slot, model.parameters)
                if self.average and model.state is not None and model.state.mean is not None:
                    self._put(self.mean, self.mean_bias, task, slot, model.state.mean)
                self.eta[task, slot], self.lam[task, slot] = model.eta, model.lam
                self.loss_parameters[task, slot] = model.loss_parameters
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
        slot: int,
        parameters: Sequence[NDArray[Any]],
    ) -> None:
        size = self.group.objective.n_outputs
        W, b = parameters[:2]
        for output in range(size):
            unit = slot * size + output
            self.layout.put(weights[task], unit, W[output].astype(weights.dtype))
            bias[task, unit] = b[output]

    def _take(
        self, weights: NDArray[Any], bias: NDArray[Any], task: int, slot: int, rows: int
    ) -> list[NDArray[Any]]:
        """W and b of the model in a slot."""
        size = self.group.objective.n_outputs
        shape = (rows, *self.group.models[0].W.shape[2:])
        units = range(slot * size, (slot + 1) * size)
        W = np.stack([self.layout.take(weights[task], unit, shape) for unit in units])
        return [W, bias[task, list(units)]]

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
            for slot, index in enumerate(members):
                rows = self.group.models[index].W.shape[1]
                epochs = int(self.epochs[task, slot])
                W, b = self._take(self.best, self.best_bias, task, slot, rows)
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
                    self._state(task, slot, rows, epochs),
                )
        return [ordered[index] for index in range(len(ordered))]

    def _histories(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Risks and mistakes after each epoch, (tasks, models, epochs)."""
        if not self.history:
            nothing = np.empty((*self.status.shape, 0))
            return nothing, nothing
        risks = np.concatenate([each.risks for each in self.history], axis=2)
        return risks, np.concatenate([each.mistakes for each in self.history], axis=2)

    def _state(self, task: int, slot: int, rows: int, epochs: int) -> State | None:
        """With a mean over epochs, the latest parameters are not those of the solution."""
        if not self.average:
            return None
        return State(
            self._take(self.weights, self.bias, task, slot, rows),
            mean=self._take(self.mean, self.mean_bias, task, slot, rows),
            n_averaged=self.n_averaged + epochs,
        )


def _held_out(examples: Sequence[Examples]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The examples held out, a row for each split, and how many they are."""
    counts = np.array([len(each.held_out) for each in examples])
    table = np.zeros((len(counts), counts.max()), np.int64)
    for each, row in zip(examples, table, strict=True):
        row[: len(each.held_out)] = each.held_out
    return table, counts
