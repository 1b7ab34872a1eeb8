"""Incremental training of a bank of models: the generalized gradient method, one example a step.

A *task* is a group of models that see the same examples in the same order.  Their weight matrices
stand in the lanes of one or more blocks, `size` consecutive lanes a model.  Models of a task differ
in initial weights, learning rate, parameters of the loss, strength of the penalty and targets.

A task with a single matrix has the rows of that matrix in lanes instead (see `lone`).

A step scores one series against all matrices, lets the loss turn the outputs of each model into
slopes, and adds `-rate * slope * x` along the active paths.  After each epoch the risk and the
mistakes on the training examples are computed with the weights as they are; the best weights of
every model are kept, and a model that has reached its end is left alone.

A penalty makes every step touch every weight.  Not so L2 with the elastic inner product: shrinking
W is a change of scale, and paths and scores scale with W, so a number beside the matrix will do
until the end of the epoch (`scaled`).
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from warplearn._kernels.drivers.blocks import pack, unpack
from warplearn._kernels.drivers.parts import (
    model_mistake,
    model_slopes,
    model_value,
    penalty_slope,
    penalty_value,
    rate_at,
    with_parameters,
)
from warplearn._kernels.recursion.backward import backward
from warplearn._kernels.recursion.forward import forward
from warplearn._kernels.recursion.grid import Band, lane_limits, room_for_limits
from warplearn._kernels.recursion.lone import lone_backward, lone_forward, unskew
from warplearn._kernels.simd.records import ZERO, Static, number, switch
from warplearn._kernels.simd.vector import (
    BANK,
    BATCH,
    absolute,
    aligned_empty,
    fill,
    like,
    load,
    store,
    where,
)
from warplearn._kernels.simd.vector import total as sum_of

_NO, _YES = Static(0), Static(1)
_TABLE_ROWS = 256
_GROUP = 16  # matrices that are taken out of their lanes at a time
_NEGLIGIBLE = 1e-30
_SMALLEST_SCALE = 1e-3

# Why a model's training ended.
RUNNING, PERFECT, STALE, DIVERGED = 0, 1, 2, 3


@njit(nogil=True)
def greatest(lengths):
    """The greatest length."""
    most = 0
    for length in lengths:
        most = max(most, length)
    return most


# How a step is made: with matrices in lanes (a bank), or with the rows of a lone matrix in lanes.


def _score(lone, lanes, channels, banded, cost, data, case, shape, matrices, work, f):
    """Score one series against the matrices of a task, without the biases."""
    raise NotImplementedError


def _score_bank(lone, lanes, channels, banded, cost, data, case, shape, matrices, work, f):
    x, x_stride, lengths = data
    m, band = shape[0], Band(shape[1], shape[2])
    kept, ends, values, low, high, hull, rows, _, steps, _, _ = work
    count, d = number(lanes), number(channels)
    k = lengths[case]
    fill(ends, k - 1)
    if number(banded):
        fill(rows, k)
        lane_limits(lanes, band, rows, k, m, low, high, hull)
    for block in range(len(matrices)):
        best = forward(
            lanes, BANK, channels, _YES, banded, cost, x, case * x_stride, matrices[block], 0,
            m * d, m, ends, k, k, low, high, hull, kept, steps[block],
        )  # fmt: skip
        store(values, 0, best)
        for lane in range(count):
            f[block * count + lane] = values[lane]


def _score_lone(lone, lanes, channels, banded, cost, data, case, shape, matrices, work, f):
    x, x_stride, lengths = data
    kept, _, _, _, _, _, _, series, steps, _, _ = work
    k = lengths[case]
    for i in range(len(series)):
        series[i] = x[case * x_stride + i] if i < k else 0
    f[0] = lone_forward(lanes, cost, series, k, matrices[0], shape[0], kept, steps[0])


def _update(lone, lanes, channels, cost, data, case, m, matrix, block, factors, wanted, work):
    """Add `factors` times the generalized gradient of the scores to a block of matrices."""
    raise NotImplementedError


def _update_bank(lone, lanes, channels, cost, data, case, m, matrix, block, factors, wanted, work):
    x, x_stride, lengths = data
    _, ends, values, _, _, _, _, _, steps, marks, cells = work
    k = lengths[case]
    backward(
        lanes, BANK, channels, _NO, _YES, _NO, _NO, cost,
        x, case * x_stride, matrix, 0, m * number(channels), m, ends, k, k, steps[block], wanted,
        factors, x, 0, matrix, 0, values, marks, cells,
    )  # fmt: skip


def _update_lone(lone, lanes, channels, cost, data, case, m, matrix, block, factors, wanted, work):
    series, steps = work[7], work[8]
    lone_backward(lanes, series, data[2][case], m, steps[0], factors[0], matrix)


def _plain(lone, lanes, tile, matrices, first, many, n, m, d, plain):
    """Copy the matrices of some outputs, from `first` on, out of their lanes."""
    raise NotImplementedError


def _plain_bank(lone, lanes, tile, matrices, first, many, n, m, d, plain):
    block = first // number(lanes)
    unpack(lanes, tile, matrices[block], first % number(lanes), many, n * m * d, plain)


def _plain_lone(lone, lanes, tile, matrices, first, many, n, m, d, plain):
    unskew(number(lanes), matrices[0], n, m, plain)


switch(_score, _score_bank, _score_lone)
switch(_update, _update_bank, _update_lone)
switch(_plain, _plain_bank, _plain_lone)


@njit(nogil=True)
def _score_cases(plan, cost, data, cases, shape, used, matrices, table):
    """Score some series, a row of `table` each: here lanes are series, some matrices at a time."""
    lanes, channels, banded, lone = plan[:4]
    tile, wide = plan[7], plan[8]
    x, x_stride, lengths = data
    m, band, mask = shape[0], Band(shape[1], shape[2]), shape[3]
    d, count = number(channels), number(wide)
    n = greatest(lengths)
    group = 1 if number(lone) else min(_GROUP, number(lanes))
    plain = np.empty(group * n * m * d, x.dtype)
    block, kept = aligned_empty(n * d * count, x), aligned_empty(m * count, x)
    ends, values = aligned_empty(count, x), aligned_empty(count, x)
    starts, rows = np.empty(count, np.int64), np.empty(count, np.int64)
    low, high, hull = room_for_limits(wide, banded, n, x)
    steps = np.empty(0, mask.dtype)
    for first_unit in range(0, used, group):
        _plain(lone, lanes, tile, matrices, first_unit, group, n, m, d, plain)
        for first in range(0, len(cases), count):
            shortest, longest = n, ZERO
            for lane in range(count):
                case = cases[min(first + lane, len(cases) - 1)]
                starts[lane], rows[lane] = case * x_stride, lengths[case]
                ends[lane] = rows[lane] - 1
                shortest, longest = min(shortest, rows[lane]), max(longest, rows[lane])
            pack(wide, tile, x, starts, 0, longest * d, block)
            if number(banded):
                lane_limits(wide, band, rows, longest, m, low, high, hull)
            for unit in range(first_unit, min(first_unit + group, used)):
                best = forward(
                    wide, BATCH, channels, _NO, banded, cost, block, 0,
                    plain, (unit - first_unit) * n * m * d, m * d, m, ends, shortest, longest,
                    low, high, hull, kept, steps,
                )  # fmt: skip
                store(values, 0, best)
                for lane in range(min(count, len(cases) - first)):
                    table[first + lane, unit] = values[lane]


@njit(nogil=True, forceinline=True)
def _unit(lone, lanes, block, lane):
    """The output that a lane of a block belongs to."""
    return block if number(lone) else block * number(lanes) + lane


@njit(nogil=True)
def _targets(case, targets, target_of, y):
    """The targets of one example, an output each."""
    for unit in range(len(y)):
        y[unit] = targets[target_of[unit], case]


@njit(nogil=True)
def _shrink(lanes, penalty, amounts, matrix, scratch):
    """One step down the penalty, by `amounts` (a number a lane).

    Weights that only ever shrink become denormal numbers, on which CPUs are slow: they end at 0.
    """
    count = number(lanes)
    for lane in range(count):
        scratch[lane] = amounts[lane]
    amount = load(lanes, scratch, 0)
    for at in range(0, len(matrix), count):
        w = load(lanes, matrix, at)
        w = w - amount * penalty_slope(penalty, w)
        store(matrix, at, where(absolute(w) < _NEGLIGIBLE, like(w, 0.0), w))


@njit(nogil=True)
def _fold(lone, lanes, below, scale, matrices, scratch):
    """Multiply the matrices whose scale is less than `below` by it; the scale becomes 1."""
    count = number(lanes)
    for block in range(len(matrices)):
        for lane in range(count):
            own = scale[_unit(lone, lanes, block, lane)]
            scratch[lane] = own if own < below else 1.0
        factor = load(lanes, scratch, 0)
        for at in range(0, matrices.shape[1], count):
            w = load(lanes, matrices[block], at) * factor
            store(matrices[block], at, where(absolute(w) < _NEGLIGIBLE, like(w, 0.0), w))
    for unit in range(len(scale)):
        if scale[unit] < below:
            scale[unit] = 1.0


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
def _project(lone, lanes, limit, matrices, bias, size, models, scratch):
    """Project the parameters of every model onto the ball of radius `limit`."""
    count = number(lanes)
    norms = np.zeros(models)
    for unit in range(models * size):
        norms[unit // size] += bias[unit] * bias[unit]
    for block in range(len(matrices)):
        _norms(lanes, matrices[block], scratch)
        for lane in range(count):
            unit = _unit(lone, lanes, block, lane)
            if unit < models * size:
                norms[unit // size] += scratch[lane]
    for unit in range(models * size):
        if norms[unit // size] > limit * limit:
            bias[unit] *= limit / np.sqrt(norms[unit // size])
    for block in range(len(matrices)):
        for lane in range(count):
            unit = _unit(lone, lanes, block, lane)
            if unit < models * size and norms[unit // size] > limit * limit:
                factor = limit / np.sqrt(norms[unit // size])
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
    fill(risks, 0.0)
    fill(mistakes, 0.0)
    total = 0.0
    for case in range(len(f)):
        total += weights[case]
        for model in range(len(loss_parameters)):
            own = with_parameters(loss, loss_parameters, model)
            risks[model] += weights[case] * model_value(own, y[case], f[case], model * size, size)
            mistakes[model] += model_mistake(own, y[case], f[case], model * size, size)
    for model in range(len(risks)):
        risks[model] /= total


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
    plan,
    parts,
    data,
    shape,
    models_of,
    examples,
    parameters,
    weights,
    rules,
    state,
    epochs,
    task,
):
    lanes, channels, banded, lone, penalised, scaled, averaged = plan[:7]
    cost, loss, penalty, schedule = parts
    lengths = data[2]
    m, mask = shape[0], shape[3]
    size, split = models_of[1], models_of[3][task]
    models, target_of = models_of[0][task], models_of[2][task]
    order = examples[0][split, :, : examples[1][split]]
    example_weights, targets = examples[2][split], examples[3]
    held_out = examples[4][split, : examples[5][split]]
    eta, lam, loss_parameters = (
        parameters[0][task],
        parameters[1][task],
        parameters[2][task],
    )
    matrices, bias = weights[0][task], weights[1][task]
    best_matrices, best_bias = weights[2][task], weights[3][task]
    mean = min(task, len(weights[4]) - 1)  # there are none without averaging
    mean_matrices, mean_bias = weights[4][mean], weights[5][mean]
    limit = rules[-1]
    status, mistakes_of, risk_of = state[0][task], state[1][task], state[2][task]
    stale_of, epoch_of = state[3][task], state[4][task]
    history, mistakes_history = state[5][task], state[6][task]
    first_epoch, epochs_before, averaged_before = state[7], state[8], state[9]

    count = number(lanes)
    blocks, n = len(matrices), greatest(lengths)
    units = len(bias)
    values = aligned_empty(count, matrices[0])
    low, high, hull = room_for_limits(lanes, banded, n, values)
    work = (
        aligned_empty((m + 1) * count, values),
        aligned_empty(count, values),
        values,
        low,
        high,
        hull,
        np.empty(count, np.int64),
        aligned_empty((n + count - 1) // count * count, values),
        np.empty((blocks, 2 * (n + count) * (m + count)), mask.dtype),
        np.empty(m, np.int64),
        np.empty((0, 3), np.int64),
    )
    scratch, factors = aligned_empty(count, values), aligned_empty(count, values)
    f, y, slopes = np.zeros(units), np.zeros(units), np.zeros(units)
    scale = np.ones(units)
    rates, amounts, shares = np.zeros(units), np.zeros(count), np.zeros(count)
    most_judged = max(order.shape[1], len(held_out))
    table = np.zeros((min(_TABLE_ROWS, most_judged), units), matrices.dtype)
    risks, mistakes = np.zeros(models), np.zeros(models)
    better = np.zeros(models, np.bool_)

    for epoch in range(epochs):
        running = 0
        for model in range(models):
            running += status[model] == RUNNING
        if running == 0:
            break
        t = epochs_before + epoch
        fill(rates, 0.0)
        shrinks = False
        for model in range(models):
            if status[model] == RUNNING:
                for unit in range(model * size, (model + 1) * size):
                    rates[unit] = rate_at(schedule, eta[model], first_epoch + t)
                    shrinks = shrinks or lam[model] > 0.0

        for position in range(order.shape[1]):
            case = order[epoch, position]
            weight = example_weights[case]
            _score(
                lone,
                lanes,
                channels,
                banded,
                cost,
                data,
                case,
                shape,
                matrices,
                work,
                f,
            )
            for unit in range(units):
                f[unit] = scale[unit] * f[unit] + bias[unit]
            _targets(case, targets, target_of, y)
            for model in range(models):
                own = with_parameters(loss, loss_parameters, model)
                model_slopes(own, y, f, slopes, model * size, size)
            fold = False
            for unit in range(models * size):
                slopes[unit] *= -rates[unit] * weight
                bias[unit] += slopes[unit]
                if number(scaled):
                    scale[unit] *= 1.0 - 2.0 * rates[unit] * weight * lam[unit // size]
                    fold = fold or scale[unit] < _SMALLEST_SCALE
            if number(scaled):
                if fold:
                    _fold(lone, lanes, _SMALLEST_SCALE, scale, matrices, scratch)
                for unit in range(models * size):
                    slopes[unit] /= scale[unit]
            for block in range(blocks):
                wanted = ZERO
                for lane in range(count):
                    unit = _unit(lone, lanes, block, lane)
                    factors[lane] = slopes[unit] if unit < models * size else 0.0
                    if factors[lane] != 0.0:
                        wanted |= 1 << lane
                if number(penalised) and shrinks and not number(scaled):
                    for lane in range(count):
                        unit = _unit(lone, lanes, block, lane)
                        strength = lam[unit // size] if unit < models * size else 0.0
                        amounts[lane] = rates[unit] * weight * strength
                    _shrink(lanes, penalty, amounts, matrices[block], scratch)
                if wanted:
                    _update(
                        lone, lanes, channels, cost, data, case, m, matrices[block], block,
                        factors, wanted, work,
                    )  # fmt: skip

        if number(scaled):
            _fold(lone, lanes, np.inf, scale, matrices, scratch)
        if limit > 0.0:
            _project(lone, lanes, limit, matrices, bias, size, models, scratch)
        judged, judged_bias = matrices, bias
        if number(averaged):
            in_mean = averaged_before + t + 1.0
            for block in range(blocks):
                fill(shares, 1.0 / in_mean)
                _blend(lanes, shares, matrices[block], mean_matrices[block], scratch)
            for unit in range(units):
                mean_bias[unit] += (bias[unit] - mean_bias[unit]) / in_mean
            judged, judged_bias = mean_matrices, mean_bias

        fill(risks, 0.0)
        fill(mistakes, 0.0)
        total = 0.0
        judged_cases = held_out if len(held_out) else order[epoch]
        for first in range(0, len(judged_cases), len(table)):
            cases = judged_cases[first : first + len(table)]
            _score_cases(plan, cost, data, cases, shape, models * size, judged, table)
            for position in range(len(cases)):
                case = cases[position]
                weight = example_weights[case]
                total += weight
                for unit in range(units):
                    f[unit] = table[position, unit] + judged_bias[unit]
                _targets(case, targets, target_of, y)
                for model in range(models):
                    own = with_parameters(loss, loss_parameters, model)
                    risks[model] += weight * model_value(own, y, f, model * size, size)
                    mistakes[model] += model_mistake(own, y, f, model * size, size)
        for model in range(models):
            risks[model] /= total
        if number(penalised):
            for block in range(blocks):
                _penalties(lanes, penalty, judged[block], scratch)
                for lane in range(count):
                    unit = _unit(lone, lanes, block, lane)
                    if unit < models * size:
                        risks[unit // size] += lam[unit // size] * scratch[lane]

        for model in range(models):
            if status[model] == RUNNING:
                history[model, epoch] = risks[model]
                mistakes_history[model, epoch] = mistakes[model]
        judge(
            t,
            risks,
            mistakes,
            rules,
            status,
            mistakes_of,
            risk_of,
            stale_of,
            epoch_of,
            better,
        )
        for unit in range(models * size):
            if better[unit // size]:
                best_bias[unit] = judged_bias[unit]
        for block in range(blocks):
            copies = False
            for lane in range(count):
                unit = _unit(lone, lanes, block, lane)
                shares[lane] = 1.0 if unit < models * size and better[unit // size] else 0.0
                copies = copies or shares[lane] > 0.0
            if copies:
                _blend(lanes, shares, judged[block], best_matrices[block], scratch)


@njit(nogil=True, cache=True)
def train_serial(
    plan,
    parts,
    data,
    shape,
    models_of,
    examples,
    parameters,
    weights,
    rules,
    state,
    epochs,
):
    """Run some epochs of all tasks, one task after the other."""
    for task in range(len(models_of[0])):
        _train_task(
            plan, parts, data, shape, models_of, examples, parameters, weights, rules, state,
            epochs, task,
        )  # fmt: skip


@njit(nogil=True, cache=True, parallel=True)
def train_parallel(
    plan,
    parts,
    data,
    shape,
    models_of,
    examples,
    parameters,
    weights,
    rules,
    state,
    epochs,
):
    """Run some epochs of all tasks, tasks side by side in threads."""
    for task in prange(len(models_of[0])):
        _train_task(
            plan, parts, data, shape, models_of, examples, parameters, weights, rules, state,
            epochs, np.int64(task),
        )  # fmt: skip
