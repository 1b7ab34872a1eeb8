"""Recordings: windows are those that are cut, streams find what recordings hold, errors say why."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from typing import Any

import numpy as np

from warplearn import ElasticDetector, ElasticEarlyClassifier, ElasticLogisticRegression
from warplearn.detection import event_metrics

from .contract import Case, choice, close, outcome, refused
from .inputs import hostile

LENGTH = 9
LINEAR = ElasticLogisticRegression(elasticity=2, max_iter=3, random_state=0)


@cache
def fitted(kind: str) -> bytes:
    """A fitted model, pickled, so that each case changes its own."""
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, LENGTH)) + 2 * y[:, None] * np.hanning(LENGTH)
    if kind == "classifier":
        return pickle.dumps(LINEAR.fit(X, y))
    if kind == "early":
        return pickle.dumps(ElasticEarlyClassifier(LINEAR, cv=2, n_checkpoints=3).fit(X, y))
    signal, events = recording(rng)
    return pickle.dumps(ElasticDetector(LINEAR, threshold=0.0, stride=1).fit(signal, events))


def recording(rng: np.random.Generator) -> tuple[Any, Any]:
    """Noise with some bumps in it."""
    signal = rng.normal(0, 0.3, 300)
    starts = range(20, 280, 26)
    for start in starts:
        signal[start : start + LENGTH] += 3 * np.hanning(LENGTH)
    return signal, [(start, start + LENGTH, "bump") for start in starts]


def slides(rng: np.random.Generator) -> None:
    """`slide` gives what `decision_function` gives for windows that are cut one by one."""
    model = pickle.loads(fitted("classifier"))
    size = int(rng.integers(LENGTH, 60))
    signal = rng.normal(size=size) * 10.0 ** rng.integers(-8, 9) + choice(rng, (0.0, 1.0, -1e6))
    stride, window = int(rng.integers(1, 12)), int(rng.integers(2, LENGTH + 1))
    normalize = choice(rng, ("window", "none"))
    cut = np.array([signal[s : s + window] for s in range(0, size - window + 1, stride)])
    if normalize == "window":
        mean, deviation = cut.mean(axis=1, keepdims=True), cut.std(axis=1, keepdims=True)
        if not (deviation > 1e-9 * np.abs(mean)).all():
            return  # too near to a constant for a plain reference
        cut = (cut - mean) / deviation
    chunk = int(rng.integers(1, size + 1))
    given = choice(rng, (signal, iter([signal[i : i + chunk] for i in range(0, size, chunk)])))
    got = model.slide(given, stride, window=window, normalize=normalize)
    ref = model.decision_function(cut)
    # A mean of a million leaves ten digits of a deviation of one.
    np.testing.assert_allclose(got, ref, rtol=1e-5, atol=1e-5 * float(np.abs(ref).max()))


def streams(rng: np.random.Generator) -> None:
    """Packets of any size, with gaps, give the events of the whole recording."""
    detector = pickle.loads(fitted("detector"))
    detector.set_params(
        stride=int(rng.integers(1, 6)),
        max_gap=int(rng.integers(0, 4)),
        hysteresis=float(rng.uniform(0, 2)),
        refractory=choice(rng, (None, 0, 3, 40)),
    )
    signal, _ = recording(rng)
    gone = rng.random(len(signal)) < choice(rng, (0.0, 0.01, 0.2))
    signal[gone] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ref, stream, found, at = detector.detect(signal), detector.stream(), [], 0
        while at < len(signal):
            size = int(rng.integers(1, 30))
            found.append(stream.push(signal[at : at + size]))
            at += size
        table = np.concatenate([*found, stream.flush()])
    for column in ("start", "end", "class", "reported"):
        np.testing.assert_array_equal(table[column], ref[column])
    close(table["score"], ref["score"])


def malformed(rng: np.random.Generator) -> None:
    """An argument or a parameter is something else."""
    signal, events = recording(rng)
    detector = ElasticDetector(LINEAR, threshold=0.0, mining=0)
    calls: dict[str, Any] = {
        "y": lambda wrong: detector.fit(signal, wrong),
        "X": lambda wrong: detector.fit(wrong, events),
        "background": lambda wrong: detector.fit(np.zeros((4, 9)), [0, 1, 0, 1], background=wrong),
        "signal": lambda wrong: pickle.loads(fitted("classifier")).slide(wrong),
        "window": lambda wrong: pickle.loads(fitted("classifier")).slide(signal, window=wrong),
        "stride": lambda wrong: pickle.loads(fitted("classifier")).slide(signal, wrong),
        "normalize": lambda wrong: pickle.loads(fitted("classifier")).slide(
            signal, normalize=wrong
        ),
        "method": lambda wrong: pickle.loads(fitted("classifier")).slide(signal, method=wrong),
        "n_streams": lambda wrong: pickle.loads(fitted("detector")).stream(wrong),
        "n_samples": lambda wrong: pickle.loads(fitted("detector")).stream().skip(wrong),
        "recording": lambda wrong: pickle.loads(fitted("detector")).detect(wrong),
        "samples": lambda wrong: pickle.loads(fitted("detector")).stream().push(wrong),
        "detected": lambda wrong: event_metrics(wrong, events)[:3],  # no delay without events
    }
    for name in sorted(set(detector.get_params(deep=False)) - {"estimator", "random_state"}):
        calls[name] = lambda wrong, name=name: ElasticDetector(
            LINEAR, **{"threshold": 0.0, "mining": 0, name: wrong}
        ).fit(signal, events)
    name = choice(rng, calls)
    outcome(lambda: calls[name](hostile(rng)), name, "X", "y", "series", "channel", "window")


def early(rng: np.random.Generator) -> None:
    """A stream decides as `decide`, or says what is wrong with a sample."""
    model = pickle.loads(fitted("early"))
    x, stream = rng.normal(size=LENGTH), model.stream()
    said = [stream.push(value) for value in x]
    decisions = model.decide(x[None])
    time = int(decisions.times[0])
    assert said == [None] * (time - 1) + [decisions.labels[0]] * (LENGTH + 1 - time)
    result = outcome(lambda: model.stream().push(hostile(rng)), "sample")
    assert refused(result) or result in (None, *model.classes_)


CASES: dict[str, Case] = {
    "slides": slides,
    "streams": streams,
    "malformed": malformed,
    "early": early,
}
