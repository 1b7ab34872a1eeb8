"""What a detector learns from: windows at events, windows beside them, and its own mistakes.

A window at an event is centred on it.  Windows a little beside are examples of the event too, those
further away are background, and what lies between is left out.  A first model is trained on
background that is drawn at random; its worst false alarms are added, and it is trained again.
False alarms that the gate rejects are none.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from warplearn.base import check_labels
from warplearn.detection.events import Labelled
from warplearn.detection.scores import Gate, Scorer, Steps
from warplearn.linear_model import ElasticLogisticRegression
from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import FloatArray
from warplearn.series.windows import WindowSource, read_recording

__all__ = ["Examples", "Recipe", "Trained", "assemble", "train"]

BACKGROUND = 0  # the code of the background; classes of events count from 1
_NEAR, _FAR = 0.05, 0.25  # shares of a window: still the event, already background
_BACKGROUND_PER_EVENT = 4  # windows drawn at random
_MINED_PER_EVENT = 1  # false alarms added in each round
_MISSED_BY_GATE = 0.05  # share of the training events that the gate may reject
_SCORED = 2**15  # windows at a time


class Examples(NamedTuple):
    """A recording in windows, and which of them are what.

    Attributes
    ----------
    samples : array (time, channels)
        0 where samples are missing.
    window : int
    normalize : str
    starts : array (windows,)
        Of windows without a gap, at all samples.
    codes : array (windows,)
        0 for background, the number of a class for events, -1 for windows that are left out.
    centred : array (events,)
        Where windows centred on the events start.
    labels : array (events,)
        Their codes, from 1.
    """

    samples: FloatArray
    window: int
    normalize: str
    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    centred: NDArray[np.int64]
    labels: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        samples: FloatArray,
        events: Labelled,
        labels: NDArray[np.int64],
        window: int,
        normalize: str,
    ) -> Examples:
        """The windows of a recording with labelled events."""
        gone: Any = np.isnan(samples).any(axis=1)
        starts = np.arange(max(0, len(samples) - window + 1))
        if gone.any():
            before = np.concatenate([[0], np.cumsum(gone)])
            starts = starts[before[starts + window] == before[starts]]
            samples = np.where(gone[:, None], samples.dtype.type(0), samples)
        centred = (events.start + events.end - window) // 2
        codes = np.zeros(len(starts), np.int64)
        distance = np.full(len(starts), np.iinfo(np.int64).max)
        for centre, code in zip(centred, labels, strict=True):
            near = np.searchsorted(starts, [centre - window, centre + window + 1])
            part = slice(*near)
            shift = np.abs(starts[part] - centre)
            closer = shift < distance[part]
            distance[part] = np.where(closer, shift, distance[part])
            codes[part] = np.where(closer, code, codes[part])
        codes[distance >= max(1, _FAR * window)] = BACKGROUND
        codes[(distance > _NEAR * window) & (distance < max(1, _FAR * window))] = -1
        return cls(samples, window, normalize, starts, codes, centred, labels)

    def windows(self, which: NDArray[np.int64]) -> WindowSource:
        """Some of the windows, by their place in `starts`."""
        return WindowSource(self.samples, self.starts[which], self.window, self.normalize)

    def runs(self, steps: Steps) -> NDArray[np.int64]:
        """The windows of each stride that one is chosen from, (strides, candidates)."""
        first = self.starts[self.starts % steps.stride == 0]
        wanted = first[:, None] + steps.offsets
        places = np.searchsorted(self.starts, wanted)
        there = self.starts[np.minimum(places, len(self.starts) - 1)] == wanted
        return places[there.all(axis=1)]

    def cut(self, which: NDArray[np.int64]) -> SeriesCollection:
        """Some of the windows as series of their own."""
        values = self.windows(which).take(slice(None))
        return SeriesCollection.of(np.ascontiguousarray(values.swapaxes(1, 2)))


class Recipe(NamedTuple):
    """How a model of events and background is trained.

    Attributes
    ----------
    estimator : classifier
        Is cloned.
    rounds : int
        How often false alarms are added.
    gate : float or None
        The share of the strides of which a window passes the gate.
    steps : Steps
    """

    estimator: Any
    rounds: int
    gate: float | None
    steps: Steps


class Trained(NamedTuple):
    """A classifier of windows and its gate, if it has one."""

    model: Any
    gate: Gate | None

    def best(
        self, examples: Examples, runs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """The best window of each run (runs, candidates), its score, and the code of its class."""
        scorer = Scorer.of(self.model, BACKGROUND, self.gate, examples.window)
        candidates = runs.shape[1]
        step = max(1, _SCORED // candidates)
        scored = [
            scorer.best(examples.windows(runs[i : i + step].ravel()), candidates)
            for i in range(0, max(1, len(runs)), step)
        ]
        chosen, scores, best = (np.concatenate(column) for column in zip(*scored, strict=True))
        codes = self.model.classes_[scorer.readout.events][best]
        return runs[np.arange(len(runs)), chosen], scores, codes


def _drawn(
    examples: Examples, allowed: NDArray[np.bool_], rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Windows at all events, and background drawn at random; half of it is close to events."""
    codes, starts, window = examples.codes, examples.starts, examples.window
    shifts = (np.array([-_NEAR, 0.0, _NEAR]) * window).astype(np.int64)
    wanted = examples.centred[:, None] + shifts
    positive = np.flatnonzero(np.isin(starts, wanted) & (codes > 0) & allowed)
    background = np.flatnonzero((codes == BACKGROUND) & allowed)
    count = _BACKGROUND_PER_EVENT * max(1, len(examples.centred))
    if len(background) > count:
        event = np.searchsorted(examples.centred, starts[background])
        padded = np.concatenate([[-(2**40)], examples.centred, [2**40]])
        distance = np.minimum(
            starts[background] - padded[event], padded[event + 1] - starts[background]
        )
        close = background[distance < window]
        some = [
            rng.choice(pool, min(len(pool), count // 2), replace=False)
            for pool in (close, background)
            if len(pool)
        ]
        background = np.unique(np.concatenate(some))
    return positive, background


def _false_alarms(
    examples: Examples, trained: Trained, pool: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """The background windows that look most like events, at most one in half a window."""
    _, scores, _ = trained.best(examples, pool[:, None])
    chosen: list[int] = []
    taken = np.zeros(len(examples.samples) // max(1, examples.window // 2) + 1, bool)
    for i in np.argsort(-scores, kind="stable")[: np.isfinite(scores).sum()]:
        slot = examples.starts[pool[i]] // max(1, examples.window // 2)
        if not taken[slot]:
            taken[slot] = True
            chosen.append(int(pool[i]))
            if len(chosen) == count:
                break
    return np.array(chosen, np.int64)


def _train_gate(
    examples: Examples, chosen: NDArray[np.int64], runs: NDArray[np.int64], share: float
) -> Gate:
    """A gate that passes a share of the runs, or more if it would reject too many events.

    Parameters
    ----------
    chosen : array of int
        Windows that it learns from.
    runs : array (runs, candidates)
        Windows of which the gate passes the best of a run.
    """
    is_event = examples.codes > BACKGROUND
    model = _gate_estimator().fit(examples.cut(chosen), is_event[chosen])

    def values(which: NDArray[np.int64]) -> NDArray[Any]:
        return model.decision_function(SeriesCollection.of_windows(examples.windows(which)))

    positive = chosen[is_event[chosen]]
    between = (examples.centred[:-1] + examples.centred[1:]) / 2
    event = np.searchsorted(between, examples.starts[positive])  # the nearest
    of_events = np.full(len(examples.centred), -np.inf)  # the best value of each
    np.maximum.at(of_events, event, values(positive))
    least = float(np.quantile(of_events[np.isfinite(of_events)], _MISSED_BY_GATE))
    if len(runs):
        of_runs = values(runs.ravel()).reshape(runs.shape).max(axis=1)
        least = min(least, float(np.quantile(of_runs, 1 - share)))
    return Gate(model, least)


def _gate_estimator() -> ElasticLogisticRegression:
    """One matrix, so that it is fast."""
    return ElasticLogisticRegression(polarity="+", max_iter=100, random_state=0)


def train(
    recipe: Recipe, examples: Examples, allowed: NDArray[np.bool_], rng: np.random.RandomState
) -> Trained:
    """A model of events and background, from the windows that are allowed, (windows,)."""
    positive, background = _drawn(examples, allowed, rng)
    if not len(positive) or not len(background):
        what = "events" if not len(positive) else "background"
        raise ValueError(
            f"the recording has no window of {examples.window} samples of {what} to learn from: it "
            "must be longer, or have fewer gaps, or window must be smaller"
        )
    trained_gate = None
    if recipe.gate is not None:
        runs = examples.runs(recipe.steps)
        chosen = np.concatenate([positive, background])
        trained_gate = _train_gate(examples, chosen, runs[allowed[runs].all(axis=1)], recipe.gate)
    pool = np.flatnonzero((examples.codes == BACKGROUND) & allowed)
    pool = pool[:: max(1, examples.window // 16)]
    for round_number in range(recipe.rounds + 1):
        chosen = np.concatenate([positive, background])
        model = clone(recipe.estimator).fit(examples.cut(chosen), examples.codes[chosen])
        trained = Trained(model, trained_gate)
        if round_number < recipe.rounds:
            count = _MINED_PER_EVENT * len(examples.centred)
            background = np.union1d(background, _false_alarms(examples, trained, pool, count))
    return trained


def assemble(
    X: Any, y: Any, background: Any, rng: np.random.RandomState
) -> tuple[FloatArray, Labelled]:
    """A recording of series with background between them, and its events.

    Before each series, and at the end, there is a random piece of the background, of one to two
    lengths of a series; it is as long as the background at most.
    """
    series = SeriesCollection.of(X)
    labels = check_labels(series, y)
    between = read_recording(background, "background").astype(series.dtype)
    if between.shape[1] != series.n_channels:
        raise ValueError(
            f"background must have {series.n_channels} channel(s), as the series X, got "
            f"{between.shape[1]}"
        )
    order = rng.permutation(len(series))
    pieces: list[FloatArray] = []
    starts, at, longest = [], 0, series.max_length
    for case in [*order, None]:
        length = min(len(between), int(rng.randint(longest, 2 * longest + 1)))
        begin = int(rng.randint(len(between) - length + 1))
        pieces.append(between[begin : begin + length])
        at += length
        if case is not None:
            starts.append(at)
            pieces.append(series.elements(case))
            at += len(pieces[-1])
    first = np.array(starts)
    return np.concatenate(pieces), Labelled(first, first + series.lengths[order], labels[order])
