"""The deep elastic network, and its scikit-learn estimator."""

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import skops.io  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from warplearn import datasets  # noqa: E402
from warplearn.base import SHORTER_SERIES_ARE_VALID  # noqa: E402
from warplearn.torch import ElasticNet, ElasticNetClassifier  # noqa: E402

TINY = {"units": 4, "length": 5, "elasticity": 2, "dilations": (1,), "widths": (8,), "kernel_sizes": (3,)}  # fmt: skip
SMALL = TINY | {"max_iter": 15, "random_state": 0, "eta": 0.01}


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
    net = ElasticNet(2, 3, **TINY)
    outputs = net(torch.randn(6, 2, 20))
    assert outputs.shape == (6, 3)
    outputs.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def test_what_follows_the_end_of_a_series_does_not_matter():
    torch.manual_seed(0)
    net = ElasticNet(1, 2, **TINY)
    x, lengths = torch.randn(5, 1, 20), torch.tensor([20, 7, 12, 1, 20])
    other = x.clone()
    for row, length in zip(other, lengths, strict=True):
        row[:, length:] = 99.0
    for _ in range(3):  # also in training, where batches are normalized
        assert torch.equal(net(x, lengths), net(other, lengths))
    net.eval()
    for row, length, found in zip(x, lengths, net(x, lengths), strict=True):
        alone = net(row[None, :, :length])
        assert found.tolist() == pytest.approx(alone[0].tolist(), abs=1e-5)


def test_lengths_that_are_all_the_same_change_nothing():
    torch.manual_seed(0)
    net = ElasticNet(1, 2, **TINY).eval()
    x = torch.randn(4, 1, 20)
    assert torch.equal(net(x), net(x, torch.full((4,), 20)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("dilations", ()), ("kernel_sizes", (3, 5)), ("kernel_sizes", (4,)), ("units", 0)],
)
def test_bad_shapes_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        ElasticNet(1, 2, **TINY | {name: value})


# --- The estimator


@parametrize_with_checks(
    [ElasticNetClassifier(**TINY, max_iter=8, eta=0.02, batch_size=16)],
    expected_failed_checks=lambda estimator: {
        "check_n_features_in_after_fitting": SHORTER_SERIES_ARE_VALID,
        "check_classifiers_train": SHORTER_SERIES_ARE_VALID,
        "check_sample_weight_equivalence_on_dense_data": (
            "batches of fewer series are other batches; scikit-learn exempts its own MLPClassifier"
        ),
    },
)
def test_checks_of_sklearn(estimator, check):
    check(estimator)


def test_it_learns_what_is_anywhere(data):
    X, y = data
    model = ElasticNetClassifier(**SMALL)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    model.fit(X, y)
    P = model.predict_proba(X)
    assert P.sum(axis=1) == pytest.approx(np.ones(40))
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "up")).all()
    assert model.history_[-1] < model.history_[0]


def test_it_separates_what_no_linear_model_does():
    train, test = (datasets.load("AlternatingBumps", part) for part in ("train", "test"))
    model = ElasticNetClassifier(units=8, widths=(32,), kernel_sizes=(5,), max_iter=20, random_state=0)  # fmt: skip
    assert model.fit(train.X, train.y).score(test.X, test.y) > 0.97


def test_ragged_series_of_several_channels(rng):
    y = np.arange(30) % 3
    X = [rng.normal(0, 0.3, (2, rng.integers(6, 14))) + np.array([[c], [-c]]) for c in y]
    model = ElasticNetClassifier(**SMALL).fit(X, y)
    alone = np.concatenate([model.predict_proba([x]) for x in X])
    assert model.predict_proba(X) == pytest.approx(alone, abs=1e-4)
    assert model.predict([np.hstack([x, x]) for x in X]).shape == (30,)  # longer ones are welcome


def test_equal_seeds_give_equal_models(data):
    X, y = data
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, two = (ElasticNetClassifier(**SMALL).fit(X, y) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)  # torch's own source is left alone
    assert all((one.state_[name] == two.state_[name]).all() for name in one.state_)
    other = clone(one).set_params(random_state=1).fit(X, y)
    assert any((one.state_[name] != other.state_[name]).any() for name in one.state_)


def test_validation_share_keeps_the_best_weights(data):
    X, y = data
    rng = np.random.RandomState(0)
    model = ElasticNetClassifier(**SMALL | {"max_iter": 60, "n_iter_no_change": 5}, validation_share=0.25)  # fmt: skip
    model.fit(X, rng.permutation(y))  # nothing to learn
    assert model.n_iter_ < 60
    assert model.n_iter_ - 1 - model.history_.argmin() <= 5


def test_weights_move_the_decision(data):
    X, y = data
    heavy, light = (
        ElasticNetClassifier(**SMALL | {"max_iter": 3}, class_weight={"up": w}).fit(X, y)
        for w in (100.0, 0.01)
    )
    assert (heavy.predict(X) == "up").sum() > (light.predict(X) == "up").sum()


@pytest.mark.parametrize("by", ["pickle", "skops"])
def test_saved_and_loaded(data, by):
    X, y = data
    model = ElasticNetClassifier(**SMALL | {"max_iter": 2}).fit(X, y)
    if by == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        saved = skops.io.dumps(model)
        again = skops.io.loads(saved, trusted=skops.io.get_untrusted_types(data=saved))
    assert again.predict_proba(X).tolist() == model.predict_proba(X).tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [("eta", -1.0), ("max_iter", 0), ("batch_size", 0), ("validation_share", 1.5), ("units", -2)],
)
def test_bad_parameters_are_named(data, name, value):
    with pytest.raises(ValueError, match=name):
        ElasticNetClassifier(**SMALL | {name: value}).fit(*data)


def test_one_class_is_refused(data):
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        ElasticNetClassifier(**SMALL).fit(data[0], np.zeros(40))
