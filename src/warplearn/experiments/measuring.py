"""What a fitted model takes: bytes of its file, seconds for a decision."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from warplearn.persistence import save
from warplearn.series.collection import SeriesCollection

_ENOUGH = 0.1  # seconds of measuring
_REPEATS = 5
_FEW = 16  # series


def file_size(model: Any) -> int | None:
    """Bytes of the file that `warplearn.save` writes; None for a model that it cannot write."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.warp"
        try:
            save(model, path)
        except (TypeError, ValueError):
            return None
        return path.stat().st_size


def decision_seconds(model: Any, X: SeriesCollection) -> float:
    """Seconds for each of these series in one call of `predict`, the best of some repetitions.

    Of many series, as many are taken as make up a tenth of a second.  What has to be compiled must
    be compiled before.
    """
    few = X[:_FEW]
    X = X[: max(_FEW, int(_ENOUGH / _seconds(model, few) * len(few)))]
    spent: list[float] = []
    while len(spent) < _REPEATS and sum(spent) < _ENOUGH:
        spent.append(_seconds(model, X))
    return min(spent) / len(X)


def _seconds(model: Any, X: SeriesCollection) -> float:
    start = time.perf_counter()
    model.predict(X)
    return time.perf_counter() - start
