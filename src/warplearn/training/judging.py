"""After each epoch: which models are better than before, and which have come to their end.

The rules are compiled (`_kernels/drivers/judging.py`), and the same for both methods.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warplearn._kernels.drivers.judging import DIVERGED, PERFECT, STALE, Rules
from warplearn.training.plan import Solution, Stopping

_REASONS = {
    PERFECT: "perfect training accuracy",
    STALE: "no improvement",
    DIVERGED: "diverged",
}
_NEVER = np.iinfo(np.int64).max


def rules_of(stopping: Stopping) -> Rules:
    """The rules as kernels need them."""
    patience = _NEVER if stopping.patience is None else stopping.patience
    return Rules(stopping.monitor == "loss", stopping.perfect, patience, float(stopping.tol))


def reason_of(status: int, interrupted: bool) -> str:
    """Why a model's training ended."""
    return _REASONS.get(status, "interrupted" if interrupted else "max_iter epochs")


def whole_mistakes(mistakes: float) -> int:
    """-1 if no epoch was finished."""
    return int(mistakes) if np.isfinite(mistakes) else -1


def best_restarts(solutions: Sequence[Solution], n_init: int, stopping: Stopping) -> list[Solution]:
    """Of each run of `n_init` restarts the best one."""

    def rank(solution: Solution) -> tuple[float, float]:
        mistakes = np.inf if solution.mistakes < 0 else solution.mistakes
        return (0.0 if stopping.monitor == "loss" else mistakes, solution.risk)

    return [min(solutions[i : i + n_init], key=rank) for i in range(0, len(solutions), n_init)]
