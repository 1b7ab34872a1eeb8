"""Early decisions: the rule, its accuracy, streams."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import warplearn
from warplearn import ElasticEarlyClassifier, ElasticFeatureClassifier, ElasticLogisticRegression
from warplearn.detection.early import _reliability

LINEAR = ElasticLogisticRegression(elasticity=3, max_iter=30, random_state=0)


def series(seed, n=60, length=40):
    """The first half is the same for both classes; a bump in the second half tells them apart."""
    rng = np.random.default_rng(seed)
    y = np.array(["down", "up"])[np.arange(n) % 2]
    X = rng.normal(0, 0.2, (n, length))
    X[:, 20:30] += np.where(y == "up", 1.0, -1.0)[:, None] * np.hanning(10)
    return X, y


@pytest.fixture(scope="module")
def early():
    return ElasticEarlyClassifier(LINEAR).fit(*series(0))


def test_nothing_is_decided_before_it_can_be(early):
    X, y = series(1, n=200)
    decisions = early.decide(X)
    assert (decisions.labels == y).mean() > 0.9
    assert decisions.times.min() > 20
    assert 0.5 < decisions.earliness < 0.9
    assert decisions.earliness == pytest.approx((decisions.times / 40).mean())
    assert early.predict(X).tolist() == decisions.labels.tolist()
    assert set(decisions.times) <= set(early.checkpoints_)
    safe = decisions.times < 40
    assert (decisions.probabilities[safe] >= early.threshold_).all()


def test_only_what_comes_before_a_decision_is_looked_at(early):
    X, _ = series(1)
    ref = early.decide(X)
    rng = np.random.default_rng(7)
    for case, time in enumerate(ref.times):
        X[case, time:] = rng.normal(size=40 - time)
    again = early.decide(X)
    assert again.labels.tolist() == ref.labels.tolist()
    assert again.times.tolist() == ref.times.tolist()


def test_less_accuracy_is_earlier():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(0, 1.0, (80, 40)) + np.where(y, 0.4, -0.4)[:, None]  # a little with each sample
    careful = ElasticEarlyClassifier(LINEAR, accuracy=0.95).fit(X, y)
    hasty = ElasticEarlyClassifier(LINEAR, accuracy=0.6).fit(X, y)
    assert hasty.threshold_ < careful.threshold_
    assert hasty.cv_earliness_ < careful.cv_earliness_
    assert careful.cv_accuracy_ >= 0.95
    assert hasty.decide(X).earliness < careful.decide(X).earliness


def test_an_accuracy_out_of_reach_waits_for_the_end():
    X, _ = series(0, n=40)
    y = np.arange(40) % 2  # the classes again, but for half of them
    y[::4] = 1
    model = ElasticEarlyClassifier(LINEAR, accuracy=1.0).fit(X, y)
    assert model.cv_accuracy_ < 1
    assert model.threshold_ > 0.5


@pytest.mark.parametrize("estimator", [LINEAR, ElasticFeatureClassifier(64, random_state=0)])
def test_streams_decide_as_recordings(estimator):
    X, y = series(0)
    early = ElasticEarlyClassifier(estimator, n_checkpoints=8).fit(X, y)
    ref, stream = early.decide(X[:6]), early.stream()
    for x, label, time in zip(X, ref.labels, ref.times, strict=False):
        said = [stream.push(value) for value in x]
        assert said == [None] * (time - 1) + [label] * (41 - time)
        assert stream.n_samples == 40
        stream.reset()
        assert stream.label is None


def test_three_classes_and_several_lengths():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = [
        rng.normal(c, 0.5, size=(2, int(k)))
        for c, k in zip(y, rng.integers(20, 30, 45), strict=True)
    ]
    early = ElasticEarlyClassifier(LINEAR, n_checkpoints=5).fit(X, y)
    decisions = early.decide(X)
    assert (decisions.labels == y).mean() > 0.9
    assert decisions.earliness < 1
    assert (decisions.times <= [x.shape[1] for x in X]).all()


def test_reliability_is_a_rising_probability(rng):
    margins = rng.uniform(0, 3, 400)
    right = rng.random(400) < 1 / (1 + np.exp(-(2 * margins - 1)))
    constant, slope = _reliability(margins, right)
    assert constant == pytest.approx(-1, abs=0.6)
    assert slope == pytest.approx(2, abs=0.6)
    constant, slope = _reliability(margins, margins < 1.5)
    assert slope == 0
    assert 0 < _reliability(margins, np.ones(400, bool))[0] < 10


def test_conventions(early, tmp_path):
    X, _ = series(1)
    copy = clone(early)
    assert copy.get_params()["estimator__elasticity"] == 3
    warplearn.save(early, tmp_path / "early.warp")
    for again in (warplearn.load(tmp_path / "early.warp"), pickle.loads(pickle.dumps(early))):
        assert again.decide(X).times.tolist() == early.decide(X).times.tolist()
    assert 0 < early.score(*series(1)) <= 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"accuracy": 0}, "accuracy must be None or a number above 0 to 1, got 0"),
        ({"accuracy": 1.1}, "accuracy must be None or a number above 0 to 1, got 1.1"),
        ({"accuracy": "high"}, "accuracy must be None"),
        ({"n_checkpoints": 0}, "n_checkpoints must be a positive integer, got 0"),
        ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        ElasticEarlyClassifier(LINEAR, **parameters).fit(*series(0))


def test_wrong_input_is_named(early):
    X, _ = series(0, n=5)
    with pytest.raises(ValueError, match="at least two series of each class"):
        ElasticEarlyClassifier(LINEAR).fit(X, [0, 0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"channel\(s\)"):
        early.decide(np.zeros((2, 3, 40)))
    with pytest.raises(ValueError, match="sample must have 1 channel"):
        early.stream().push([1.0, 2.0])
    with pytest.raises(ValueError, match="sample must be finite"):
        early.stream().push(np.nan)


@pytest.mark.parametrize(
    ("attribute", "wrong", "message"),
    [
        ("model_", 3, "model_ must be a fitted classifier"),
        ("checkpoints_", np.array([3, 2]), "checkpoints_ must ascend from 1"),
        ("reliability_", np.zeros((2, 2)), "reliability_ must have shape"),
        ("threshold_", 2.0, "threshold_ must be a probability, got 2.0"),
    ],
)
def test_wrong_attributes_are_named(early, attribute, wrong, message):
    damaged = pickle.loads(pickle.dumps(early))
    setattr(damaged, attribute, wrong)
    with pytest.raises(ValueError, match=message):
        damaged.decide(series(1)[0])
