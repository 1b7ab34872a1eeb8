"""Recordings made of series."""

import re

import numpy as np
import pytest

from warplearn.datasets import make_recording


@pytest.mark.parametrize("channels", [1, 2])
def test_the_series_are_where_the_events_say(rng, channels):
    X = [rng.normal(size=(channels, k)) for k in (20, 25, 30)]
    signal, events = make_recording(X, ["a", "b", "c"], noise=0.0, random_state=0)
    signal = np.atleast_2d(signal)
    assert signal.shape[0] == channels
    assert sorted(events["class"]) == ["a", "b", "c"]
    for start, end, label in events:
        assert signal[:, start:end] == pytest.approx(X["abc".index(label)])
    gaps = events["start"][1:] - events["end"][:-1]
    assert (gaps >= 15).all()
    assert (gaps <= 60).all()


def test_background_meets_the_series(rng):
    X = 50 + rng.normal(size=(4, 40))
    signal, events = make_recording(X, [0, 1, 0, 1], noise=0.0, random_state=0)
    for start, end, _ in events[1:-1]:
        assert abs(signal[start - 1] - signal[start]) < 1e-9
        assert abs(signal[end] - signal[end - 1]) < 1e-9


def test_some_of_the_series(rng):
    X = rng.normal(size=(9, 20)).astype(np.float32)
    signal, events = make_recording(X, np.arange(9), n_events=4, random_state=0)
    again = make_recording(X, np.arange(9), n_events=4, random_state=0)
    assert len(events) == len(set(events["class"])) == 4
    assert signal.dtype == np.float32
    assert again.signal.tolist() == signal.tolist()


def test_a_class_for_each_series():
    with pytest.raises(ValueError, match="y must have a class for each series"):
        make_recording(np.zeros((2, 8)), [[0, 1], [2]])
    with pytest.raises(ValueError, match="y must have a class for each of 3 series"):
        make_recording(np.zeros((3, 9)), [0, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"spacing": (2.0, 1.0)}, "spacing must be two ascending shares"),
        ({"spacing": 2.0}, "spacing must be two shares up to 1000000, got 2.0"),
        ({"spacing": (1.0, np.inf)}, "spacing must be two shares up to 1000000, got (1.0, inf)"),
        ({"spacing": ("a", "b")}, "spacing must hold real numbers"),
        ({"noise": -1.0}, "noise must be a number of at least 0, got -1.0"),
        ({"noise": float("nan")}, "noise must be a number of at least 0, got nan"),
        ({"n_events": 0}, "n_events must be a positive integer, got 0"),
        ({"n_events": 4}, "n_events must be at most 3, the series there are, got 4"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        make_recording(np.zeros((3, 9)), [0, 1, 0], **arguments)
