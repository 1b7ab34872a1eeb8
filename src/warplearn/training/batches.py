"""Batch methods: a step follows the mean gradient over a batch, whose series stand in lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.evaluate import evaluate
from warplearn._kernels.drivers.judging import Progress, judge, risks_of, slopes_of
from warplearn._kernels.drivers.weights import penalty_of
from warplearn._kernels.simd.constants import Static
from warplearn.series.chunks import placed, total
from warplearn.series.collection import SeriesCollection
from warplearn.training.judging import reason_of, rules_of, whole_mistakes
from warplearn.training.plan import Array, Group, Model, Objective, Solution, State
from warplearn.training.schedules import rate


class Direct(NamedTuple):
    """The head of a linear model: its outputs are the scores of its matrices."""

    def outputs(self, parameters: Sequence[Array], scores: Array) -> Array:
        """Outputs (cases, outputs) for scores (cases, matrices)."""
        return scores

    def gradients(
        self, parameters: Sequence[Array], scores: Array, slopes: Array
    ) -> tuple[Array, list[Array]]:
        """Derivatives with respect to the scores, and to the parameters of the head.

        Parameters
        ----------
        slopes : array (cases, outputs)
            Derivatives with respect to the outputs.
        """
        return slopes, []


def _padded(array: Array, like: Array) -> Array:
    """The array with rows of 0 behind its own, as many as `like` has."""
    if array.shape == like.shape:
        return np.array(array)
    larger = np.zeros_like(like, dtype=array.dtype)
    larger[:, : array.shape[1]] = array
    return larger


class _Trained:
    """One model in training."""

    def __init__(self, model: Model, solver: Any, average: bool) -> None:
        self.model = model
        self.parameters = [
            model.W.copy(), *(np.array(p, np.float64) for p in model.parameters[1:])
        ]  # fmt: skip
        self.best = [p.copy() for p in self.parameters]
        self.memory = [solver.start(p.shape) for p in self.parameters]
        self.mean = [np.zeros_like(p) for p in self.parameters] if average else None
        self.n_averaged, self.solver = 0, solver
        if model.state is not None:
            self._go_on_from(model.state)
        self.history: list[float] = []
        self.mistakes_history: list[float] = []

    def _go_on_from(self, state: State) -> None:
        """Take over what earlier training left behind; weights may have got more rows since."""
        if state.memory is not None and state.solver == self.solver:
            self.memory = [
                _grown(memory, p) for memory, p in zip(state.memory, self.parameters, strict=True)
            ]
        if state.mean is not None and self.mean is not None:
            self.mean = [_padded(mean, p) for mean, p in zip(state.mean, self.mean, strict=True)]
            self.n_averaged = state.n_averaged

    @property
    def judged(self) -> list[Array]:
        """The parameters whose risk counts: the latest, or their means."""
        return self.parameters if self.mean is None else self.mean

    def project(self, max_norm: float) -> None:
        """Bring the parameters into the ball of this radius."""
        norm = np.sqrt(sum((p.astype(np.float64) ** 2).sum() for p in self.parameters))
        for p in self.parameters if norm > max_norm else []:
            p *= max_norm / norm

    def add_to_mean(self) -> None:
        """Take the latest parameters into the mean over epochs."""
        if self.mean is not None:
            self.n_averaged += 1
            for mean, p in zip(self.mean, self.parameters, strict=True):
                mean += (p - mean) / self.n_averaged

    def state(self) -> State:
        """What is needed to go on."""
        return State(self.parameters, self.memory, self.mean, self.n_averaged, self.solver)


def _grown(memory: Any, parameter: Array) -> Any:
    """A solver's memory for parameters that may have got more rows."""
    if isinstance(memory, np.ndarray):
        return _padded(memory, parameter)
    if isinstance(memory, list):
        return [_grown(part, parameter) for part in memory]
    return memory


@dataclass(frozen=True, eq=False)
class _Risks:
    """Weighted mean loss and number of mistakes of each model, and the sum of the weights."""

    risks: NDArray[np.float64]
    mistakes: NDArray[np.float64]
    weight: float

    def __add__(self, other: _Risks) -> _Risks:
        """Those of two sets of series together."""
        weight = self.weight + other.weight
        risks = (self.risks * self.weight + other.risks * other.weight) / weight
        return _Risks(risks, self.mistakes + other.mistakes, weight)


class _Losses(NamedTuple):
    """The losses of models with given parameters, as a function of some series.

    Attributes
    ----------
    objective : Objective
    parameters : list of lists of arrays
        W, b and those of the head, of each model.
    loss_parameters : array (models, numbers)
    rows : list of int
        The rows of the targets that the outputs of the models have, side by side.
    n_jobs : int or None
    size : int
        Series of a batch.
    """

    objective: Objective
    parameters: list[list[Array]]
    loss_parameters: NDArray[np.float64]
    rows: list[int]
    n_jobs: int | None
    size: int

    @property
    def head(self) -> Any:
        """What stands behind the matrices."""
        return self.objective.head or Direct()

    def risks(self, X: SeriesCollection, targets: Array, weights: NDArray[np.float64]) -> _Risks:
        """What the models lose on the series."""
        return self._risks(self._outputs(self._scores(X)), targets, weights)

    def gradients(
        self, X: SeriesCollection, targets: Array, weights: NDArray[np.float64]
    ) -> list[list[Array]]:
        """For each model the gradients of its weighted losses, divided by the size of a batch."""
        scores = self._scores(X)
        return self._gradients(X, scores, self._outputs(scores), targets, weights)

    def risks_and_gradients(
        self, X: SeriesCollection, targets: Array, weights: NDArray[np.float64]
    ) -> tuple[_Risks, list[list[Array]]]:
        """Both, in hardly more time than the gradients alone."""
        scores = self._scores(X)
        f = self._outputs(scores)
        gradients = self._gradients(X, scores, f, targets, weights)
        return self._risks(f, targets, weights), gradients

    def _risks(self, f: Array, targets: Array, weights: NDArray[np.float64]) -> _Risks:
        risks, mistakes = np.empty(len(self.parameters)), np.empty(len(self.parameters))
        risks_of(
            self.objective.loss, self.loss_parameters, self.objective.n_outputs,
            self._targets(targets), f, weights, risks, mistakes,
        )  # fmt: skip
        return _Risks(risks, mistakes, float(weights.sum()))

    def _gradients(
        self,
        X: SeriesCollection,
        scores: list[NDArray[np.float64]],
        f: Array,
        targets: Array,
        weights: NDArray[np.float64],
    ) -> list[list[Array]]:
        objective, count = self.objective, len(self.parameters)
        slopes = np.zeros_like(f)
        y = self._targets(targets)
        slopes_of(objective.loss, self.loss_parameters, objective.n_outputs, y, f, slopes)
        slopes *= (weights / self.size)[:, None]
        behind = [
            self.head.gradients(p[2:], s, t)
            for p, s, t in zip(
                self.parameters, scores, np.split(slopes, count, axis=1), strict=True
            )
        ]
        W = np.stack([p[0] for p in self.parameters])
        to_W = evaluate(
            objective.cost, X.values, X.lengths, W.reshape(-1, *W.shape[2:]),
            band=objective.band, want_matrix=True, n_jobs=self.n_jobs,
            upstream=np.concatenate([to_scores for to_scores, _ in behind], axis=1),
        ).matrix_gradient.reshape(W.shape)  # fmt: skip
        return [
            [own_W, to_scores.sum(axis=0), *to_head]
            for own_W, (to_scores, to_head) in zip(to_W, behind, strict=True)
        ]

    def _targets(self, targets: Array) -> NDArray[np.float64]:
        """Targets (cases, outputs) of all models, side by side."""
        return np.ascontiguousarray(targets[:, self.rows], np.float64)

    def _scores(self, X: SeriesCollection) -> list[NDArray[np.float64]]:
        """For each model `b + sigma_W`, an array (cases, matrices)."""
        objective, parameters = self.objective, self.parameters
        scores = evaluate(
            objective.cost, X.values, X.lengths, np.concatenate([p[0] for p in parameters]),
            band=objective.band, n_jobs=self.n_jobs,
        ).values.astype(np.float64)  # fmt: skip
        columns = np.split(scores, len(parameters), axis=1)
        return [part + p[1] for p, part in zip(parameters, columns, strict=True)]

    def _outputs(self, scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Outputs of all models, side by side."""
        each = [self.head.outputs(p[2:], s) for p, s in zip(self.parameters, scores, strict=True)]
        return np.concatenate(each, axis=1)


class Batches:
    """Models trained on batches, with steps of any kind; the counterpart of `incremental.Bank`.

    A step follows the gradient of the mean loss over a batch.  Lanes hold the series of a batch.
    The parameters of a model are W, b, and those of its head (see `Direct`).  Biases, which have
    one dimension, are not penalized.
    """

    def __init__(self, group: Group, *, n_jobs: int | None = None) -> None:
        self.group, self.n_jobs = group, n_jobs
        self.epoch = 0
        self.orders = [examples.orders(group.X) for examples in group.examples]
        targets = placed(group.X, group.targets.T)
        self.columns = [(targets, placed(group.X, each.weights)) for each in group.examples]
        self.ahead: dict[int, list[Array]] = {}  # gradients for the next step of some models
        procedure = group.procedure
        self.trained = [_Trained(m, procedure.solver, procedure.average) for m in group.models]
        count = len(self.trained)
        self.status = np.zeros(count, np.int64)
        self.mistakes, self.risk = np.full(count, np.inf), np.full(count, np.inf)
        self.stale, self.epochs = np.zeros(count, np.int64), np.zeros(count, np.int64)

    @property
    def running(self) -> bool:
        """Whether some model has not come to its end."""
        most = self.group.procedure.stopping.max_iter
        return self.epoch < most and bool((self.status == 0).any())

    @property
    def lowest_risk(self) -> float:
        """The lowest risk of any model so far."""
        return float(self.risk.min())

    @property
    def done(self) -> tuple[int, int]:
        """How many models have come to their end, and how many there are."""
        return int((self.status != 0).sum()), len(self.trained)

    def run(self, epochs: int) -> None:
        """Train for some epochs, or until all models have come to their end."""
        examples_of = np.array(self.group.examples_of)
        for _ in range(epochs):
            for number in range(len(self.group.examples)):
                members = np.flatnonzero((examples_of == number) & (self.status == 0))
                if len(members):
                    self._epoch(members, number)
                    self._judge(members, number)
            self.epoch += 1

    def _epoch(self, members: NDArray[np.int64], number: int) -> None:
        """Steps over all batches, of the models with these examples."""
        group, size = self.group, self.group.procedure.batch_size
        assert size is not None
        examples = group.examples[number]
        order = examples.cases if self._whole(number) else self.orders[number].next()
        own = [self.trained[i] for i in members]
        t = group.first_epoch + self.epoch
        rates = [rate(group.procedure.schedule, each.model.eta, t) for each in own]
        for start in range(0, len(order), size):
            cases = order[start : start + size]
            if self.ahead.keys() >= set(members):
                gradients = [self.ahead.pop(i) for i in members]
            else:
                losses = self._losses(own, [each.parameters for each in own], len(cases))
                gradients = self._total(losses.gradients, number, cases)
            penalized = any(each.model.lam > 0 for each in own)
            weight = examples.weights[cases].mean() if penalized else 0.0
            for each, gradient, eta in zip(own, gradients, rates, strict=True):
                strength = each.model.lam * weight
                for p, g, memory in zip(each.parameters, gradient, each.memory, strict=True):
                    if strength > 0 and p.ndim > 1:
                        g += strength * self._penalty(p)[1]
                    p -= group.procedure.solver.step(memory, g, eta)

    def _judge(self, members: NDArray[np.int64], number: int) -> None:
        """Project, average, compute the risk, and keep what is best.

        Where the next step is the gradient at the same parameters over the same series, both are
        computed in one pass.
        """
        procedure, examples = self.group.procedure, self.group.examples[number]
        own = [self.trained[i] for i in members]
        for each in own:
            if procedure.max_norm is not None:
                each.project(procedure.max_norm)
            each.add_to_mean()
        judged = examples.judged
        losses = self._losses(own, [each.judged for each in own], len(judged))
        last = self.epoch + 1 == procedure.stopping.max_iter
        if last or procedure.average or judged is not examples.cases or not self._whole(number):
            found = self._total(losses.risks, number, judged)
        else:
            found, gradients = self._total(losses.risks_and_gradients, number, judged)
            self.ahead.update(zip(members, gradients, strict=True))
        risks, mistakes = found.risks, found.mistakes
        for slot, each in enumerate(own):
            for p in each.judged if each.model.lam > 0 else []:
                risks[slot] += each.model.lam * self._penalty(p)[0] if p.ndim > 1 else 0.0
            each.history.append(risks[slot])
            each.mistakes_history.append(mistakes[slot])
        whole_state = (self.status, self.mistakes, self.risk, self.stale, self.epochs)
        progress = Progress(*(whole[members] for whole in whole_state))
        better = np.zeros(len(own), np.bool_)
        judge.py_func(self.epoch, risks, mistakes, rules_of(procedure.stopping), progress, better)
        for whole, latest in zip(whole_state, progress, strict=True):
            whole[members] = latest
        for each, improved in zip(own, better, strict=True):
            if improved:
                each.best = [p.copy() for p in each.judged]

    def _whole(self, number: int) -> bool:
        """Whether a batch holds all of these examples."""
        size = self.group.procedure.batch_size
        return size is not None and size >= len(self.group.examples[number].cases)

    def _losses(self, own: Sequence[_Trained], parameters: list[list[Array]], size: int) -> _Losses:
        """The losses of some models on batches of a size, as a function of series."""
        rows = [row for each in own for row in each.model.rows]
        return _Losses(
            self.group.objective, parameters, _loss_parameters(own), rows, self.n_jobs, size
        )

    def _total(self, function: Callable[..., Any], number: int, cases: NDArray[np.int64]) -> Any:
        """What a function of some series, targets and weights adds up to."""
        return total(function, self.group.X, *self.columns[number], cases=cases)

    def _penalty(self, weights: Array) -> tuple[float, Array]:
        """The penalty of weights, and its derivative."""
        padded = np.zeros(-(-weights.size // 8) * 8, weights.dtype)
        padded[: weights.size] = weights.reshape(-1)
        slopes = np.empty_like(padded)
        value = penalty_of(Static(8), self.group.objective.penalty, padded, slopes)
        return float(value), slopes[: weights.size].reshape(weights.shape)

    def solutions(self, interrupted: bool = False) -> list[Solution]:
        """The best parameters so far, in the order in which the models were given."""
        return [
            Solution(
                each.best[0], each.best[1], tuple(each.best[2:]),
                reason_of(int(self.status[i]), interrupted), len(each.history),
                float(self.risk[i]), whole_mistakes(self.mistakes[i]),
                np.array(each.history), np.array(each.mistakes_history), each.state(),
            )
            for i, each in enumerate(self.trained)
        ]  # fmt: skip


def _loss_parameters(own: Sequence[_Trained]) -> NDArray[np.float64]:
    rows = [each.model.loss_parameters for each in own]
    return np.array(rows, np.float64).reshape(len(own), -1)
