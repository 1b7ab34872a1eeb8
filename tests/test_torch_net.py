"""The deep elastic network, and its scikit-learn estimator."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import skops.io  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from warplearn import datasets  # noqa: E402
from warplearn.base import SHORTER_SERIES_ARE_VALID  # noqa: E402
from warplearn.torch import ElasticConvNet, ElasticConvNetClassifier  # noqa: E402

TINY = {"units": 4, "length": 5, "elasticity": 2, "dilations": (1,), "widths": (8,), "filter_lengths": (3,)}  # fmt: skip
SMALL = TINY | {"max_iter": 15, "random_state": 0, "learning_rate_init": 0.01}


@pytest.fixture(autouse=True)
def one_thread_of_torch():
    """As with Numba's threads: parallel kernels are compiled on their own."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def data(rng):
    y = np.arange(40) % 2
    X = rng.normal(0, 0.2, (40, 30))
    for x, c in zip(X, y, strict=True):
        start = rng.integers(18)
        x[start : start + 12] += np.hanning(12) * (1 if c else -1)
    return X, np.array(["down", "up"])[y]


# --- The network


def test_shapes_and_gradients():
    net = ElasticConvNet(2, 3, **TINY)
    outputs = net(torch.randn(6, 2, 20))
    assert outputs.shape == (6, 3)
    outputs.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def test_values_past_the_end_of_a_series_are_ignored():
    torch.manual_seed(0)
    net = ElasticConvNet(1, 2, **TINY)
    x, lengths = torch.randn(5, 1, 20), torch.tensor([20, 7, 12, 1, 20])
    other = x.clone()
    for row, length in zip(other, lengths, strict=True):
        row[:, length:] = 99.0
    for _ in range(3):  # also in training, where batches are normalized
        assert torch.equal(net(x, lengths), net(other, lengths))
    net.eval()
    for row, length, output in zip(x, lengths, net(x, lengths), strict=True):
        alone = net(row[None, :, :length])
        assert output.tolist() == pytest.approx(alone[0].tolist(), abs=1e-5)


def test_equal_lengths_change_nothing():
    torch.manual_seed(0)
    net = ElasticConvNet(1, 2, **TINY).eval()
    x = torch.randn(4, 1, 20)
    assert torch.equal(net(x), net(x, torch.full((4,), 20)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("dilations", ()), ("filter_lengths", (3, 5)), ("filter_lengths", (4,)), ("units", 0)],
)
def test_bad_shapes_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        ElasticConvNet(1, 2, **TINY | {name: value})


# --- The estimator


@parametrize_with_checks(
    [ElasticConvNetClassifier(**TINY, max_iter=8, learning_rate_init=0.02, batch_size=16)],
    expected_failed_checks=lambda estimator: {
        "check_n_features_in_after_fitting": SHORTER_SERIES_ARE_VALID,
        "check_classifiers_train": SHORTER_SERIES_ARE_VALID,
        "check_sample_weight_equivalence_on_dense_data": (
            "batches of fewer series are other batches; scikit-learn exempts its own MLPClassifier"
        ),
    },
)
def test_checks_of_sklearn(estimator, check):
    if check.func.__name__ == "check_methods_subset_invariance":
        pytest.skip("float32 rounding depends on the CPU; the next test has a tolerance for it")
    check(estimator)


def test_a_series_alone_or_in_a_batch(data):
    X, y = data
    model = ElasticConvNetClassifier(**SMALL).fit(X, y)
    alone = np.concatenate([model.decision_function(x[None]) for x in X])
    assert model.decision_function(X) == pytest.approx(alone, rel=1e-5, abs=1e-5)


def test_it_learns_bumps_at_any_position(data):
    X, y = data
    model = ElasticConvNetClassifier(**SMALL)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    model.fit(X, y)
    P = model.predict_proba(X)
    assert P.sum(axis=1) == pytest.approx(np.ones(40))
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "up")).all()
    (losses,) = model.history_
    assert len(losses) == model.n_iter_
    assert losses[-1] < losses[0]


def test_it_separates_classes_that_no_linear_model_separates():
    train, test = (datasets.load("AlternatingBumps", part) for part in ("train", "test"))
    model = ElasticConvNetClassifier(units=8, widths=(32,), filter_lengths=(5,), max_iter=20, random_state=0)  # fmt: skip
    assert model.fit(train.X, train.y).score(test.X, test.y) > 0.97


def test_ragged_series_of_several_channels(rng):
    y = np.arange(30) % 3
    X = [rng.normal(0, 0.3, (2, rng.integers(6, 14))) + np.array([[c], [-c]]) for c in y]
    model = ElasticConvNetClassifier(**SMALL).fit(X, y)
    alone = np.concatenate([model.predict_proba([x]) for x in X])
    assert model.predict_proba(X) == pytest.approx(alone, abs=1e-4)
    assert model.predict([np.hstack([x, x]) for x in X]).shape == (30,)  # longer than in fit


def test_equal_seeds_give_equal_models(data):
    X, y = data
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two = (ElasticConvNetClassifier(**SMALL).fit(X, y) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)  # torch's own source is not used
    assert all((one.state_[name] == two.state_[name]).all() for name in one.state_)
    other = clone(one).set_params(random_state=1).fit(X, y)
    assert any((one.state_[name] != other.state_[name]).any() for name in one.state_)


def test_early_stopping_keeps_the_best_weights(data):
    X, y = data
    rng = np.random.RandomState(0)
    model = ElasticConvNetClassifier(**SMALL | {"max_iter": 60, "n_iter_no_change": 5}, early_stopping=True, validation_fraction=0.25)  # fmt: skip
    model.fit(X, rng.permutation(y))  # nothing to learn
    assert model.n_iter_ < 60
    assert model.n_iter_ - 1 - model.history_[0].argmin() <= 5


def test_without_a_tolerance_training_never_stops_early(data):
    X, y = data
    settings = SMALL | {"max_iter": 6, "n_iter_no_change": 1, "learning_rate_init": 0.0}
    assert ElasticConvNetClassifier(**settings, alpha=0.0).fit(X, y).n_iter_ < 6
    assert ElasticConvNetClassifier(**settings, alpha=0.0, tol=None).fit(X, y).n_iter_ == 6


def test_divergence_is_reported(data):
    X, y = data
    settings = SMALL | {"learning_rate_init": 1e15}
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model = ElasticConvNetClassifier(**settings).fit(X, y)
    assert model.n_iter_ < 15
    assert np.isfinite(model.predict_proba(X)).all()


def test_n_jobs_limits_the_threads_of_torch(data, monkeypatch, two_threads):
    threads = []
    forward = ElasticConvNet.forward
    monkeypatch.setattr(
        ElasticConvNet,
        "forward",
        lambda *args: threads.append(torch.get_num_threads()) or forward(*args),
    )
    torch.set_num_threads(2)
    for n_jobs in (None, 1):
        ElasticConvNetClassifier(**SMALL | {"max_iter": 1}, n_jobs=n_jobs).fit(*data)
    assert set(threads) == {1}
    assert torch.get_num_threads() == 2


def test_weights_move_the_decision(data):
    X, y = data
    heavy, light = (
        ElasticConvNetClassifier(**SMALL | {"max_iter": 3}, class_weight={"up": w}).fit(X, y)
        for w in (100.0, 0.01)
    )
    assert (heavy.predict(X) == "up").sum() > (light.predict(X) == "up").sum()


@pytest.mark.parametrize("by", ["pickle", "skops"])
def test_saved_and_loaded(data, by):
    X, y = data
    model = ElasticConvNetClassifier(**SMALL | {"max_iter": 2}).fit(X, y)
    if by == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        saved = skops.io.dumps(model)
        again = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert again.predict_proba(X).tolist() == model.predict_proba(X).tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate_init", -1.0),
        ("alpha", -1.0),
        ("max_iter", 0),
        ("batch_size", 0),
        ("validation_fraction", 1.5),
        ("early_stopping", "risk"),
        ("tol", -1),
        ("elasticity", 3.0),
        ("units", -2),
        ("device", "cuda:-1"),
        ("device", "meta"),
        ("device", 1.5),
    ],
)
def test_bad_parameters_are_named(data, name, value):
    with pytest.raises(ValueError, match=name):
        ElasticConvNetClassifier(**SMALL | {"early_stopping": True, name: value}).fit(*data)


def test_one_class_is_refused(data):
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        ElasticConvNetClassifier(**SMALL).fit(data[0], np.zeros(40))


@pytest.mark.parametrize(("name", "value"), [("running_var", -1.0), ("weight", np.nan)])
def test_states_that_give_no_numbers_are_refused(name, value):
    """Batch normalization takes the root of a variance."""
    y = np.arange(8) % 2
    X = np.random.default_rng(0).normal(size=(8, 12)) + y[:, None]
    options = {"units": 2, "widths": (4,), "filter_lengths": (3,), "max_iter": 1, "random_state": 0}
    model = ElasticConvNetClassifier(**options).fit(X, y)
    changed = next(key for key in model.state_ if key.endswith(name))
    model.state_[changed] = np.full_like(model.state_[changed], value)
    with pytest.raises(ValueError, match="state_"):
        model.predict(X)
    with pytest.raises(ValueError, match="state_"):
        pickle.loads(pickle.dumps(model))
    for other in (None, np.zeros(1, np.float32)):
        model.state_[changed] = other
        with pytest.raises(ValueError, match="state_"):
            model.predict(X)
