"""Series that grow: streams, further epochs on longer series, warm starts."""

import numpy as np
import pytest

from warplearn import Alphabet
from warplearn.linear_model.classifiers import ElasticLogisticRegression, ElasticMarginPerceptron

PLAIN = {"elasticity": 3, "max_iter": 20, "random_state": 0}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(24, 8))
    return X, (X[:, 2] + 0.5 * X[:, 5] > 0).astype(int)


# --- Streams


@pytest.mark.parametrize("polarity", ["+", "-", "symmetric"])
@pytest.mark.parametrize("n_streams", [1, 5, 24])
def test_every_prefix(data, polarity, n_streams):
    X, y = data
    model = ElasticMarginPerceptron(polarity=polarity, **PLAIN).fit(X, y)
    stream = model.stream(n_streams)
    for k in range(1, 9):
        got = stream.push(X[0, k - 1] if n_streams == 1 else X[:n_streams, k - 1])
        ref = model.decision_function(X[:n_streams, :k])
        assert stream.n_samples == k
        assert np.shape(got) == (() if n_streams == 1 else (n_streams,))
        assert np.atleast_1d(got) == pytest.approx(ref, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("n_streams", [1, 3])
def test_three_classes(data, n_streams):
    X, _ = data
    model = ElasticLogisticRegression(**PLAIN).fit(X, np.arange(24) % 3)
    stream = model.stream(n_streams)
    for k in range(1, 9):
        got = stream.push(X[:n_streams, k - 1])
        ref = model.decision_function(X[:n_streams, :k])
        assert got == pytest.approx(ref if n_streams > 1 else ref[0], rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("n_streams", [1, 3])
def test_channels(rng, n_streams):
    X = rng.normal(size=(12, 2, 7))
    model = ElasticMarginPerceptron(**PLAIN).fit(X, np.arange(12) % 2)
    stream = model.stream(n_streams)
    for k in range(1, 8):
        got = stream.push(X[0, :, k - 1] if n_streams == 1 else X[:n_streams, :, k - 1])
        ref = model.decision_function(X[:n_streams, :, :k])
        assert np.atleast_1d(got) == pytest.approx(ref, rel=1e-12, abs=1e-13)


def test_symbols():
    X = ["GATTACA", "CATTAGA", "TACT", "ACTGACT"]
    model = ElasticMarginPerceptron(alphabet=Alphabet("ACGT"), **PLAIN).fit(X, [0, 1, 0, 1])
    stream, pair = model.stream(), model.stream(2)
    for k in range(1, 8):
        ref = model.decision_function([X[0][:k], X[3][:k]])
        assert stream.push(X[0][k - 1]) == pytest.approx(ref[0], rel=1e-12, abs=1e-13)
        assert pair.push([X[0][k - 1], X[3][k - 1]]) == pytest.approx(ref, rel=1e-12, abs=1e-13)
    with pytest.raises(ValueError, match="sample .* contains 'N'"):
        stream.reset().push("N")


def test_reset_forgets(data):
    X, y = data
    stream = ElasticMarginPerceptron(**PLAIN).fit(X, y).stream()
    first = [stream.push(value) for value in X[0]]
    with pytest.raises(ValueError, match=r"at its end: the model has 8 rows; call reset\(\)"):
        stream.push(0.0)
    assert [stream.reset().n_samples, *[stream.push(value) for value in X[0]]] == [0, *first]


def test_streams_are_their_own(data):
    """Two streams of one model, pushed in turn, do not disturb each other."""
    X, y = data
    model = ElasticMarginPerceptron(**PLAIN).fit(X, y)
    one, other = model.stream(), model.stream()
    got = [(one.push(a), other.push(b)) for a, b in X[:2].T]
    assert np.array(got).T[:, -1] == pytest.approx(model.decision_function(X[:2]), rel=1e-12)


@pytest.mark.parametrize(
    ("n_streams", "channels", "sample"),
    [
        (1, 1, [1.0, 2.0]), (1, 1, np.nan), (1, 1, np.inf), (2, 1, 1.0), (2, 1, [[1.0, 2.0]]),
        (1, 2, 1.0), (1, 2, [[1.0], [2.0]]), (3, 2, np.zeros((2, 3))), (3, 2, np.zeros(6)),
        (1, 1, "a"), (1, 1, []),
    ],
)  # fmt: skip
def test_wrong_samples_are_named(rng, n_streams, channels, sample):
    X = rng.normal(size=(6, channels, 4))
    stream = ElasticMarginPerceptron(**PLAIN).fit(X, [0, 1] * 3).stream(n_streams)
    with pytest.raises(ValueError, match="sample must"):
        stream.push(sample)
    assert stream.n_samples == 0


@pytest.mark.parametrize("wrong", [0, -1, 1.5])
def test_wrong_streams_are_named(data, wrong):
    model = ElasticMarginPerceptron(**PLAIN).fit(*data)
    with pytest.raises(ValueError, match="n_streams must be a positive integer, got"):
        model.stream(wrong)
    model.set_params(band=5)
    with pytest.raises(ValueError, match="stream needs band=None, got band=5"):
        model.stream()


# --- Further epochs


@pytest.mark.parametrize("polarity", ["first", "-", "symmetric"])
def test_partial_fit_is_an_epoch(data, polarity):
    X, y = data
    options = {**PLAIN, "polarity": polarity}
    one = ElasticMarginPerceptron(**options).partial_fit(X, y, classes=[0, 1])
    ref = ElasticMarginPerceptron(**{**options, "max_iter": 1}).fit(X, y)
    assert one.coef_.tolist() == ref.coef_.tolist()
    assert one.intercept_.tolist() == ref.intercept_.tolist()
    assert (one.t_, one.n_iter_) == (1, 1)


def test_partial_fit_counts_epochs(data):
    """Rates go on from where they were; the last epoch is that of a fit from the same weights."""
    X, y = data
    options = {"elasticity": 3, "shuffle": False, "random_state": 0, "margin": 1e6}
    model = ElasticMarginPerceptron(learning_rate="decay", learning_rate_init=0.1, **options)
    for _ in range(10):
        model.partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy(), model.intercept_.copy()
    model.partial_fit(X, y)
    ref = ElasticMarginPerceptron(
        learning_rate_init=0.1 / 2, warm_start=True, max_iter=1, **options
    ).fit(X, y)
    ref.coef_, ref.intercept_ = before
    ref.fit(X, y)  # after ten epochs the rate is one half
    assert model.t_ == 11
    assert model.coef_ == pytest.approx(ref.coef_, abs=1e-14)
    assert (model.coef_ != before[0]).any()


@pytest.mark.parametrize("channels", [1, 2])
def test_longer_series_add_rows(rng, channels):
    X, longer = rng.normal(size=(10, channels, 6)), rng.normal(size=(10, channels, 9))
    y = np.arange(10) % 2
    model = ElasticMarginPerceptron(elasticity=3, random_state=0).partial_fit(X, y, classes=[0, 1])
    before, values = model.coef_, model.decision_function(X)
    with pytest.raises(ValueError, match="longer than the longest training series, 6"):
        model.predict(longer)
    model.set_params(learning_rate_init=0.0).partial_fit(longer, y)
    assert model.n_features_in_ == model.coef_.shape[1] == 9
    assert model.coef_[:, :6].tolist() == before.tolist()
    assert not model.coef_[:, 6:].any()
    assert model.decision_function(X).tolist() == values.tolist()
    model.set_params(learning_rate_init=0.1).partial_fit(longer, y)
    assert model.coef_[:, 6:].any()
    assert model.partial_fit(X, y).coef_.shape[1] == 9


def test_partial_fit_after_fit(data):
    X, y = data
    model = ElasticMarginPerceptron(**PLAIN).fit(X[:20], y[:20])
    epochs = model.n_iter_
    assert model.partial_fit(X[20:], y[20:]).t_ == epochs + 1
    again = ElasticMarginPerceptron(**PLAIN).fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert again.coef_.tolist() == model.coef_.tolist()
    assert model.fit(X, y).t_ == model.n_iter_


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model, X, y: model.partial_fit(X, y), "classes must be given in the first call"),
        (lambda model, X, y: model.partial_fit(X, y, classes=[1]), "at least two classes"),
        (lambda model, X, y: model.partial_fit(X, y, classes=[1, 2]), r"not in classes: \[.*0"),
        (
            lambda model, X, y: model.fit(X, y).partial_fit(X, y, classes=[0, 1, 2]),
            "classes must stay the same",
        ),
        (lambda model, X, y: model.fit(X, np.zeros(24)), "y must hold at least two classes"),
        (lambda model, X, y: model.fit(X, y[:5]), "as many cases"),
    ],
)
def test_wrong_classes_are_named(data, call, message):
    with pytest.raises(ValueError, match=message):
        call(ElasticMarginPerceptron(**PLAIN), *data)


# --- Warm starts


def test_warm_start_goes_on(data):
    X, y = data
    options = {
        "elasticity": 3, "random_state": 0, "monitor": "loss", "tol": None,
        "learning_rate_init": 1e-3, "polarity": "first",
    }  # fmt: skip
    cold = ElasticMarginPerceptron(max_iter=30, **options).fit(X, y)
    warm = ElasticMarginPerceptron(max_iter=30, warm_start=True, **options).fit(X, y)
    assert warm.coef_.tolist() == cold.coef_.tolist()
    assert warm.fit(X, y).history_[0][0] < cold.history_[0].min()
    assert cold.fit(X, y).history_[0][0] > warm.history_[0][0]


def test_warm_start_keeps_the_positive_class(data):
    """The class of the first case ever, though another one comes first now."""
    X, y = data
    model = ElasticMarginPerceptron(warm_start=True, polarity="first", **PLAIN).fit(X, y)
    before, backwards = model.polarity_, np.argsort(y == y[0], kind="stable")
    model.set_params(learning_rate_init=0.0).fit(X[backwards], y[backwards])
    assert y[backwards][0] != y[0]
    assert model.polarity_ == before
    assert model.solutions_[0].mistakes == 0


@pytest.mark.parametrize("change", [{"elasticity": 2}, {"polarity": "+"}])
def test_warm_start_needs_weights_that_fit(data, change):
    X, y = data
    model = ElasticMarginPerceptron(warm_start=True, **PLAIN).fit(X, y)
    with pytest.raises(ValueError, match="elasticity, channels and classes must stay the same"):
        model.set_params(**change).fit(X, y)
