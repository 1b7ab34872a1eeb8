"""Incremental training of a bank of models: the generalized gradient method, one example a step.

A *task* is a group of models that see the same examples in the same order.  Their weight matrices
stand in the lanes of one or more blocks, `size` consecutive lanes a model (see `banks`).  Models of
a task differ in initial weights, learning rate, parameters of the loss, strength of the penalty and
targets.

A step scores one series against all matrices, lets the loss turn the outputs of each model into
slopes, and adds `-rate * slope * x` along the active paths.  After each epoch the models are judged
with the weights as they are (see `judging`); the best weights of every model are kept, and a model
that has come to its end is left alone.

A penalty makes every step touch every weight.  L2 shrinkage is deferred if the cost is the elastic
inner product: paths and scores scale with W, so one scale for each matrix is kept beside it until
the end of the epoch (`scaled`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange

from warplearn._kernels.drivers.banks import (
    add_gradient,
    room_for_bank,
    score_cases,
    score_example,
)
from warplearn._kernels.drivers.components import model_slopes, rate_at, with_parameters
from warplearn._kernels.drivers.judging import RUNNING, Progress, add_losses, judge
from warplearn._kernels.drivers.weights import (
    blend,
    fold,
    keep,
    penalties,
    project,
    shrink,
    unit_of,
)
from warplearn._kernels.simd.arrays import empty, fill, zeros
from warplearn._kernels.simd.compiling import entry, inlined, inner, parallel_entry
from warplearn._kernels.simd.constants import value_of, when
from warplearn._kernels.simd.numbers import greater, lesser

_TABLE_ROWS = 256
_SMALLEST_SCALE = 1e-3


class Components(NamedTuple):
    """The records that a kernel is compiled for."""

    cost: Any
    loss: Any
    penalty: Any
    schedule: Any


class Models(NamedTuple):
    """The models of all tasks.

    How many a task has, outputs of a model, the row of the targets of each output (tasks, units),
    which examples a task sees, and learning rates, strengths of the penalty and parameters of the
    loss (tasks, models, ...).
    """

    counts: Any
    size: int
    target_of: Any
    examples_of: Any
    eta: Any
    lam: Any
    loss_parameters: Any


class Examples(NamedTuple):
    """Examples of all splits.

    Orders (splits, epochs, cases), of which the first `counts` cases are used; weights (splits, all
    cases), targets (rows, all cases), and examples that are held out to judge by (splits, cases).
    """

    orders: Any
    counts: Any
    weights: Any
    targets: Any
    held_out: Any
    held_out_counts: Any


class Weights(NamedTuple):
    """Weights and biases: the latest, the best, and means over epochs, which may be empty."""

    matrices: Any
    bias: Any
    best: Any
    best_bias: Any
    mean: Any
    mean_bias: Any


class History(NamedTuple):
    """Risks and mistakes after each epoch, (tasks, models, epochs)."""

    risks: Any
    mistakes: Any


class Run(NamedTuple):
    """How many epochs to train; how many were before, for the schedule, and in the mean.

    `first_epoch` counts those of earlier training, `epochs_before` those of this one.  `max_norm`
    is the radius of the ball that parameters are projected onto, or 0.
    """

    epochs: int
    first_epoch: int
    epochs_before: int
    averaged_before: int
    max_norm: float


class _TaskModels(NamedTuple):
    """The models of one task; see `Models`."""

    n_models: int
    size: int
    target_of: Any
    eta: Any
    lam: Any
    loss_parameters: Any


class _TaskExamples(NamedTuple):
    """The examples of one task; see `Examples`."""

    order: Any
    weights: Any
    targets: Any
    held_out: Any


class _Outputs(NamedTuple):
    """For each unit: output, target, slope of the loss, scale of the matrix, learning rate."""

    f: Any
    y: Any
    slopes: Any
    scale: Any
    rates: Any


class _Lanes(NamedTuple):
    """For each lane a factor of the gradient, scratch, and an amount to shrink by.

    The first two have the dtype of the weights, the last double precision.
    """

    factors: Any
    scratch: Any
    amounts: Any


class _Verdict(NamedTuple):
    """For each model risk, mistakes, and whether it is at its best; room for a table of scores."""

    risks: Any
    mistakes: Any
    better: Any
    table: Any


@inlined
def _task_models(models, task):
    return _TaskModels(
        models.counts[task],
        models.size,
        models.target_of[task],
        models.eta[task],
        models.lam[task],
        models.loss_parameters[task],
    )


@inlined
def _task_examples(examples, split):
    return _TaskExamples(
        examples.orders[split, :, : examples.counts[split]],
        examples.weights[split],
        examples.targets,
        examples.held_out[split, : examples.held_out_counts[split]],
    )


@inlined
def _task_weights(weights, task):
    mean = lesser(task, len(weights.mean) - 1)  # there is one empty mean without averaging
    return Weights(
        weights.matrices[task],
        weights.bias[task],
        weights.best[task],
        weights.best_bias[task],
        weights.mean[mean],
        weights.mean_bias[mean],
    )


@inlined
def _task_progress(progress, task):
    return Progress(
        progress.status[task],
        progress.mistakes[task],
        progress.risk[task],
        progress.stale[task],
        progress.epochs[task],
    )


@inner
def _set_rates(schedule, models, status, t, rates):
    """The learning rate of each unit in epoch t, 0 for models that have come to their end.

    Returns whether a running model has a penalty.
    """
    fill(rates, 0.0)
    shrinks = False
    for model in range(models.n_models):
        if status[model] == RUNNING:
            for unit in range(model * models.size, (model + 1) * models.size):
                rates[unit] = rate_at(schedule, models.eta[model], t)
                shrinks = shrinks or models.lam[model] > 0.0
    return shrinks


@inner
def _any_running(models, status):
    """Whether some model has not come to its end."""
    for model in range(models.n_models):
        if status[model] == RUNNING:
            return True
    return False


@inlined
def _read_targets(case, targets, target_of, y):
    """The targets of one example, an output each."""
    for unit in range(len(y)):
        y[unit] = targets[target_of[unit], case]


@inlined
def _find_slopes(loss, models, examples, case, bias, outputs):
    """Turn scores into outputs, and these into slopes of the loss."""
    f, y, slopes, scale = outputs.f, outputs.y, outputs.slopes, outputs.scale
    for unit in range(len(f)):
        f[unit] = scale[unit] * f[unit] + bias[unit]
    _read_targets(case, examples.targets, models.target_of, y)
    size, loss_parameters = models.size, models.loss_parameters
    for model in range(models.n_models):
        own = with_parameters(loss, loss_parameters, model)
        model_slopes(own, y, f, slopes, model * size, size)


@inlined
def _move_biases(plan, models, weight, weights, outputs, scratch):
    """Turn slopes into steps, and make those of the biases and of the scales."""
    slopes, rates, bias = outputs.slopes, outputs.rates, weights.bias
    units = models.n_models * models.size
    for unit in range(units):
        slopes[unit] *= -rates[unit] * weight
        bias[unit] += slopes[unit]
    when(plan.scaled, _move_scales, plan, models, weight, weights.matrices, outputs, scratch)


@inner
def _move_scales(plan, models, weight, matrices, outputs, scratch):
    """Make the step of the penalty in the scales, and take these out of the slopes."""
    slopes, scale, rates, lam, size = (
        outputs.slopes,
        outputs.scale,
        outputs.rates,
        models.lam,
        models.size,
    )
    folds = False
    for unit in range(models.n_models * size):
        scale[unit] *= 1.0 - 2.0 * rates[unit] * weight * lam[unit // size]
        folds = folds or scale[unit] < _SMALLEST_SCALE
    if folds:
        fold(plan.lone, plan.lanes, _SMALLEST_SCALE, scale, matrices, scratch)
    for unit in range(models.n_models * size):
        slopes[unit] /= scale[unit]


@inlined
def _set_factors(plan, slopes, block, factors):
    """The factors of a block's lanes; the slopes of lanes that are left over are 0."""
    for lane in range(value_of(plan.lanes)):
        factors[lane] = slopes[unit_of(plan.lone, plan.lanes, block, lane)]


@inner
def _shrink_block(plan, penalty, models, weight, rates, block, matrix, lanes, shrinks):
    """Make the step of the penalty in a block of matrices, unless scales have made it."""
    if value_of(plan.scaled) or not shrinks:
        return
    units = models.n_models * models.size
    for lane in range(value_of(plan.lanes)):
        unit = unit_of(plan.lone, plan.lanes, block, lane)
        strength = models.lam[unit // models.size] if unit < units else 0.0
        lanes.amounts[lane] = rates[unit] * weight * strength
    shrink(plan.lanes, penalty, lanes.amounts, matrix, lanes.scratch)


@inner
def _take_steps(plan, components, series, cases, grids, models, examples, weights, outputs, lanes,
                room, shrinks):  # fmt: skip
    """One example after the other: score it, and move all models against their slopes."""
    cost, matrices, m, factors = components.cost, weights.matrices, grids.m, lanes.factors
    for position in range(len(cases)):
        case = cases[position]
        weight = examples.weights[case]
        score_example(plan.lone, plan, cost, series, case, grids, matrices, room, outputs.f)
        _find_slopes(components.loss, models, examples, case, weights.bias, outputs)
        _move_biases(plan, models, weight, weights, outputs, lanes.scratch)
        for block in range(len(matrices)):
            matrix = matrices[block]
            _set_factors(plan, outputs.slopes, block, factors)
            when(
                plan.penalised, _shrink_block, plan, components.penalty, models, weight,
                outputs.rates, block, matrix, lanes, shrinks,
            )  # fmt: skip
            add_gradient(plan.lone, plan, cost, series, case, m, matrix, block, factors, room)


@inner
def _finish_epoch(plan, models, weights, outputs, lanes, max_norm, in_mean):
    """Fold the scales in, project, and take the mean over `in_mean` epochs."""
    matrices, bias = weights.matrices, weights.bias
    when(plan.scaled, fold, plan.lone, plan.lanes, np.inf, outputs.scale, matrices, lanes.scratch)
    when(
        plan.projected, project, plan.lone, plan.lanes, max_norm, matrices, bias, models.size,
        models.n_models, lanes.scratch,
    )  # fmt: skip
    when(plan.averaged, _average, plan, weights, lanes, in_mean)


@inner
def _average(plan, weights, lanes, in_mean):
    """Take the mean over `in_mean` epochs."""
    matrices, bias, mean, mean_bias = (
        weights.matrices,
        weights.bias,
        weights.mean,
        weights.mean_bias,
    )
    for block in range(len(matrices)):
        blend(plan.lanes, 1.0 / in_mean, matrices[block], mean[block])
    for unit in range(len(bias)):
        mean_bias[unit] += (bias[unit] - mean_bias[unit]) / in_mean


@inner
def _find_risks(plan, components, series, cases, grids, models, examples, judged, bias, outputs,
                room, verdict):  # fmt: skip
    """Weighted mean losses and numbers of mistakes on some examples."""
    f, y, table, risks = outputs.f, outputs.y, verdict.table, verdict.risks
    fill(risks, 0.0)
    fill(verdict.mistakes, 0.0)
    used, total = models.n_models * models.size, 0.0
    for first in range(0, len(cases), len(table)):
        some = cases[first : first + len(table)]
        score_cases(
            plan.in_bank, plan, components.cost, series, some, grids, used, judged, room, table
        )
        for position in range(len(some)):
            weight = examples.weights[some[position]]
            total += weight
            for unit in range(len(f)):
                f[unit] = table[position, unit] + bias[unit]
            _read_targets(some[position], examples.targets, models.target_of, y)
            add_losses(
                components.loss, models.loss_parameters, models.size, y, f, weight, risks,
                verdict.mistakes,
            )  # fmt: skip
    for model in range(models.n_models):
        risks[model] /= total


@inner
def _add_penalties(plan, penalty, models, judged, risks, scratch):
    """Add the penalty of each model to its risk."""
    for block in range(len(judged)):
        penalties(plan.lanes, penalty, judged[block], scratch)
        for lane in range(value_of(plan.lanes)):
            unit = unit_of(plan.lone, plan.lanes, block, lane)
            if unit < models.n_models * models.size:
                model = unit // models.size
                risks[model] += models.lam[model] * scratch[lane]


@inner
def _keep_best(plan, models, judged, bias, weights, better, lanes):
    """Keep the parameters of the models that are at their best."""
    size, units, best_bias, bounds = (
        models.size,
        models.n_models * models.size,
        weights.best_bias,
        lanes.scratch,
    )
    for unit in range(units):
        if better[unit // size]:
            best_bias[unit] = bias[unit]
    for block in range(len(judged)):
        copies = False
        for lane in range(value_of(plan.lanes)):
            unit = unit_of(plan.lone, plan.lanes, block, lane)
            chosen = unit < units and better[unit // size]
            bounds[lane] = np.inf if chosen else -np.inf
            copies = copies or chosen
        if copies:
            keep(plan.lanes, bounds, judged[block], weights.best[block])


@inner
def _write_history(history, task, epoch, status, verdict):
    """Write the risks and mistakes of the models that are still running."""
    for model in range(len(verdict.risks)):
        if status[model] == RUNNING:
            history.risks[task, model, epoch] = verdict.risks[model]
            history.mistakes[task, model, epoch] = verdict.mistakes[model]


@inner
def _train_task(
    plan, components, series, grids, models_of, examples_of, weights_of, rules, progress_of,
    history, run, task,
):  # fmt: skip
    models, weights = _task_models(models_of, task), _task_weights(weights_of, task)
    examples = _task_examples(examples_of, models_of.examples_of[task])
    progress = _task_progress(progress_of, task)
    order, held_out, matrices = examples.order, examples.held_out, weights.matrices
    count, units = value_of(plan.lanes), len(weights.bias)
    room = room_for_bank(plan, series.lengths, grids, matrices)
    lanes = _Lanes(
        empty(count, matrices),
        empty(count, matrices),
        zeros(count, np.float64),
    )
    outputs = _Outputs(
        zeros(units, np.float64),
        zeros(units, np.float64),
        zeros(units, np.float64),
        zeros(units, np.float64),
        zeros(units, np.float64),
    )
    fill(outputs.scale, 1.0)
    rows = lesser(_TABLE_ROWS, greater(order.shape[1], len(held_out)))
    verdict = _Verdict(
        zeros(models.n_models, np.float64),
        zeros(models.n_models, np.float64),
        zeros(models.n_models, np.bool_),
        zeros((rows, units), matrices),
    )
    judged, bias = matrices, weights.bias
    if value_of(plan.averaged):
        judged, bias = weights.mean, weights.mean_bias

    for epoch in range(run.epochs):
        if not _any_running(models, progress.status):
            break
        t = run.epochs_before + epoch
        shrinks = _set_rates(
            components.schedule, models, progress.status, run.first_epoch + t, outputs.rates
        )
        _take_steps(
            plan, components, series, order[epoch], grids, models, examples, weights, outputs,
            lanes, room, shrinks,
        )  # fmt: skip
        in_mean = run.averaged_before + t + 1.0
        _finish_epoch(plan, models, weights, outputs, lanes, run.max_norm, in_mean)
        cases = held_out if len(held_out) else order[epoch]
        _find_risks(
            plan,
            components,
            series,
            cases,
            grids,
            models,
            examples,
            judged,
            bias,
            outputs,
            room,
            verdict,
        )
        when(
            plan.penalised, _add_penalties, plan, components.penalty, models, judged,
            verdict.risks, lanes.scratch,
        )  # fmt: skip
        _write_history(history, task, epoch, progress.status, verdict)
        judge(t, verdict.risks, verdict.mistakes, rules, progress, verdict.better)
        _keep_best(plan, models, judged, bias, weights, verdict.better, lanes)


@entry
def train_serial(
    plan, components, series, grids, models, examples, weights, rules, progress, history, run
):
    """Run some epochs of all tasks, one task after the other."""
    for task in range(len(models.counts)):
        _train_task(
            plan, components, series, grids, models, examples, weights, rules, progress, history,
            run, task,
        )  # fmt: skip


@parallel_entry
def train_parallel(
    plan, components, series, grids, models, examples, weights, rules, progress, history, run
):
    """Run some epochs of all tasks, tasks side by side in threads."""
    for task in prange(len(models.counts)):
        _train_task(
            plan, components, series, grids, models, examples, weights, rules, progress, history,
            run, np.int64(task),
        )  # fmt: skip
