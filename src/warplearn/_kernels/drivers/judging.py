"""Judging an epoch: risks and mistakes, which models are at their best, and which end.

Used by the incremental kernel and by the batch methods.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from warplearn._kernels.drivers.components import (
    model_mistake,
    model_slopes,
    model_value,
    with_parameters,
)
from warplearn._kernels.simd.arrays import fill
from warplearn._kernels.simd.compiling import entry, inlined, inner

# Why a model's training ended.
RUNNING, PERFECT, STALE, DIVERGED = 0, 1, 2, 3


class Rules(NamedTuple):
    """When training ends, and what is best.

    Attributes
    ----------
    by_risk : bool
        The best parameters have the lowest risk, else the fewest mistakes.
    stop_perfect : bool
        Whether a model that makes no mistake has come to its end.
    patience : int
        Epochs without progress after which a model has come to its end.
    tol : float
        By how much the risk must fall to count as progress.
    """

    by_risk: bool
    stop_perfect: bool
    patience: int
    tol: float


class Progress(NamedTuple):
    """Where each model stands, an array each.

    Why it ended, the mistakes and the risk of its best parameters, epochs without progress, and
    epochs in all.
    """

    status: Any
    mistakes: Any
    risk: Any
    stale: Any
    epochs: Any


@inner
def judge(t, risks, mistakes, rules, progress, better):
    """After epoch t: which models are at their best (`better`), and which are at their end."""
    status, best_mistakes, best_risk = progress.status, progress.mistakes, progress.risk
    for model in range(len(risks)):
        better[model] = False
        if status[model] != RUNNING:
            continue
        risk, wrong = risks[model], mistakes[model]
        progress.epochs[model] = t + 1
        if not np.isfinite(risk):
            status[model] = DIVERGED
            continue
        fewer = wrong < best_mistakes[model]
        lower = risk < best_risk[model]
        progressed = risk < best_risk[model] - rules.tol if rules.by_risk else fewer
        stale = 0 if progressed else progress.stale[model] + 1
        progress.stale[model] = stale
        as_few = wrong == best_mistakes[model]
        if lower if rules.by_risk else fewer or (as_few and lower):
            better[model] = True
            best_mistakes[model], best_risk[model] = wrong, risk
        if rules.stop_perfect and wrong == 0.0:
            status[model] = PERFECT
        elif stale >= rules.patience:
            status[model] = STALE


@inlined
def add_losses(loss, loss_parameters, size, y, f, weight, risks, mistakes):
    """Add the losses and mistakes of each model on one example."""
    for model in range(len(risks)):
        own = with_parameters(loss, loss_parameters, model)
        risks[model] += weight * model_value(own, y, f, model * size, size)
        mistakes[model] += model_mistake(own, y, f, model * size, size)


@entry
def risks_of(loss, loss_parameters, size, y, f, weights, risks, mistakes):
    """Weighted mean loss and number of mistakes of each model."""
    fill(risks, 0.0)
    fill(mistakes, 0.0)
    total = 0.0
    for case in range(len(f)):
        total += weights[case]
        add_losses(loss, loss_parameters, size, y[case], f[case], weights[case], risks, mistakes)
    for model in range(len(risks)):
        risks[model] /= total


@entry
def slopes_of(loss, loss_parameters, size, y, f, slopes):
    """Slopes of the loss for a table of outputs (cases, units); `y` are the targets."""
    for case in range(len(f)):
        for model in range(len(loss_parameters)):
            own = with_parameters(loss, loss_parameters, model)
            model_slopes(own, y[case], f[case], slopes[case], model * size, size)
