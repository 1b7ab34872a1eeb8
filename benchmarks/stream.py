"""Long recordings: windows a second, samples a second, latency, and detection against DTW.

One thread.  `--detection` compares detectors on recordings made of held-out test series of real
sets, from the folder that WARPLEARN_DATA names, with subsequence DTW of tslearn and dtaidistance
over all training series.  Thresholds of all of them are chosen on training series.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import at_least, best_times, describe_machine
from warplearn import (
    ElasticDetector,
    ElasticFeatureClassifier,
    ElasticLogisticRegression,
    NearestPrototypeClassifier,
    datasets,
    event_metrics,
)
from warplearn._kernels.simd.target import TARGET
from warplearn.datasets import make_recording
from warplearn.detection.events import Labelled, Rule, Scored, Tracker, event_table
from warplearn.detection.thresholds import choose_threshold

# Defaults of the detector were chosen while looking at these.
SETS = (
    "GunPoint", "ItalyPowerDemand", "TwoLeadECG", "CBF", "MoteStrain", "SonyAIBORobotSurface1",
    "ECG200", "Plane", "Trace", "ECGFiveDays", "SyntheticControl", "Wafer",
)  # fmt: skip
LENGTH, COLUMNS = 150, 15
_TEMPLATES = 100  # training series that subsequence DTW looks for, at most
_DETECTORS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {
        "estimator": ElasticLogisticRegression(random_state=0, max_iter=100),
        "gate": None,
    },
}


def _gunpoint() -> tuple[Any, Any]:
    train = datasets.load("GunPoint", "train")
    return train.X.values[..., 0].astype(np.float32), train.y


def _walk(size: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=size).cumsum().astype(np.float32)


def windows() -> None:
    print(f"\nslide: windows of {LENGTH} samples, stride 1, normalized, float32")
    X, y = _gunpoint()
    signal = _walk(200_000)
    linear = ElasticLogisticRegression(elasticity=COLUMNS, polarity="+", random_state=0).fit(X, y)
    one = _rate(lambda: linear.slide(signal), len(signal))
    print(f"  elastic linear, m = {COLUMNS}, one matrix       {one:14,.0f} windows/s")
    linear = ElasticLogisticRegression(elasticity=COLUMNS, random_state=0).fit(X, y)
    two = _rate(lambda: linear.slide(signal), len(signal))
    print(f"  elastic linear, m = {COLUMNS}, a matrix a class  {two:13,.0f} windows/s")
    few = signal[:20_000]
    for name, model in {
        "nearest prototype, two of length 150": NearestPrototypeClassifier("mean"),
        "the same in a band of 10 %": NearestPrototypeClassifier("mean", band=0.1),
        "features, 200 filters": ElasticFeatureClassifier(200, random_state=0),
    }.items():
        model.fit(X, y)
        rate = _rate(lambda model=model: model.slide(few), len(few))
        print(f"  {name:<40s} {rate:12,.0f} windows/s")

    def loop() -> None:
        for start in range(500):
            window = signal[start : start + LENGTH]
            linear.decision_function(((window - window.mean()) / window.std())[None])

    looped = _rate(loop, 500)
    print(f"  a loop over decision_function, two matrices {looped:9,.0f} windows/s")
    at_least("  slide, million windows a second", one / 1e6, 1.0)
    at_least("  slide, two matrices, million windows a second", two / 1e6, 1.0)
    at_least("  slide, two matrices: times as fast as the loop", two / looped, 100)


def _rate(call: Callable[[], Any], count: int) -> float:
    return count / best_times({"": call}, repeats=3)[""]


def pushes() -> None:
    print("\npush, a sample of every stream at a time")
    X, y = _gunpoint()
    train, test = datasets.load("GunPoint", "train"), datasets.load("GunPoint", "test")
    linear = ElasticLogisticRegression(elasticity=COLUMNS, random_state=0).fit(X, y)
    recording = make_recording(train.X, train.y, random_state=0)
    signal = make_recording(test.X, test.y, random_state=1).signal.astype(np.float32)
    detectors = {
        f"ElasticDetector, {name}": ElasticDetector(**settings, random_state=0).fit(
            recording.signal.astype(np.float32), recording.events
        )
        for name, settings in _DETECTORS.items()
    }
    print(f"  {'':<30s} {'streams':>8s} {'samples/s':>12s}   µs: median    99 %  99.9 %")
    for streams in (1, 16, 256):
        pushed = np.stack([signal[i * 37 : i * 37 + 2000] for i in range(streams)]).T
        _pushed("ElasticStream (prefixes)", linear.stream(streams), pushed, LENGTH)
        for name, detector in detectors.items():
            _pushed(name, detector.stream(streams), pushed, None)


def _pushed(name: str, stream: Any, rows: np.ndarray, length: int | None) -> None:
    """Push rows of samples, and print how long it took; a prefix stream begins anew."""
    rows = rows if rows.shape[1] > 1 else rows[:, 0]
    times = []
    for i, row in enumerate(rows):
        if length is not None and i % length == 0:
            stream.reset()
        begin = time.perf_counter()
        stream.push(row)
        times.append(time.perf_counter() - begin)
    kept = np.array(times[200:])  # without the first, which fill windows
    median, rare, rarest = 1e6 * np.percentile(kept, [50, 99, 99.9])
    count = 1 if rows.ndim == 1 else rows.shape[1]
    print(
        f"  {name:<30s} {count:8d} {count / kept.mean():12,.0f}   {median:10.0f} {rare:7.0f} "
        f"{rarest:7.0f}",
        flush=True,
    )


# Subsequence DTW


class _Templates(NamedTuple):
    """Training series, all of one length, and the codes of their classes."""

    series: np.ndarray
    codes: np.ndarray

    @property
    def length(self) -> int:
        return self.series.shape[1]

    def take(self, which: Any) -> _Templates:
        return _Templates(self.series[which], self.codes[which])


def _tslearn(template: np.ndarray, signal: np.ndarray) -> np.ndarray:
    from tslearn.metrics import subsequence_cost_matrix

    return np.sqrt(subsequence_cost_matrix(template[:, None], signal[:, None])[-1])


def _dtaidistance(template: np.ndarray, signal: np.ndarray) -> np.ndarray:
    from dtaidistance.subsequence.dtw import subsequence_alignment

    return subsequence_alignment(template, signal, penalty=0.0, use_c=True).matching_function()


def _matched(templates: _Templates, signal: np.ndarray, distances: Any) -> tuple[Scored, Any]:
    """For each sample, the template nearest to a subsequence that ends there."""
    best, which = np.full(len(signal), np.inf), np.zeros(len(signal), np.int64)
    for i, template in enumerate(templates.series):
        found = distances(template, signal)
        nearer = found < best
        best[nearer], which[nearer] = found[nearer], i
    times = np.arange(len(signal))
    return Scored(times, times, -best, templates.codes[which]), which


def _rule(length: int) -> Callable[[float], Rule]:
    """The rule of a detector with the same window."""
    return lambda threshold: Rule(threshold, threshold, length // 2, length)


def _threshold(templates: _Templates, n_classes: int) -> float:
    """The best one where each half of the templates looks for the other half in a recording."""
    parts, truths, at = [], [], 0
    halves = [np.arange(half, len(templates.series), 2) for half in (0, 1)]
    for looked_for, held_out in (halves, halves[::-1]):
        other = templates.take(held_out)
        signal, events = make_recording(other.series, other.codes, random_state=2)
        scored, _ = _matched(templates.take(looked_for), signal, _tslearn)
        parts.append(scored._replace(last=scored.last + at, known=scored.known + at))
        truths.append((events["start"] + at, events["end"] + at, events["class"]))
        at += len(signal)
    pooled = Scored(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    truth = Labelled(*(np.concatenate(column) for column in zip(*truths, strict=True)))
    durations = np.full(n_classes, templates.length)
    return choose_threshold(pooled, truth, durations, _rule(templates.length), templates.length)[0]


def _subsequences(templates: _Templates, signal: np.ndarray, threshold: float, n_classes: int):
    """Events by subsequence DTW of tslearn, from where their paths start to where they end."""
    from tslearn.metrics import subsequence_cost_matrix, subsequence_path

    length = templates.length
    scored, which = _matched(templates, signal, _tslearn)
    tracker, rule = Tracker(), _rule(length)(threshold)
    peaks = list(tracker.follow(rule, scored))
    if tracker.opened is not None:
        peaks.append(tracker.close(rule, len(signal) - 1))
    table = event_table(peaks, length, np.full(n_classes, length), np.arange(n_classes))
    for row, peak in zip(table, peaks, strict=True):
        first = max(0, peak.last + 1 - 3 * length)
        near = signal[first : peak.last + 1, None]
        costs = subsequence_cost_matrix(templates.series[which[peak.last]][:, None], near)
        row["start"] = first + subsequence_path(costs, len(near) - 1)[0][1]
        row["end"] = peak.last + 1
    return table


class _Row(NamedTuple):
    """A method on a set: F1, delay in lengths of an event, samples a second."""

    f1: float
    delay: float
    rate: float


def _compare(name: str, n_events: int) -> dict[str, _Row]:
    train, test = datasets.load(name, "train"), datasets.load(name, "test")
    classes, codes = np.unique(train.y, return_inverse=True)
    recording = make_recording(train.X, codes, random_state=0)
    events = np.searchsorted(classes, test.y)
    count = min(n_events, len(events))
    signal, events = make_recording(test.X, events, n_events=count, random_state=1)
    rows = {}
    for method, settings in _DETECTORS.items():
        detector = ElasticDetector(**settings, random_state=0)
        detector.fit(recording.signal.astype(np.float32), recording.events)
        single = signal.astype(np.float32)
        rows[method] = _row(lambda d=detector, s=single: d.detect(s), signal, events, train, 20)
    order = np.random.default_rng(0).permutation(len(codes))[:_TEMPLATES]
    templates = _Templates(train.X.values[order, :, 0].astype(np.float64), codes[order])
    threshold, exact = _threshold(templates, len(classes)), signal.astype(np.float64)

    def subsequences() -> Any:
        return _subsequences(templates, exact, threshold, len(classes))

    rows["tslearn"] = _row(subsequences, signal, events, train, 1)
    few = templates.take(slice(0, 3))
    seconds = best_times({"": lambda: _matched(few, exact, _dtaidistance)}, repeats=1)[""]
    whole = seconds / len(few.series) * len(templates.series)
    rows["dtaidistance"] = _Row(np.nan, np.nan, len(signal) / whole)
    return rows


def _row(detect: Callable[[], Any], signal: Any, events: Any, train: Any, repeats: int) -> _Row:
    """The best time of some calls; subsequence DTW takes so long that one will do."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        found = detect()
        times.append(time.perf_counter() - begin)
    metrics = event_metrics(found, events)
    return _Row(metrics.f1, metrics.mean_delay / train.X.max_length, len(signal) / min(times))


def detection(names: list[str], n_events: int) -> None:
    print(
        f"\nDetection in recordings of at most {n_events} test series.  Subsequence DTW looks for "
        f"all training series (at most {_TEMPLATES})."
    )
    methods = (*_DETECTORS, "tslearn", "dtaidistance")
    print(
        f"  {'':<22s}"
        + "".join(f"{f'{m}: F1':>18s} {'samples/s':>11s}" for m in methods[:3])
        + f"{'dtaidistance':>15s}"
    )
    table = {}
    for name in names:
        rows = table[name] = _compare(name, n_events)
        cells = "".join(f"{rows[m].f1:18.3f} {rows[m].rate:11,.0f}" for m in methods[:3])
        print(f"  {name:<22s}{cells}{rows['dtaidistance'].rate:15,.0f}", flush=True)
    for method in _DETECTORS:
        f1 = [rows[method].f1 - rows["tslearn"].f1 for rows in table.values()]
        faster = [rows[method].rate / rows["tslearn"].rate for rows in table.values()]
        fastest = [
            rows[method].rate / max(rows["tslearn"].rate, rows["dtaidistance"].rate)
            for rows in table.values()
        ]
        both = sum(a >= 0 and b >= 20 for a, b in zip(f1, fastest, strict=True))
        delay = np.nanmean([rows[method].delay for rows in table.values()])
        mean = np.mean([rows[method].f1 for rows in table.values()])
        baseline = np.mean([rows["tslearn"].f1 for rows in table.values()])
        print(
            f"\n  {method}: mean F1 {mean:.3f}, subsequence DTW {baseline:.3f}; reported "
            f"{delay:.2f} lengths after the end of an event on average"
        )
        at_least(f"  {method}: mean F1, gain", mean - baseline, 0)
        at_least(f"  {method}: times as fast as tslearn, least", min(faster), 20)
        at_least(f"  {method}: as the faster of the two, median", float(np.median(fastest)), 20)
        at_least(f"  {method}: as the faster of the two, least", min(fastest), 20)
        at_least(f"  {method}: sets with F1 as good, 20 times as fast", both, min(6, len(names)))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks stream", description=__doc__)
    parser.add_argument("--windows", action="store_true", help="only the rate of slide")
    parser.add_argument("--push", action="store_true", help="only the rate and latency of push")
    parser.add_argument("--detection", action="store_true", help="only the comparison of detectors")
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="for the comparison")
    parser.add_argument("--events", type=int, default=200, help="of a test recording, at most")
    options = parser.parse_args(arguments)
    every = not (options.windows or options.push or options.detection)
    registers = f"code for registers of {TARGET.register_bytes} bytes"
    print(describe_machine("tslearn", "dtaidistance"), registers, sep="\n")
    if options.windows or every:
        windows()
    if options.push or every:
        pushes()
    if options.detection or every:
        detection(options.sets, options.events)
