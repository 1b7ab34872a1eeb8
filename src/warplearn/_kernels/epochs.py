"""Incremental training of a bank of models: the generalized gradient method, one example a step.

A *task* is a group of models that see the same examples in the same order.  Their weight matrices
stand in the lanes of one or more blocks, `size` consecutive lanes a model.  Models of a task differ
in initial weights, learning rate, parameters of the loss, strength of the penalty and targets.

A step scores one series against all matrices, lets the loss turn the outputs of each model into
slopes, and adds `-rate * slope * x` along the active paths.  After each epoch the risk and the
mistakes on the training examples are computed with the weights as they are; the best weights of
every model are kept, and a model that has reached its end is left alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from warplearn._kernels.backward import backward
from warplearn._kernels.forward import ROWS, forward
from warplearn._kernels.grid import lane_limits
from warplearn._kernels.lanes import BANK, aligned_empty, like, load, store, where
from warplearn._kernels.lanes import total as sum_of
from warplearn._kernels.parts import (
    model_mistake,
    model_slopes,
    model_value,
    penalty_slope,
    penalty_value,
    rate_at,
    with_parameters,
)
from warplearn._kernels.records import Static, number

_NO, _YES = Static(0), Static(1)

# Why a model's training ended.
RUNNING, PERFECT, STALE, DIVERGED = 0, 1, 2, 3


@njit(nogil=True)
def _outputs(
    lanes, channels, traced, banded, cost, data, case, m, radius, matrices, bias, work, steps, f
):
    """Score one series against the matrices of a task."""
    x, x_stride, lengths = data
    kept, ends, values, low, high, hull, rows = work
    count, d = number(lanes), number(channels)
    k = lengths[case]
    ends[:] = k - 1
    if number(banded):
        rows[:] = k
        lane_limits(lanes, radius, rows, k, m, low, high, hull)
    for block in range(len(matrices)):
        best = forward(
            lanes, BANK, channels, traced, banded, cost, x, case * x_stride, matrices[block], 0,
            m * d, m, ends, k, k, low, high, hull, kept, steps[block],
        )  # fmt: skip
        store(values, 0, best)
        for lane in range(count):
            f[block * count + lane] = values[lane] + bias[block * count + lane]


@njit(nogil=True)
def _targets(case, targets, target_of, sign_of, y):
    """The targets of one example, an output each."""
    for unit in range(len(y)):
        y[unit] = sign_of[unit] * targets[target_of[unit], case]


@njit(nogil=True)
def _shrink(lanes, penalty, amounts, matrix, scratch):
    """One step down the penalty, by `amounts` (a number a lane)."""
    count = number(lanes)
    for lane in range(count):
        scratch[lane] = amounts[lane]
    amount = load(lanes, scratch, 0)
    for at in range(0, len(matrix), count):
        w = load(lanes, matrix, at)
        store(matrix, at, w - amount * penalty_slope(penalty, w))


@njit(nogil=True)
def _penalties(lanes, penalty, matrix, out):
    """The penalty of each lane's matrix."""
    total = like(load(lanes, matrix, 0), 0.0)
    for at in range(0, len(matrix), number(lanes)):
        total = total + penalty_value(penalty, load(lanes, matrix, at))
    store(out, 0, total)


@njit(nogil=True)
def _norms(lanes, matrix, out):
    """The squared norm of each lane's matrix."""
    total = like(load(lanes, matrix, 0), 0.0)
    for at in range(0, len(matrix), number(lanes)):
        w = load(lanes, matrix, at)
        total = total + w * w
    store(out, 0, total)


@njit(nogil=True)
def _blend(lanes, shares, source, target, scratch):
    """Move each lane of `target` to `source` by a share from 0 to 1; 1 copies exactly."""
    for lane in range(number(lanes)):
        scratch[lane] = shares[lane]
    share = load(lanes, scratch, 0)
    one = like(share, 1.0)
    for at in range(0, len(target), number(lanes)):
        new, old = load(lanes, source, at), load(lanes, target, at)
        moved = where(share >= one, new, old + share * (new - old))
        store(target, at, where(share > 0.0, moved, old))


@njit(nogil=True)
def _project(lanes, limit, matrices, bias, size, models, scratch):
    """Project the parameters of every model onto the ball of radius `limit`."""
    count = number(lanes)
    norms = np.zeros(len(bias))
    for block in range(len(matrices)):
        _norms(lanes, matrices[block], scratch)
        for lane in range(count):
            unit = block * count + lane
            norms[unit] = scratch[lane] + bias[unit] * bias[unit]
    for model in range(models):
        total = 0.0
        for unit in range(model * size, (model + 1) * size):
            total += norms[unit]
        if total > limit * limit:
            factor = limit / np.sqrt(total)
            for unit in range(model * size, (model + 1) * size):
                bias[unit] *= factor
                block, lane = unit // count, unit % count
                for at in range(lane, matrices.shape[1], count):
                    matrices[block, at] *= matrices.dtype.type(factor)


@njit(nogil=True, cache=True)
def judge(t, risks, mistakes, rules, status, mistakes_of, risk_of, stale_of, epoch_of, better):
    """After epoch t: which models are at their best (`better`), and which at their end."""
    by_risk, stop_perfect, patience, tol, _ = rules
    for model in range(len(risks)):
        better[model] = False
        if status[model] != RUNNING:
            continue
        epoch_of[model] = t + 1
        if not np.isfinite(risks[model]):
            status[model] = DIVERGED
            continue
        fewer = mistakes[model] < mistakes_of[model]
        as_few = mistakes[model] == mistakes_of[model]
        lower = risks[model] < risk_of[model]
        progress = risks[model] < risk_of[model] - tol if by_risk else fewer
        stale_of[model] = 0 if progress else stale_of[model] + 1
        if lower if by_risk else fewer or (as_few and lower):
            better[model] = True
            mistakes_of[model] = mistakes[model]
            risk_of[model] = risks[model]
        if stop_perfect and mistakes[model] == 0.0:
            status[model] = PERFECT
        elif stale_of[model] >= patience:
            status[model] = STALE


@njit(nogil=True, cache=True)
def slopes_of(loss, loss_parameters, size, y, f, slopes):
    """Slopes of the loss for a table of outputs (cases, units); `y` are the targets."""
    for case in range(len(f)):
        for model in range(len(loss_parameters)):
            own = with_parameters(loss, loss_parameters, model)
            model_slopes(own, y[case], f[case], slopes[case], model * size, size)


@njit(nogil=True, cache=True)
def risks_of(loss, loss_parameters, size, y, f, weights, risks, mistakes):
    """Weighted mean loss and number of mistakes of each model."""
    risks[:] = 0.0
    mistakes[:] = 0.0
    for case in range(len(f)):
        for model in range(len(loss_parameters)):
            own = with_parameters(loss, loss_parameters, model)
            risks[model] += weights[case] * model_value(own, y[case], f[case], model * size, size)
            mistakes[model] += model_mistake(own, y[case], f[case], model * size, size)
    risks /= weights.sum()


@njit(nogil=True, cache=True)
def penalty_of(lanes, penalty, weights, slopes):
    """The penalty of weights, and its derivative; their number is a multiple of the lanes."""
    total = like(load(lanes, weights, 0), 0.0)
    for at in range(0, len(weights), number(lanes)):
        w = load(lanes, weights, at)
        total = total + penalty_value(penalty, w)
        store(slopes, at, penalty_slope(penalty, w))
    return sum_of(total)


@njit(nogil=True)
def _train_task(
    plan, parts, data, shape, models_of, examples, parameters, weights, rules, state, epochs
):
    lanes, channels, banded, penalised, averaged = plan
    cost, loss, penalty, schedule = parts
    x, x_stride, lengths = data
    m, radius, mask = shape
    models, size, target_of, sign_of = models_of
    order, example_weights, targets = examples
    eta, lam, loss_parameters = parameters
    matrices, bias, best_matrices, best_bias, mean_matrices, mean_bias = weights
    limit = rules[-1]
    status, mistakes_of, risk_of, stale_of, epoch_of, history, mistakes_history, first_epoch = state

    count, d = number(lanes), number(channels)
    blocks = len(matrices)
    units = blocks * count
    n = lengths.max()
    kept = aligned_empty(m * count, matrices[0])
    ends = aligned_empty(count, matrices[0])
    values = aligned_empty(count, matrices[0])
    scratch = aligned_empty(count, matrices[0])
    limits = n if number(banded) else 0
    low, high = aligned_empty(limits * count, values), aligned_empty(limits * count, values)
    hull, rows = np.empty((limits, 4), np.int64), np.empty(count, np.int64)
    work = (kept, ends, values, low, high, hull, rows)
    steps = np.empty((blocks, 2 * (n + ROWS) * m), mask.dtype)
    marks, cells = np.empty(m, np.int64), np.empty((0, 3), np.int64)
    f, y, slopes = np.zeros(units), np.zeros(units), np.zeros(units)
    rates, amounts, shares = np.zeros(units), np.zeros(units), np.zeros(units)
    factors = aligned_empty(count, matrices[0])
    risks, mistakes = np.zeros(models), np.zeros(models)
    better = np.zeros(models, np.bool_)

    for epoch in range(epochs):
        running = 0
        for model in range(models):
            running += status[model] == RUNNING
        if running == 0:
            break
        t = first_epoch + epoch
        rates[:] = 0.0
        shrinks = False
        for model in range(models):
            if status[model] == RUNNING:
                for unit in range(model * size, (model + 1) * size):
                    rates[unit] = rate_at(schedule, eta[model], t)
                    shrinks = shrinks or lam[model] > 0.0

        for position in range(order.shape[1]):
            case = order[epoch, position]
            weight = example_weights[case]
            if weight == 0.0:
                continue
            _outputs(
                lanes, channels, _YES, banded, cost, data, case, m, radius, matrices, bias,
                work, steps, f,
            )  # fmt: skip
            _targets(case, targets, target_of, sign_of, y)
            for model in range(models):
                own = with_parameters(loss, loss_parameters, model)
                model_slopes(own, y, f, slopes, model * size, size)
            k = lengths[case]
            for block in range(blocks):
                wanted = 0
                for lane in range(count):
                    unit = block * count + lane
                    step = 0.0
                    if unit < models * size:
                        step = -rates[unit] * weight * slopes[unit]
                    factors[lane] = step
                    if step != 0.0:
                        wanted |= 1 << lane
                        bias[unit] += step
                if number(penalised) and shrinks:
                    for lane in range(count):
                        unit = block * count + lane
                        strength = lam[unit // size] if unit < models * size else 0.0
                        amounts[lane] = rates[unit] * weight * strength
                    _shrink(lanes, penalty, amounts, matrices[block], scratch)
                if wanted:
                    backward(
                        lanes, BANK, channels, _NO, _YES, _NO, _NO, cost,
                        x, case * x_stride, matrices[block], 0, m * d, m, ends, k, k,
                        steps[block], wanted, factors, x, 0, matrices[block], 0, values, marks,
                        cells,
                    )  # fmt: skip

        if limit > 0.0:
            _project(lanes, limit, matrices, bias, size, models, scratch)
        judged, judged_bias = matrices, bias
        if number(averaged):
            for block in range(blocks):
                shares[:count] = 1.0 / (t + 1.0)
                _blend(lanes, shares, matrices[block], mean_matrices[block], scratch)
            for unit in range(units):
                mean_bias[unit] += (bias[unit] - mean_bias[unit]) / (t + 1.0)
            judged, judged_bias = mean_matrices, mean_bias

        risks[:] = 0.0
        mistakes[:] = 0.0
        total = 0.0
        for position in range(order.shape[1]):
            case = order[epoch, position]
            weight = example_weights[case]
            if weight == 0.0:
                continue
            total += weight
            _outputs(
                lanes, channels, _NO, banded, cost, data, case, m, radius, judged, judged_bias,
                work, steps, f,
            )  # fmt: skip
            _targets(case, targets, target_of, sign_of, y)
            for model in range(models):
                own = with_parameters(loss, loss_parameters, model)
                risks[model] += weight * model_value(own, y, f, model * size, size)
                mistakes[model] += model_mistake(own, y, f, model * size, size)
        risks /= total
        if number(penalised):
            for block in range(blocks):
                _penalties(lanes, penalty, judged[block], scratch)
                for lane in range(count):
                    unit = block * count + lane
                    if unit < models * size:
                        risks[unit // size] += lam[unit // size] * scratch[lane]

        shares[:] = 0.0
        for model in range(models):
            if status[model] == RUNNING:
                history[model, epoch] = risks[model]
                mistakes_history[model, epoch] = mistakes[model]
        judge(t, risks, mistakes, rules, status, mistakes_of, risk_of, stale_of, epoch_of, better)
        for model in range(models):
            if better[model]:
                for unit in range(model * size, (model + 1) * size):
                    shares[unit] = 1.0
                    best_bias[unit] = judged_bias[unit]
        for block in range(blocks):
            part = shares[block * count : (block + 1) * count]
            if part.any():
                _blend(lanes, part, judged[block], best_matrices[block], scratch)


@njit(nogil=True)
def _task(
    plan, parts, data, shape, models_of, examples, parameters, weights, rules, state, epochs, task
):
    models, size, target_of, sign_of, split_of = models_of
    orders, counts, example_weights, targets = examples
    eta, lam, loss_parameters = parameters
    matrices, bias, best_matrices, best_bias, mean_matrices, mean_bias = weights
    status, mistakes_of, risk_of, stale_of, epoch_of, history, mistakes_history, first_epoch = state
    split = split_of[task]
    averaged = min(task, len(mean_matrices) - 1)
    _train_task(
        plan, parts, data, shape,
        (models[task], size, target_of[task], sign_of[task]),
        (orders[split, :, : counts[split]], example_weights[split], targets),
        (eta[task], lam[task], loss_parameters[task]),
        (
            matrices[task], bias[task], best_matrices[task], best_bias[task],
            mean_matrices[averaged], mean_bias[averaged],
        ),
        rules,
        (
            status[task], mistakes_of[task], risk_of[task], stale_of[task], epoch_of[task],
            history[task], mistakes_history[task], first_epoch,
        ),
        epochs,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def train_serial(
    plan, parts, data, shape, models_of, examples, parameters, weights, rules, state, epochs
):
    """Run some epochs of all tasks, one task after the other."""
    for task in range(len(models_of[0])):
        _task(
            plan, parts, data, shape, models_of, examples, parameters, weights, rules, state,
            epochs, task,
        )  # fmt: skip


@njit(nogil=True, cache=True, parallel=True)
def train_parallel(
    plan, parts, data, shape, models_of, examples, parameters, weights, rules, state, epochs
):
    """Run some epochs of all tasks, tasks side by side in threads."""
    for task in prange(len(models_of[0])):
        _task(
            plan, parts, data, shape, models_of, examples, parameters, weights, rules, state,
            epochs, np.int64(task),
        )  # fmt: skip
