"""Prototype classifiers: what moves where, and what comes of it."""

import naive
import numpy as np
import pytest
from sklearn.base import clone
from ucr import labelled

from warplearn import pairwise_dtw, warping_path
from warplearn.cluster import ElasticAgglomerative, ElasticKMeans
from warplearn.mean import elastic_mean
from warplearn.neighbors.prototypes import RULES, ElasticLVQClassifier, NearestPrototypeClassifier


@pytest.fixture
def two_shapes(rng):
    t = np.linspace(0, 2 * np.pi, 20)
    y = np.array([0, 1] * 15)
    X = np.array([np.sin(t) if c else np.sin(2 * t) for c in y]) + 0.3 * rng.normal(size=(30, 20))
    return X, np.where(y == 1, "slow", "fast")


@pytest.mark.parametrize("method", ["kmeans", "ahc", "mean"])
def test_prototypes_are_those_of_the_class(method, two_shapes):
    X, y = two_shapes
    model = NearestPrototypeClassifier(method, random_state=0).fit(X, y)
    assert list(model.prototype_labels_) == ["fast", "slow"]
    slow = X[y == "slow"]
    seen = {
        "mean": lambda: elastic_mean(slow).mean,
        "ahc": lambda: ElasticAgglomerative(1).fit(slow).cluster_centers_[0],
    }
    if method in seen:
        np.testing.assert_allclose(model.prototypes_[1], seen[method]())
    else:
        single = ElasticKMeans(1, mean_iter=30, n_init=10, random_state=0).fit(slow).inertia_
        ours = (pairwise_dtw(slow, model.prototypes_[1:]) ** 2).sum()
        assert ours == pytest.approx(single, rel=0.1)
    nearest = pairwise_dtw(X, model.prototypes_).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.prototype_labels_[nearest])
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("method", ["kmeans", "ahc"])
def test_several_prototypes_hold_several_shapes(method, rng):
    """Each class has two shapes, and their mean is that of the other class: one will not do."""
    y = np.repeat([0, 0, 1], 12)
    levels = np.repeat([-5.0, 5.0, 0.0], 12)
    X = levels[:, None] + rng.normal(size=(36, 6))
    one, two = (
        NearestPrototypeClassifier(method, n_prototypes=k, random_state=0).fit(X, y).score(X, y)
        for k in (1, 2)
    )
    assert one < 0.8
    assert two == 1


def test_a_class_with_few_series_has_as_many_prototypes():
    X = np.arange(20.0).reshape(5, 4)
    model = NearestPrototypeClassifier("ahc", n_prototypes=3).fit(X, [0, 0, 0, 0, 1])
    assert list(model.prototype_labels_) == [0, 0, 0, 1]


def test_rules_move_the_right_ones():
    costs, own = np.array([4.0, 1.0, 9.0, 3.0]), np.array([True, False, True, False])
    np.testing.assert_array_equal(RULES["lvq1"](costs, own), [0, -1, 0, 0])
    np.testing.assert_array_equal(RULES["lvq1"](costs, ~own), [0, 1, 0, 0])
    moves = RULES["glvq"](costs, own)
    assert moves[0] > 0 > moves[1]
    assert moves[2] == moves[3] == 0
    assert moves[0] / -moves[1] == pytest.approx(1 / 4)
    on_border = RULES["glvq"](np.array([2.0, 2.0]), np.array([True, False]))
    np.testing.assert_allclose(on_border, [1.0, -1.0])
    np.testing.assert_array_equal(RULES["glvq"](np.zeros(2), np.array([True, False])), [0, 0])


def test_glvq_is_a_gradient():
    """Of the cost in squared distances, up to the documented scale."""
    own = np.array([True, False])

    def cost(costs):
        mu = (costs[0] - costs[1]) / costs.sum()
        return 1 / (1 + np.exp(-mu))

    at, step = np.array([2.0, 3.0]), 1e-6
    slopes = np.array([(cost(at + e) - cost(at - e)) / (2 * step) for e in step * np.eye(2)])
    np.testing.assert_allclose(RULES["glvq"](at, own), 4 * at.sum() * slopes, rtol=1e-6)


def test_one_update_goes_part_of_the_way_to_what_is_aligned(rng):
    X, y = rng.normal(size=(2, 9)), [0, 1]
    start = NearestPrototypeClassifier("mean").fit(X, y).prototypes_
    np.testing.assert_allclose(start, X)
    X2 = np.concatenate([X, X[:1] + 0.4 * rng.normal(size=(1, 9))])
    y2 = [0, 1, 0]
    before = NearestPrototypeClassifier("mean").fit(X2, y2).prototypes_
    model = ElasticLVQClassifier(
        "lvq1", init="mean", max_iter=1, learning_rate_init=0.25, random_state=1
    )
    model.fit(X2, y2)
    prototypes = before.copy()
    # The generator first draws a seed for each class, then the order.
    generator = np.random.RandomState(1)
    for _ in range(2):
        generator.randint(2**31 - 1)
    for case in generator.permutation(3):
        winner = int(pairwise_dtw(X2[case : case + 1], prototypes).argmin())
        path = warping_path(X2[case], prototypes[winner]).path
        aligned = [X2[case][path[path[:, 1] == j, 0]].mean() for j in range(9)]
        sign = 1 if winner == y2[case] else -1
        prototypes[winner] += sign * 0.25 * (aligned - prototypes[winner])
    np.testing.assert_allclose(model.prototypes_, prototypes)


@pytest.mark.parametrize("rule", ["lvq1", "glvq"])
def test_learning_lowers_the_training_error(rule, rng):
    """Class means are the worst start: one class lies around the other."""
    X = rng.normal(size=(60, 8))
    y = (np.abs(X.mean(axis=1)) > 0.3).astype(int)
    model = ElasticLVQClassifier(
        rule, n_prototypes=4, learning_rate_init=0.2, max_iter=15, random_state=0
    ).fit(X, y)
    (history,) = model.history_
    assert history.min() < history[0]
    assert 1 - model.score(X, y) == pytest.approx(history.min())
    assert len(history) == 16


def test_seeds(two_shapes):
    X, y = two_shapes
    one, same = (
        ElasticLVQClassifier(max_iter=2, random_state=3).fit(X, y).prototypes_ for _ in range(2)
    )
    np.testing.assert_array_equal(one, same)


def test_ragged_multivariate_and_banded(rng):
    y = [0, 1] * 10
    X = [rng.normal(size=(2, k)) + 4 * c for k, c in zip(rng.integers(6, 12, 20), y, strict=True)]
    for model in (
        NearestPrototypeClassifier("ahc", n_prototypes=2, length=8, band=7),
        ElasticLVQClassifier(max_iter=2, length=8, random_state=0),
    ):
        assert model.fit(X, y).score(X, y) == 1
        assert model.prototypes_.shape[1:] == (2, 8)


def test_progress(two_shapes, capsys):
    ElasticLVQClassifier(max_iter=2, verbose=1, random_state=0).fit(*two_shapes)
    assert capsys.readouterr().out.count("training error") == 3


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (NearestPrototypeClassifier("median"), "method must be one of .* got 'median'"),
        (NearestPrototypeClassifier("mean", n_prototypes=2), "n_prototypes must be 1 .* got 2"),
        (NearestPrototypeClassifier(n_prototypes=0), "n_prototypes == 0, must be >= 1"),
        (ElasticLVQClassifier("lvq3"), "rule must be one of .* got 'lvq3'"),
        (
            ElasticLVQClassifier(learning_rate_init=-1.0),
            "learning_rate_init must be a number from 0",
        ),
    ],
)
def test_errors_name_the_argument(model, says):
    with pytest.raises(ValueError, match=says):
        model.fit(np.arange(12.0).reshape(3, 4), [0, 1, 0])


@pytest.mark.parametrize(
    ("name", "method", "paper"),
    [
        ("GunPoint", "kmeans", 32.7),
        ("GunPoint", "ahc", 32.7),
        ("ItalyPowerDemand", "kmeans", 21.5),
        ("ItalyPowerDemand", "ahc", 21.5),
        ("MoteStrain", "ahc", 13.3),
    ],
)
def test_near_the_columns_of_the_paper(name, method, paper):
    """NN+KME and NN+AHC with one prototype a class depend on starts the paper does not give."""
    X, y = labelled(name, "TRAIN")
    queries, labels = labelled(name, "TEST")
    model = NearestPrototypeClassifier(method, random_state=0).fit(X, y)
    assert 100 * (1 - model.score(queries, labels)) == pytest.approx(paper, abs=6)


# Other costs


@pytest.mark.parametrize("cost", ["absolute", "gaussian"])
@pytest.mark.parametrize(
    "model",
    [
        NearestPrototypeClassifier("kmeans", n_prototypes=2, random_state=0),
        NearestPrototypeClassifier("ahc"),
        NearestPrototypeClassifier("mean"),
        ElasticLVQClassifier("glvq", max_iter=2, random_state=0),
        ElasticLVQClassifier("lvq1", max_iter=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_costs(model, cost, two_shapes):
    X, y = two_shapes
    model = clone(model).set_params(cost=cost).fit(X, y)
    assert model.score(X, y) > 0.8
    winners = naive.pairwise(X[:3], model.prototypes_, cost=cost).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(X[:3]), model.prototype_labels_[winners])


@pytest.mark.parametrize("model", [NearestPrototypeClassifier("ahc"), ElasticLVQClassifier()])
def test_symbols(model):
    words, y = ["AAB", "AB", "AABB", "CCB", "CB", "CBB"], [0, 0, 0, 1, 1, 1]
    model = clone(model).set_params(random_state=0).fit(words, y)
    np.testing.assert_array_equal(model.predict(["AAAB", "CBB"]), [0, 1])
    with pytest.raises(ValueError, match="derivative 0"):
        model.set_params(cost="mismatch").fit(words, y)
