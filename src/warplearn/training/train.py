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
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from warplearn.training.batches import OPTIMIZERS, Adam, Batches, Momentum
from warplearn.training.incremental import Bank
from warplearn.training.losses import is_loss
from warplearn.training.plan import Model, Problem, Solution, Split, Stopping
from warplearn.training.schedules import Constant

__all__ = ["Adam", "Model", "Momentum", "Problem", "Solution", "Split", "Stopping", "solve"]

_CHUNK_SECONDS = 0.25
_BEYOND_MEASURE = 1e12
_CONSTANT, _UNTIL_PERFECT = Constant(), Stopping()


def solve(
    problem: Problem,
    models: Sequence[Model],
    splits: Sequence[Split],
    *,
    batch_size: int | None = None,
    optimizer: Any = None,
    schedule: Any = _CONSTANT,
    stopping: Stopping = _UNTIL_PERFECT,
    head: Any = None,
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
    head : head, optional
        What stands behind the matrices of a model (see `batches.Direct`); needs a `batch_size`.
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
    if not is_loss(problem.loss):
        raise TypeError(
            "loss must be an instance of a class made known with "
            f"warplearn.training.losses.define, got {problem.loss!r}"
        )
    options = {
        "schedule": schedule, "stopping": stopping, "average": average,
        "first_epoch": first_epoch, "n_jobs": n_jobs,
    }  # fmt: skip
    steps: Bank | Batches
    if batch_size is None:
        if optimizer not in (None, "sgd"):
            raise ValueError(f"optimizer={optimizer!r} needs a batch_size, got batch_size=None")
        if head is not None:
            raise ValueError(f"head={head!r} needs a batch_size, got batch_size=None")
        steps = Bank(problem, models, splits, **options)
    else:
        chosen = OPTIMIZERS.get(optimizer or "sgd", optimizer) if _is_name(optimizer) else optimizer
        if not hasattr(chosen, "step"):
            raise ValueError(
                f"optimizer must be one of {sorted(OPTIMIZERS)} or an optimizer, got {optimizer!r}"
            )
        steps = Batches(
            problem, models, splits,
            batch_size=batch_size, optimizer=chosen, head=head, **options,
        )  # fmt: skip
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
    solutions = [
        found._replace(reason="diverged") if _exploded(found) else found
        for found in steps.solutions(interrupted)
    ]
    _warn(solutions)
    return solutions


def _exploded(solution: Solution) -> bool:
    """Whether the risk grew beyond measure, though falling rates kept it from overflowing."""
    return len(solution.history) > 0 and not (
        solution.history[-1] <= _BEYOND_MEASURE * max(1.0, solution.risk)
    )


def _is_name(optimizer: Any) -> bool:
    return optimizer is None or isinstance(optimizer, str)


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
            f"{diverged} of {len(solutions)} models diverged: the risk grew beyond measure. "
            "The best weights before that are kept; try a smaller eta.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if any(solution.reason == "interrupted" for solution in solutions):
        warnings.warn(
            "training was interrupted; the best weights so far are kept",
            ConvergenceWarning,
            stacklevel=3,
        )


def best_restarts(solutions: Sequence[Solution], n_init: int, stopping: Stopping) -> list[Solution]:
    """Of each run of `n_init` restarts the best one."""
    by_risk = stopping.monitor == "risk"

    def rank(solution: Solution) -> tuple[float, float]:
        mistakes = np.inf if solution.mistakes < 0 else solution.mistakes
        return (0.0 if by_risk else mistakes, solution.risk)

    return [min(solutions[i : i + n_init], key=rank) for i in range(0, len(solutions), n_init)]
