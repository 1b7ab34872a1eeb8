"""Batch methods: a step follows the mean gradient over a batch, whose series stand in lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.drivers.train import judge, penalty_of, risks_of, slopes_of
from warplearn._kernels.simd.records import Static
from warplearn.training.plan import (
    Model,
    Problem,
    Solution,
    Split,
    Stopping,
    mistakes_as_int,
    reason_of,
)
from warplearn.training.schedules import rate


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
        return rate * memory


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
        return rate * mean / (spread + self.epsilon)


OPTIMIZERS: dict[str, Any] = {"sgd": Momentum(0.0), "momentum": Momentum(), "adam": Adam()}


class Direct(NamedTuple):
    """The head of a linear model: its outputs are the scores of its matrices."""

    def outputs(self, parameters: Sequence[NDArray[Any]], scores: NDArray[Any]) -> NDArray[Any]:
        """Outputs (cases, outputs) for scores (cases, matrices)."""
        return scores

    def gradients(
        self, parameters: Sequence[NDArray[Any]], scores: NDArray[Any], slopes: NDArray[Any]
    ) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """What slopes with respect to the outputs mean for the scores, and for the parameters."""
        return slopes, []


class Batches:
    """Models trained on batches, with steps of any kind; the counterpart of `Bank`.

    A step follows the gradient of the mean loss over a batch.  Lanes hold the series of a batch.
    The parameters of a model are W, b, and those of its head (see `Direct`, `network.Layer`).
    Biases, which have one dimension, are not penalized.
    """

    def __init__(
        self,
        problem: Problem,
        models: Sequence[Model],
        splits: Sequence[Split],
        *,
        batch_size: int,
        optimizer: Any,
        schedule: Any,
        stopping: Stopping,
        head: Any = None,
        average: bool = False,
        first_epoch: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.problem, self.models, self.splits = problem, list(models), list(splits)
        self.schedule, self.stopping, self.average = schedule, stopping, average
        self.batch_size, self.optimizer, self.n_jobs = batch_size, optimizer, n_jobs
        self.head = Direct() if head is None else head
        self.epoch = self.first_epoch = first_epoch
        self.parameters = [
            [model.W.copy(), *(np.array(p, np.float64) for p in (model.b, *model.head))]
            for model in self.models
        ]
        self.best = [[p.copy() for p in own] for own in self.parameters]
        self.mean = [[np.zeros_like(p) for p in own] for own in self.parameters]
        self.memory = [
            model.memory or [optimizer.start(p.shape) for p in own]
            for model, own in zip(self.models, self.parameters, strict=True)
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
        problem, head = self.problem, self.head
        order = split.order()
        rates = np.array([rate(self.schedule, self.models[i].eta, self.epoch) for i in members])
        for start in range(0, len(order), self.batch_size):
            cases = order[start : start + self.batch_size]
            weights = split.weights[cases]
            own = [self.parameters[i] for i in members]
            scores = self._scores(own, cases)
            y, f = self._targets(members, cases), self._outputs(own, scores)
            slopes = np.zeros_like(f)
            slopes_of(problem.loss, self._parameters(members), problem.size, y, f, slopes)
            slopes *= (weights / len(cases))[:, None]
            behind = [
                head.gradients(parameters[2:], s, t)
                for parameters, s, t in zip(
                    own, scores, np.split(slopes, len(members), axis=1), strict=True
                )
            ]
            W = np.stack([parameters[0] for parameters in own])
            X = problem.X[cases]
            gradient = evaluate(
                problem.cost, X.values, X.lengths, W.reshape(-1, *W.shape[2:]),
                band=problem.radius, want_matrix=True, n_jobs=self.n_jobs,
                upstream=np.concatenate([to_scores for to_scores, _ in behind], axis=1),
            ).matrix_gradient.reshape(W.shape)  # fmt: skip
            for slot, i in enumerate(members):
                to_scores, to_head = behind[slot]
                gradients = [gradient[slot], to_scores.sum(axis=0), *to_head]
                strength = self.models[i].lam * weights.mean()
                for p, g, memory in zip(own[slot], gradients, self.memory[i], strict=True):
                    if strength > 0 and p.ndim > 1:
                        g += strength * self._penalty(p)[1]
                    p -= self.optimizer.step(memory, g, rates[slot])
        self._judge(members, split)

    def _judge(self, members: NDArray[np.int64], split: Split) -> None:
        """Project, average, compute the risk, and keep what is best."""
        limit = self.stopping.radius or np.inf
        for i in members if limit < np.inf else []:
            norm = np.sqrt(sum((p.astype(np.float64) ** 2).sum() for p in self.parameters[i]))
            for p in self.parameters[i] if norm > limit else []:
                p *= limit / norm
        judged = self.parameters
        if self.average:
            share = 1.0 / (self.epoch - self.first_epoch + 1)
            for i in members:
                for mean, p in zip(self.mean[i], self.parameters[i], strict=True):
                    mean += share * (p - mean)
            judged = self.mean
        problem, cases = self.problem, split.judged
        own = [judged[i] for i in members]
        f, y = self._outputs(own, self._scores(own, cases)), self._targets(members, cases)
        risks, mistakes = np.empty(len(members)), np.empty(len(members))
        risks_of(
            problem.loss, self._parameters(members), problem.size, y, f,
            split.weights[cases], risks, mistakes,
        )  # fmt: skip
        for slot, i in enumerate(members):
            for p in own[slot] if self.models[i].lam > 0 else []:
                risks[slot] += self.models[i].lam * self._penalty(p)[0] if p.ndim > 1 else 0.0
            self.history[i].append(risks[slot])
            self.mistakes_history[i].append(mistakes[slot])
        whole_state = (self.status, self.mistakes, self.risk, self.stale, self.epochs)
        state = [whole[members] for whole in whole_state]
        better = np.zeros(len(members), np.bool_)
        judge(self.epoch, risks, mistakes, self.stopping.rules(), *state, better)
        for whole, part in zip(whole_state, state, strict=True):
            whole[members] = part
        for i in members[better]:
            self.best[i] = [p.copy() for p in judged[i]]

    def _parameters(self, members: NDArray[np.int64]) -> NDArray[np.float64]:
        own = tuple(self.problem.loss)
        rows = [tuple(self.models[i].loss_parameters) or own for i in members]
        return np.array(rows, np.float64).reshape(len(members), len(self.problem.loss))

    def _targets(self, members: NDArray[np.int64], cases: NDArray[np.int64]) -> NDArray[np.float64]:
        columns = [
            sign * self.problem.targets[row, cases]
            for i in members
            for row, sign in zip(self.models[i].rows, self.models[i].signs, strict=True)
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1), np.float64)

    def _scores(
        self, own: Sequence[Sequence[NDArray[Any]]], cases: NDArray[np.int64]
    ) -> list[NDArray[np.float64]]:
        """For each model `b + sigma_W`, an array (cases, matrices)."""
        X = self.problem.X[cases]
        scores = evaluate(
            self.problem.cost, X.values, X.lengths,
            np.concatenate([parameters[0] for parameters in own]),
            band=self.problem.radius, n_jobs=self.n_jobs,
        ).values.astype(np.float64)  # fmt: skip
        return [
            part + parameters[1]
            for parameters, part in zip(own, np.split(scores, len(own), axis=1), strict=True)
        ]

    def _outputs(
        self, own: Sequence[Sequence[NDArray[Any]]], scores: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Outputs of all models, side by side."""
        parts = [self.head.outputs(p[2:], s) for p, s in zip(own, scores, strict=True)]
        return np.concatenate(parts, axis=1)

    def _penalty(self, weights: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        """The penalty of weights, and its derivative."""
        padded = np.zeros(-(-weights.size // 8) * 8, weights.dtype)
        padded[: weights.size] = weights.reshape(-1)
        slopes = np.empty_like(padded)
        value = penalty_of(Static(8), self.problem.penalty, padded, slopes)
        return float(value), slopes[: weights.size].reshape(weights.shape)

    def solutions(self, interrupted: bool = False) -> list[Solution]:
        """The best parameters so far, in the order in which the models were given."""
        return [
            Solution(
                self.best[i][0], self.best[i][1], reason_of(self.status[i], interrupted),
                len(self.history[i]), float(self.risk[i]), mistakes_as_int(self.mistakes[i]),
                np.array(self.history[i]), np.array(self.mistakes_history[i]),
                tuple(self.best[i][2:]), self.memory[i],
            )
            for i in range(len(self.models))
        ]  # fmt: skip
