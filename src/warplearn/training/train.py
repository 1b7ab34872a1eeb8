"""The generalized gradient method (sections 3.3 and 3.6 of the paper): plans in, solutions out.

The empirical risk of a model is the weighted mean of its loss over the training examples plus
`lam` times a penalty on its weights.  A step follows the negative generalized gradient of the loss
of one example (incremental, the paper's method) or of the mean over a batch, with a learning rate
from a schedule.  After each epoch the parameters are projected onto a ball, the risk is computed,
and each model's best parameters are kept.

Any number of plans is trained at once.  Plans that share the data and differ only in numbers
(initial parameters, rates, parameters of the loss, strength of the penalty, targets) are put into
lanes side by side.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from warplearn._kernels.simd.threads import blas_threads
from warplearn.series.numbers import all_usable, check_numbers, usable
from warplearn.training import losses
from warplearn.training.batches import Batches
from warplearn.training.incremental import Bank
from warplearn.training.judging import best_restarts
from warplearn.training.optimizers import SGD
from warplearn.training.plan import Group, Model, Plan, Solution, group_plans

_CHUNK_SECONDS = 0.25
_DIVERGED_BEYOND = 1e12


def train(
    plans: Sequence[Plan], *, n_jobs: int | None = None, verbose: int = 0
) -> list[list[Solution]]:
    """Train the models of all plans.

    Parameters
    ----------
    plans : sequence of Plan
    n_jobs : int, optional
        Threads; None is 1, as in scikit-learn, -1 all cores.
    verbose : int
        1 shows progress on standard error.

    Returns
    -------
    list of lists of Solution
        For each plan a solution for each of its models, the best of the restarts.

    Notes
    -----
    Interrupted from the keyboard, a single plan warns and returns the best parameters so far;
    with several plans the interrupt is passed on.
    """
    for plan in plans:
        _check(plan)
    with blas_threads(n_jobs):
        results = _train(plans, n_jobs, verbose)
    _warn([solution for own in results for solution in own])
    return results


def _train(plans: Sequence[Plan], n_jobs: int | None, verbose: int) -> list[list[Solution]]:
    groups = group_plans(plans)
    for group, _ in groups:
        _check_start(group.models)
    trained: dict[int, list[Solution]] = {}
    for number, (group, members) in enumerate(groups):
        if verbose and len(groups) > 1:
            print(f"group {number + 1} of {len(groups)}: {len(members)} fits", file=sys.stderr)
        solutions, interrupted = _run(group, n_jobs, verbose)
        if interrupted and len(plans) > 1:
            raise KeyboardInterrupt
        for index in members:
            plan = plans[index]
            own, solutions = solutions[: len(plan.models)], solutions[len(plan.models) :]
            trained[index] = best_restarts(own, plan.n_init, plan.procedure.stopping)
    return [trained[index] for index in range(len(plans))]


def _check(plan: Plan) -> None:
    losses.resolve(plan.objective.loss)
    if plan.procedure.batch_size is None:
        if not plan.X.in_memory:
            raise ValueError(
                "batch_size must be a positive integer to train on series that are read in chunks, "
                "got None: steps of one example need all series in memory"
            )
        if not isinstance(plan.procedure.solver, SGD):
            raise ValueError(
                f"solver={plan.procedure.solver!r} needs a batch_size, got batch_size=None"
            )
        if plan.objective.head is not None:
            raise ValueError(
                f"head={plan.objective.head!r} needs a batch_size, got batch_size=None"
            )


def _check_start(models: Sequence[Model]) -> None:
    """Initial weights must be such that one can compute with them."""
    for parameters in zip(*(model.parameters for model in models), strict=True):
        if not all_usable(parameters):
            for each in parameters:
                check_numbers(each, "the initial weights (see init_scale)")


def _run(group: Group, n_jobs: int | None, verbose: int) -> tuple[list[Solution], bool]:
    """Train a group, some epochs at a time so that progress shows and interrupts are heeded."""
    steps: Bank | Batches
    if group.procedure.batch_size is None:
        steps = Bank(group, n_jobs=n_jobs)
    else:
        steps = Batches(group, n_jobs=n_jobs)
    most = group.procedure.stopping.max_iter
    interrupted, epochs = False, 1
    try:
        while steps.running:
            start = time.perf_counter()
            steps.run(min(epochs, most - steps.epoch))
            seconds = max(time.perf_counter() - start, 1e-6)
            epochs = int(np.clip(epochs * _CHUNK_SECONDS / seconds, 1, 2 * epochs + 1))
            if verbose:
                _show(steps, most)
    except KeyboardInterrupt:
        interrupted = True
    if verbose:
        print(file=sys.stderr)
    return _without_overflow(steps.solutions(interrupted), group.models), interrupted


def _without_overflow(solutions: Sequence[Solution], models: Sequence[Model]) -> list[Solution]:
    """Mark solutions whose risk exploded; weights that none can compute with are not kept."""
    parameters = zip(*(solution.parameters for solution in solutions), strict=True)
    if not all(all_usable(each) for each in parameters):
        solutions = [_kept(*pair) for pair in zip(solutions, models, strict=True)]
    return [
        solution._replace(reason="diverged") if _exploded(solution) else solution
        for solution in solutions
    ]


def _kept(solution: Solution, model: Model) -> Solution:
    """The solution, or the initial parameters in the place of ones that are not usable."""
    if not all(usable(each) for each in solution.parameters):
        W, b, *head = model.parameters
        return solution._replace(
            W=W, b=b, head=tuple(head), reason="diverged", risk=np.inf, mistakes=-1, state=None
        )
    return solution


def _exploded(solution: Solution) -> bool:
    """Whether the risk grew beyond measure, though falling rates kept it from overflowing."""
    return len(solution.history) > 0 and not (
        solution.history[-1] <= _DIVERGED_BEYOND * max(1.0, solution.risk)
    )


def _show(steps: Bank | Batches, most: int) -> None:
    done, count = steps.done
    print(
        f"\repoch {steps.epoch} of at most {most}, {done} of {count} models done, "
        f"lowest risk {steps.lowest_risk:.4g}   ",
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
            "The best weights before that are kept; try a smaller learning_rate_init.",
            ConvergenceWarning,
            stacklevel=3,
        )
    if any(solution.reason == "interrupted" for solution in solutions):
        warnings.warn(
            "training was interrupted; the best weights so far are kept",
            ConvergenceWarning,
            stacklevel=3,
        )
