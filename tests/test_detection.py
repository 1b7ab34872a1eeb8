"""Detection of events in recordings and streams."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import warplearn
from warplearn import (
    ElasticDetector,
    ElasticFeatureClassifier,
    ElasticLogisticRegression,
    NearestPrototypeClassifier,
)
from warplearn.detection import GapWarning, event_metrics
from warplearn.detection.events import Rule, Scored, Tracker, read_events
from warplearn.detection.gaps import Stretches

LENGTH = 24
LINEAR = ElasticLogisticRegression(elasticity=3, max_iter=30, random_state=0)


def recording(seed, n_events=24, channels=1, noise=0.1):
    """Bumps and ramps in noise: (channels, time), and the events."""
    rng = np.random.default_rng(seed)
    shapes = {"bump": np.hanning(LENGTH), "ramp": np.linspace(-1, 1, LENGTH)}
    pieces, events, at = [], [], 0
    for i in range(n_events):
        gap = int(rng.integers(LENGTH, 3 * LENGTH))
        label = ("bump", "ramp")[i % 2]
        pieces += [np.zeros(gap), 2 * shapes[label]]
        events.append((at + gap, at + gap + LENGTH, label))
        at += gap + LENGTH
    signal = np.concatenate([*pieces, np.zeros(2 * LENGTH)])
    signal = signal * np.linspace(1, 2, channels)[:, None]
    return 5 + signal + rng.normal(0, noise, signal.shape), events


@pytest.fixture(scope="module")
def data():
    signal, events = recording(0)
    return signal[0], events


@pytest.fixture(scope="module")
def plain(data):
    return ElasticDetector(LINEAR, gate=None, stride=1, random_state=0).fit(*data)


@pytest.fixture(scope="module")
def gated(data):
    return ElasticDetector(LINEAR, random_state=0).fit(*data)


@pytest.fixture(params=["plain", "gated"])
def detector(request):
    """With and without a gate that chooses windows."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def test_signal():
    return recording(1, n_events=30)[0][0]


def without_stream(table):
    return table[["start", "end", "class", "score", "reported"]]


def assert_same(found, ref):
    assert len(found) == len(ref) > 0
    for column in ("start", "end", "class", "reported"):
        assert found[column].tolist() == ref[column].tolist()
    assert found["score"] == pytest.approx(ref["score"], rel=1e-9, abs=1e-9)


# --- Detection


def test_events_are_found(detector):
    signal, events = recording(1, n_events=30)
    found = detector.detect(signal[0])
    metrics = event_metrics(found, events)
    assert metrics.f1 > 0.9
    assert -LENGTH < metrics.mean_delay < LENGTH
    assert found.dtype.names == ("start", "end", "class", "score", "reported")
    assert (found["score"] >= detector.threshold_).all()
    assert (found["reported"] >= found["end"] - 1).all()
    assert detector.score(signal[0], events) == metrics.f1
    assert detector.window_ == LENGTH
    assert detector.classes_.tolist() == ["bump", "ramp"]
    assert 0.8 < detector.cv_f1_ <= 1


@pytest.mark.parametrize(
    "estimator",
    [None, ElasticFeatureClassifier(64, random_state=0), NearestPrototypeClassifier("mean")],
    ids=["default", "features", "prototypes"],
)
def test_models_of_every_kind(data, estimator):
    signal, events = recording(1)
    detector = ElasticDetector(estimator, stride=3, random_state=0).fit(*data)
    assert detector.score(signal[0], events) > 0.7


def test_series_and_background(data):
    signal, events = data
    X = np.array([signal[start:end] for start, end, _ in events])
    y = [label for _, _, label in events]
    noise = 5 + np.random.default_rng(5).normal(0, 0.1, 400)
    detector = ElasticDetector(LINEAR, stride=1, random_state=0).fit(X, y, background=noise)
    other, truth = recording(1)
    assert detector.score(other[0], truth) > 0.8


def test_channels():
    signal, events = recording(0, channels=2)
    detector = ElasticDetector(LINEAR, random_state=0).fit(signal, events)
    other, truth = recording(1, channels=2)
    assert detector.score(other, truth) > 0.8
    stream = detector.stream(2)
    both = np.stack([other, other[:, ::-1]])
    found = np.concatenate([stream.push(both[..., i : i + 50]) for i in range(0, 900, 50)])
    ref = detector.detect(other[:, :900])
    first = found[found["stream"] == 0]
    assert_same(without_stream(first), ref[: len(first)])


def test_class_durations(data):
    """Events are as long as those of their class."""
    signal, events = data
    shorter = [(s, e if label == "bump" else e - 10, label) for s, e, label in events]
    detector = ElasticDetector(LINEAR, threshold=0.0, random_state=0).fit(signal, shorter)
    assert detector.durations_.tolist() == [LENGTH, LENGTH - 10]
    found = detector.detect(signal)
    durations = dict(zip(detector.classes_, detector.durations_, strict=True))
    assert [durations[c] for c in found["class"]] == (found["end"] - found["start"]).tolist()


# --- The gate


def naive_detection(detector, signal, stride):
    """Score every window by gate and classifier, and take the best of each stride."""
    values = detector.gate_.slide(signal)
    decisions = detector.model_.slide(signal)
    scores = decisions[:, 1:].max(axis=1) - decisions[:, 0]
    rows = []
    for begin in range(0, len(values), stride):
        best = begin + int(values[begin : begin + stride].argmax())
        passes = values[best] >= detector.gate_threshold_
        known = min(begin + stride, len(values)) + LENGTH - 2
        code = int(decisions[best, 1:].argmax())
        rows.append((best + LENGTH - 1, known, scores[best] if passes else -np.inf, code))
    scored = Scored(*(np.array(column) for column in zip(*rows, strict=True)))
    rule = Rule(detector.threshold_, detector.threshold_, LENGTH // 2, LENGTH)
    return naive_rule(rule, scored), np.isfinite(scored.scores).mean()


def test_the_gate_chooses_and_rejects_windows(gated, test_signal):
    ref, passed = naive_detection(gated, test_signal, LENGTH // 4)
    found = gated.detect(test_signal)
    assert len(found) >= len(ref) > 20  # one may be open at the end
    assert found["start"].tolist()[: len(ref)] == [last + 1 - LENGTH for last, *_ in ref]
    assert found["reported"].tolist()[: len(ref)] == [reported for _, reported, *_ in ref]
    assert found["score"][: len(ref)] == pytest.approx([score for *_, score in ref])
    assert 0.1 < passed < 0.4


def test_an_event_at_the_end_is_found(gated, test_signal):
    """Also if not all windows of the last stride are there."""
    _, events = recording(1, n_events=30)
    for end in range(events[4][1], events[4][1] + 6):
        found = gated.detect(test_signal[:end])
        assert abs(found[-1]["start"] - events[4][0]) <= 3


# --- Fitted models


def test_a_fitted_model_with_background(data):
    signal, events = data
    windows = [signal[s:e] for s, e, _ in events] + [signal[s - 30 : e - 30] for s, e, _ in events]
    X = np.array([(w - w.mean()) / w.std() for w in windows])
    y = [label for *_, label in events] + ["nothing"] * len(events)
    model = clone(LINEAR).fit(X, y)
    detector = ElasticDetector.from_model(model, 2.0, background="nothing", stride=1)
    assert detector.classes_.tolist() == ["bump", "ramp"]
    found = detector.detect(signal)
    decisions = model.slide(signal)
    scores = decisions[:, [0, 2]].max(axis=1) - decisions[:, 1]
    assert found["score"] == pytest.approx(scores[found["start"]], rel=1e-9)
    assert (found["score"] >= 2.0).all()


def test_a_fitted_model_without_background(data):
    signal, events = data
    X = np.array([signal[s:e] for s, e, _ in events])
    model = clone(LINEAR).fit(X, [label for *_, label in events])
    detector = ElasticDetector.from_model(model, 0.5, normalize="none", stride=1)
    found = detector.detect(signal)
    values = model.slide(signal, normalize="none")
    assert found["score"] == pytest.approx(np.abs(values[found["start"]]), rel=1e-9)
    labels = model.classes_[(values[found["start"]] > 0).astype(int)]
    assert found["class"].tolist() == labels.tolist()


# --- Streams


@pytest.mark.parametrize("stride", [1, 5])
@pytest.mark.parametrize("size", [1, 7, 64, 5000])
def test_streams_find_what_detect_finds(detector, test_signal, stride, size):
    detector = clone_fitted(detector).set_params(stride=stride)
    ref = detector.detect(test_signal)
    stream = detector.stream()
    packets = [test_signal[i : i + size] for i in range(0, len(test_signal), size)]
    found = np.concatenate([*(stream.push(packet) for packet in packets), stream.flush()])
    assert stream.n_samples == len(test_signal)
    assert_same(without_stream(found), ref)
    assert not len(stream.flush())


def clone_fitted(detector):
    return pickle.loads(pickle.dumps(detector))


@pytest.mark.parametrize("gaps", [False, True])
def test_many_streams(detector, gaps):
    signals = np.stack([recording(seed, n_events=9)[0][0][:600] for seed in range(5)])
    if gaps:
        signals[1, 100:103] = signals[3, 50] = signals[3, 400:440] = np.nan
    detector = clone_fitted(detector).set_params(max_gap=2)
    stream = detector.stream(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GapWarning)
        found = [stream.push(signals[:, i : i + 11]) for i in range(0, 600, 11)]
        table = np.concatenate([*found, stream.flush()])
        for number, signal in enumerate(signals):
            own = table[table["stream"] == number]
            assert_same(without_stream(own), detector.detect(signal))
    assert stream.n_gaps.tolist() == ([0, 1, 0, 2, 0] if gaps else [0] * 5)


def test_events_are_reported_in_bounded_time_and_memory(detector, test_signal):
    stream = detector.stream()
    sizes = set()
    for time, sample in enumerate(test_signal):
        table = stream.push(sample)
        assert (table["reported"] == time).all()
        assert (time - (table["start"] + LENGTH - 1) <= LENGTH).all()
        sizes.add(stream._buffer.nbytes)
    assert len(sizes) == 1


def test_reset_forgets(detector, test_signal):
    stream = detector.stream()
    first = stream.push(test_signal[:700])
    again = stream.reset().push(test_signal[:700])
    assert again.tolist() == first.tolist()
    assert stream.n_samples == 700


def test_chunks_and_memory_maps(detector, test_signal, tmp_path):
    ref = detector.detect(test_signal)
    chunks = (test_signal[i : i + 100] for i in range(0, len(test_signal), 100))
    assert_same(detector.detect(chunks), ref)
    np.save(tmp_path / "recording.npy", test_signal)
    assert_same(detector.detect(np.load(tmp_path / "recording.npy", mmap_mode="r")), ref)


# --- Gaps


def naive_gaps(samples, max_gap):
    """Fill one sample after the other; NaN marks breaks."""
    filled, age, run, ages = [], 0, 0, []
    for value in samples:
        run = run + 1 if np.isnan(value) else 0
        if run and (run > max_gap or age == 0):
            age, value = 0, np.nan
        else:
            value = filled[-1] if run else value
            age += 1
        filled.append(value)
        ages.append(age)
    return filled, ages


@pytest.mark.parametrize("max_gap", [0, 1, 3])
@pytest.mark.parametrize("size", [1, 4, 60])
def test_gaps_are_filled_or_break(rng, max_gap, size):
    samples = rng.normal(size=(3, 60, 1))
    samples[rng.random(samples.shape) < 0.3] = np.nan
    samples[0, :5] = np.nan
    stretches, last = Stretches(3, max_gap), np.zeros((3, 1))
    parts, ages = [], []
    for start in range(0, 60, size):
        part = samples[:, start : start + size].copy()
        ages.append(stretches.complete(part, last).ages)
        parts.append(part)
        last = part[:, -1]
    filled, ages = np.concatenate(parts, axis=1)[..., 0], np.concatenate(ages, axis=1)
    for stream in range(3):
        ref, ref_ages = naive_gaps(samples[stream, :, 0], max_gap)
        assert ages[stream].tolist() == ref_ages
        kept = ~np.isnan(ref)
        assert filled[stream][kept].tolist() == np.array(ref)[kept].tolist()


def test_gaps_are_named(detector, test_signal):
    broken = test_signal.copy()
    broken[[300, 301]] = np.nan
    named = r"begins at sample 300: no window contains it"
    with pytest.warns(GapWarning, match=named) as caught:
        found = detector.detect(broken)
    assert caught[0].filename == __file__  # the code that called the library
    stride = 6 if detector.stride is None else 1
    before, after = (
        detector.detect(test_signal[:300]),
        detector.detect(test_signal[302 + -302 % stride :]),
    )
    assert found["start"].tolist() == [*before["start"], *(after["start"] + 302 + -302 % stride)]
    stream = detector.set_params(max_gap=1).stream()
    with pytest.warns(GapWarning, match="first 1 sample"):
        stream.push(broken[:400])
    detector.set_params(max_gap=0)


@pytest.mark.parametrize("count", [3, 5000])
def test_skipped_samples_are_a_gap(detector, test_signal, count):
    stream, other = detector.stream(), detector.stream()
    with pytest.warns(GapWarning, match="sample 200"):
        one = [stream.push(test_signal[:200]), stream.skip(count), stream.push(test_signal[200:])]
    with pytest.warns(GapWarning):
        ref = other.push(np.insert(test_signal, [200] * count, np.nan))
    assert np.concatenate(one).tolist() == ref.tolist()


def test_an_open_event_is_reported_at_a_gap(detector, data):
    signal, events = data
    middle = events[3][1]  # the score is high when the event ends
    broken = signal[: middle + 20].copy()
    broken[middle : middle + 5] = np.nan
    with pytest.warns(GapWarning):
        found = detector.detect(broken)
    assert found[-1]["reported"] == middle
    assert event_metrics(found, events[:4]).recall == 1


def test_a_detector_learns_from_a_recording_with_gaps(data):
    signal, events = data
    broken = signal.copy()
    broken[events[5][0] + 3] = np.nan
    detector = ElasticDetector(LINEAR, stride=1, random_state=0)
    with pytest.warns(GapWarning, match=f"begins at sample {events[5][0] + 3}: no window"):
        detector.fit(broken, events)
    other, truth = recording(1)
    assert detector.score(other[0], truth) > 0.8


# --- The rule


def naive_rule(rule, scored):
    """One score after the other."""
    found, opened, best, free = [], None, None, 0
    for time, known, score, code in zip(*scored, strict=True):
        if opened is not None and (score < rule.release or time >= opened + rule.longest):
            found.append((best[1], int(known), best[2], best[0]))
            opened, free = None, best[1] + rule.refractory
        if opened is None and score >= rule.threshold and time >= free:
            opened, best = time, (-np.inf,)
        if opened is not None and score > best[0]:
            best = (float(score), int(time), int(code))
    return found


@pytest.mark.parametrize("size", [1, 3, 500])
@pytest.mark.parametrize("hysteresis", [0.0, 0.5])
def test_the_rule_is_the_same_in_packets(rng, size, hysteresis):
    scores = np.convolve(rng.normal(size=520), np.ones(21) / 4, "valid")
    strides, codes = np.arange(0, 2000, 4), rng.integers(0, 3, 500)
    scored = Scored(strides + rng.integers(0, 4, 500), strides + 3, scores, codes)
    rule = Rule(0.8, 0.8 - hysteresis, 24, 60)
    tracker, found = Tracker(), []
    for i in range(0, 500, size):
        found += [tuple(peak) for peak in tracker.follow(rule, scored.part(slice(i, i + size)))]
    assert found == naive_rule(rule, scored)
    assert len(found) > 5


# --- Metrics


def test_metrics_count_each_event_once():
    labelled = [(0, 10, "a"), (20, 30, "a"), (40, 50, "b"), (60, 70, "a")]
    detected = np.array(
        [
            (1, 11, "a", 14),
            (2, 12, "a", 15),
            (20, 30, "b", 30),
            (44, 54, "b", 52),
            (90, 95, "b", 99),
        ],
        [("start", int), ("end", int), ("class", "U1"), ("reported", int)],
    )
    metrics = event_metrics(detected, labelled, overlap=0.4)
    assert metrics.n_right == 2
    assert metrics.precision == pytest.approx(2 / 5)
    assert metrics.recall == pytest.approx(2 / 4)
    assert metrics.f1 == pytest.approx(4 / 9)
    assert metrics.mean_delay == pytest.approx(((14 - 9) + (52 - 49)) / 2)
    assert event_metrics(detected, labelled).n_right == 1
    assert event_metrics([], []).f1 == 1
    assert event_metrics([], labelled)[:3] == (1, 0, 0)
    assert np.isnan(event_metrics([], labelled).mean_delay)


def test_tables_of_events_in_any_form():
    pandas = pytest.importorskip("pandas")
    rows = [(20, 30, "b"), (0, 10, "a")]
    columns = {"start": [20, 0], "end": [30, 10], "class": ["b", "a"]}
    for table in (rows, columns, pandas.DataFrame(columns), pandas.DataFrame(columns).to_records()):
        found = read_events(table, 30)
        assert found.start.tolist() == [0, 20]
        assert found.end.tolist() == [10, 30]
        assert found.label.tolist() == ["a", "b"]


# --- scikit-learn's conventions, files


def test_parameters_and_clone():
    detector = ElasticDetector(LINEAR, window=9, hysteresis=0.5, max_gap=3)
    again = clone(detector)
    assert again.get_params()["estimator__elasticity"] == 3
    assert again.get_params(deep=False).keys() == detector.get_params(deep=False).keys()
    assert (again.window, again.hysteresis, again.max_gap) == (9, 0.5, 3)
    assert "max_gap=3" in repr(again)


def test_saved_and_loaded(detector, test_signal, tmp_path):
    warplearn.save(detector, tmp_path / "detector.warp")
    again = warplearn.load(tmp_path / "detector.warp")
    assert again.detect(test_signal).tolist() == detector.detect(test_signal).tolist()
    assert clone_fitted(detector).detect(test_signal).tolist() == again.detect(test_signal).tolist()


@pytest.mark.parametrize(
    ("attribute", "wrong", "message"),
    [
        ("model_", None, "model_ must be a fitted classifier"),
        ("classes_", np.array(["a"]), "classes_ must be 2 classes"),
        ("durations_", np.array([0, 3]), "durations_ must be between 1 and"),
        ("threshold_", np.nan, "threshold_ must be finite"),
        ("window_", 0, "window_ must be a positive integer"),
        ("background_", 7, "background_ must be"),
        ("dtype_", "int8", "dtype_ must be"),
        ("gate_", 3, "gate_ must be an ElasticLogisticRegression or None, got 3"),
        ("gate_threshold_", np.nan, "gate_threshold_ must be a number, got nan"),
    ],
)
def test_wrong_attributes_are_named(detector, test_signal, attribute, wrong, message):
    detector = clone_fitted(detector)
    setattr(detector, attribute, wrong)
    with pytest.raises(ValueError, match=message):
        detector.detect(test_signal)


# --- Bad input


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"window": 0}, "window must be a positive integer, got 0"),
        ({"stride": 1.5}, "stride must be a positive integer, got 1.5"),
        ({"normalize": "z"}, "normalize must be one of"),
        ({"gate": 1.0}, "gate must be None or a share between 0 and 1, got 1.0"),
        ({"gate": "linear"}, "gate must be None or a share between 0 and 1, got 'linear'"),
        ({"threshold": "best"}, "threshold must be a number or 'cv', got 'best'"),
        ({"threshold": np.nan}, "threshold must be a number or 'cv', got nan"),
        ({"hysteresis": -1}, "hysteresis must be a number from 0 to .*, got -1"),
        ({"refractory": -1}, "refractory must be an integer of at least 0"),
        ({"max_gap": None}, "max_gap must be an integer of at least 0, got None"),
        ({"mining": -1}, "mining must be an integer of at least 0"),
        ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
        ({"window": 5000}, "no window of 5000 samples of events"),
    ],
)
def test_wrong_parameters_are_named(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        ElasticDetector(LINEAR, **parameters).fit(*data)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "y must have at least one event, got none"),
        ([(5, 5, "a")], "got an event from 5 to 5"),
        ([(-1, 5, "a")], "got an event from -1 to 5"),
        ([(10, 99999, "a")], "within the .* samples of the recording"),
        ([(10, 30, "a"), (20, 40, "a")], "y must not overlap"),
        ([(10.5, 30, "a")], "start must hold integers"),
        ([(10, 30)], "y must be a table with columns start, end and class"),
        ({"start": [1], "end": [2]}, "y must have columns start, end, class; it lacks class"),
        (7, "y must be a table"),
        ([(10, 30, "a")], "threshold='cv' needs at least two events"),
    ],
)
def test_wrong_events_are_named(data, events, message):
    with pytest.raises(ValueError, match=message):
        ElasticDetector(LINEAR).fit(data[0], events)


def test_wrong_recordings_are_named(detector, data):
    with pytest.raises(ValueError, match="recording must have 1 channel"):
        detector.detect(np.zeros((2, 100)))
    with pytest.raises(ValueError, match="recording .* infinity at sample 3"):
        detector.detect([0.0, 1.0, 2.0, np.inf])
    with pytest.raises(ValueError, match="background must have 1 channel"):
        ElasticDetector(LINEAR).fit(np.zeros((4, 9)), [0, 1, 0, 1], background=np.zeros((2, 50)))
    with pytest.raises(ValueError, match="background must be one of"):
        ElasticDetector.from_model(detector.model_, 0.0, background="x")
    with pytest.raises(ValueError, match="threshold must be a number for a fitted model"):
        ElasticDetector.from_model(detector.model_, "cv")
    with pytest.raises(ValueError, match="overlap must be a number"):
        event_metrics([], [], overlap=0)
    assert not len(detector.detect(np.zeros(LENGTH - 1)))


@pytest.mark.parametrize(
    ("n_streams", "samples", "message"),
    [
        (1, np.zeros((2, 3)), "samples must be of 1 stream"),
        (3, np.zeros((2, 3)), r"samples must be of 3 stream\(s\) .* got shape \(2, 3\)"),
        (3, 1.0, "samples must be of 3 stream"),
        (1, np.inf, "samples must be finite, but contains infinity"),
        (1, np.append(np.zeros(2000), np.inf), "samples must be finite"),
        (1, "x", "samples must hold real numbers"),
    ],
)
def test_wrong_samples_are_named(detector, n_streams, samples, message):
    stream = detector.stream(n_streams)
    with pytest.raises((ValueError, TypeError), match=message):
        stream.push(samples)
    assert stream.n_samples == 0


def test_wrong_streams_are_named(detector):
    with pytest.raises(ValueError, match="n_streams must be a positive integer, got 0"):
        detector.stream(0)
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 0, got -1"):
        detector.stream().skip(-1)
