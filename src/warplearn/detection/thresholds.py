"""The threshold of a detector, by cross-validation.

The recording is divided into pieces with one event each, and the pieces into folds.  Every window
is scored by a model that was trained without the piece it lies in.  So there are scores of the
whole recording, and every threshold can be tried on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from warplearn.detection.events import Labelled, Rule, Scored, Tracker, event_table
from warplearn.detection.metrics import event_metrics
from warplearn.detection.training import Examples, Recipe, train

__all__ = ["choose_threshold", "out_of_fold"]

_THRESHOLDS = 100  # that are tried


def out_of_fold(
    recipe: Recipe, examples: Examples, events: Labelled, cv: int, rng: np.random.RandomState
) -> Scored:
    """Scores of windows by models that have not seen them."""
    n_events, labels = len(events.start), examples.labels
    folds = min(cv, n_events)
    if folds < 2:
        raise ValueError("threshold='cv' needs at least two events, got one: give a number")
    stratified = np.bincount(labels)[1:].min() >= folds
    splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=rng)
    middles = (events.end[:-1] + events.start[1:]) // 2
    piece = np.searchsorted(middles, examples.starts + examples.window // 2, side="right")
    runs = examples.runs(recipe.steps)
    chosen, scores = runs[:, 0].copy(), np.full(len(runs), -np.inf)
    codes = np.ones(len(runs), np.int64)
    for _, held_out in splitter.split(np.zeros(n_events), labels):
        own = np.isin(piece, held_out)
        trained = train(recipe, examples, ~own, rng)
        which = np.flatnonzero(own[runs[:, 0]])
        chosen[which], scores[which], codes[which] = trained.best(examples, runs[which])
    last = examples.starts[chosen] + examples.window - 1
    return Scored(last, last, scores, codes - 1)


def choose_threshold(
    scored: Scored,
    truth: Labelled,
    durations: NDArray[np.int64],
    rule_of: Callable[[float], Rule],
    window: int,
) -> tuple[float, float]:
    """The threshold with the best F1, in the middle of equally good ones, and its F1.

    It is 0 if no window passes the gate.
    """
    n_windows = max(2, int(4 * window * len(truth.start)))
    finite = scored.scores[np.isfinite(scored.scores)]  # of windows that pass the gate
    if not len(finite):
        return 0.0, 0.0
    top = np.sort(finite)[::-1][:n_windows]
    tried = np.unique(np.quantile(top, np.linspace(0, 1, _THRESHOLDS)))
    classes = np.arange(len(durations))
    f1 = []
    for threshold in tried:
        rule, tracker = rule_of(float(threshold)), Tracker()
        peaks = list(tracker.follow(rule, scored))
        if tracker.opened is not None:
            peaks.append(tracker.close(rule, int(scored.known[-1])))
        table = event_table(peaks, window, durations, classes)
        f1.append(event_metrics(table, _as_table(truth)).f1)
    best = np.flatnonzero(np.array(f1) == max(f1))
    runs = np.split(best, np.flatnonzero(np.diff(best) > 1) + 1)
    longest = max(runs, key=len)
    return float(tried[longest[[0, -1]]].mean()), float(max(f1))


def _as_table(truth: Labelled) -> dict[str, NDArray[Any]]:
    return {"start": truth.start, "end": truth.end, "class": truth.label}
