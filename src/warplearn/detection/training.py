"""What a detector learns from: windows at events, windows beside them, and its own mistakes.

A window at an event is centred on it.  Windows a little beside are examples of the event too, those
further away are background, and what lies between is left out.  A first model is trained on
background that is drawn at random; its worst false alarms are added, and it is trained again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from warplearn.detection.events import Labelled
from warplearn.detection.scores import Readout
from warplearn.series.collection import SeriesCollection
from warplearn.series.convert import FloatArray
from warplearn.series.windows import WindowSource

__all__ = ["Examples", "assemble", "train"]

BACKGROUND = 0  # the code of the background; classes of events count from 1
_NEAR, _FAR = 0.05, 0.25  # shares of a window: still the event, already background
_BACKGROUND_PER_EVENT = 4  # windows drawn at random
_MINED_PER_EVENT = 1  # false alarms added in each round
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

    def windows(self, which: NDArray[Any]) -> SeriesCollection:
        """Some of the windows, by their place in `starts`."""
        source = WindowSource(self.samples, self.starts[which], self.window, self.normalize)
        return SeriesCollection.of_windows(source)

    def decide(self, model: Any, which: NDArray[np.int64]) -> NDArray[Any]:
        """Decision values of some of the windows."""
        parts = [which[i : i + _SCORED] for i in range(0, len(which), _SCORED)]
        return np.concatenate([model.decision_function(self.windows(part)) for part in parts])


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
    examples: Examples, model: Any, readout: Readout, pool: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """The background windows that look most like events, at most one in half a window."""
    scores, _ = readout.scores(examples.decide(model, pool))
    chosen: list[int] = []
    taken = np.zeros(len(examples.samples) // max(1, examples.window // 2) + 1, bool)
    for i in np.argsort(-scores, kind="stable"):
        slot = examples.starts[pool[i]] // max(1, examples.window // 2)
        if not taken[slot]:
            taken[slot] = True
            chosen.append(int(pool[i]))
            if len(chosen) == count:
                break
    return np.array(chosen, np.int64)


def train(
    estimator: Any,
    examples: Examples,
    allowed: NDArray[np.bool_],
    rounds: int,
    rng: np.random.RandomState,
) -> Any:
    """A model of events and background.

    Parameters
    ----------
    estimator : classifier
        Is cloned.
    examples : Examples
    allowed : array (windows,)
        Which windows may be used.
    rounds : int
        How often false alarms are added.
    """
    positive, background = _drawn(examples, allowed, rng)
    if not len(positive) or not len(background):
        what = "events" if not len(positive) else "background"
        raise ValueError(
            f"the recording has no window of {examples.window} samples of {what} to learn from: it "
            "must be longer, or have fewer gaps, or window must be smaller"
        )
    pool = np.flatnonzero((examples.codes == BACKGROUND) & allowed)
    pool = pool[:: max(1, examples.window // 16)]
    for round_number in range(rounds + 1):
        chosen = np.concatenate([positive, background])
        X = SeriesCollection.of(
            np.ascontiguousarray(examples.windows(chosen).values.swapaxes(1, 2))
        )
        model = clone(estimator).fit(X, examples.codes[chosen])
        if round_number < rounds:
            readout = Readout.of(len(model.classes_), 0)
            count = _MINED_PER_EVENT * len(examples.centred)
            alarms = _false_alarms(examples, model, readout, pool, count)
            background = np.union1d(background, alarms)
    return model


def assemble(
    series: SeriesCollection, background: FloatArray, rng: np.random.RandomState
) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.int64]]:
    """A recording of series with background between them, and where they start and end.

    Before each series, and at the end, there is a random piece of the background, of one to two
    lengths of a series; it is as long as the background at most.
    """
    pieces: list[FloatArray] = []
    starts, at = [], 0
    longest = series.max_length
    for case in range(len(series) + 1):
        length = min(len(background), int(rng.randint(longest, 2 * longest + 1)))
        begin = int(rng.randint(len(background) - length + 1))
        pieces.append(background[begin : begin + length])
        at += length
        if case < len(series):
            starts.append(at)
            pieces.append(series.elements(case))
            at += len(pieces[-1])
    first = np.array(starts)
    return np.concatenate(pieces), first, first + series.lengths
