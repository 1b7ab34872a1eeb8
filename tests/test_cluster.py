"""Clusters: descent, seeding, batches, maps and trees, and tslearn from the same seeds."""

from typing import NamedTuple

import naive
import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from ucr import labelled

from warplearn import Alphabet, SeriesCollection, pairwise_dtw
from warplearn.cluster import ElasticAgglomerative, ElasticKMeans, ElasticSOM, kmeans
from warplearn.elastic.costs import like, maximum, register, where
from warplearn.mean import Averaging, Descent, elastic_mean
from warplearn.series.chunks import total


@pytest.fixture
def groups(rng):
    """Three shapes at different paces and their labels."""
    labels = np.repeat([0, 1, 2], 10)
    shapes = [np.sin, lambda t: 2 * np.cos(t), lambda t: t / 2 - 1.5]
    paces = [np.linspace(0, 1, 24) ** p * 6 for p in rng.uniform(0.8, 1.25, size=30)]
    X = np.array([shapes[c](t) for c, t in zip(labels, paces, strict=True)])
    return X + 0.05 * rng.normal(size=X.shape), labels


def inertia_of(X, centres):
    return (pairwise_dtw(X, centres).min(axis=1) ** 2).sum()


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_finds_the_groups(init, groups):
    X, labels = groups
    model = ElasticKMeans(3, init=init, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == 1
    assert model.inertia_ == pytest.approx(inertia_of(X, model.cluster_centers_))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X), pairwise_dtw(X, model.cluster_centers_))


def test_inertia_never_increases(groups, capsys):
    X, _ = groups
    model = ElasticKMeans(4, init=X[:4], tol=0, mean_iter=1, max_iter=12, verbose=1).fit(X)
    (history,) = model.history_
    assert len(history) > 3
    assert (np.diff(history) <= 0).all()
    printed = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    np.testing.assert_allclose(printed, history, rtol=1e-5)


def test_one_cluster_is_the_mean(groups):
    X, _ = groups
    model = ElasticKMeans(1, init=X[:1], max_iter=1, mean_iter=7, tol=0).fit(X)
    ref = elastic_mean(X, init=X[0], max_iter=7, tol=0)
    np.testing.assert_allclose(model.cluster_centers_[0], ref.mean)
    assert model.inertia_ == pytest.approx(ref.variation)


@pytest.mark.parametrize("method", ["gradient", "stochastic"])
@pytest.mark.parametrize("space", ["series", "matrix"])
def test_other_means(method, space, groups):
    X, labels = groups
    model = ElasticKMeans(
        3, method=method, space=space, length=6, n_init=3, max_iter=5, mean_iter=2, random_state=0
    ).fit(X)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    assert model.cluster_centers_.shape == {"series": (3, 6), "matrix": (3, 24, 6)}[space]
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("cost", ["squared", "absolute"])
def test_a_pass_over_the_series_serves_all_means(cost, groups, monkeypatch):
    X, _ = groups
    passes = []

    def counted(*args, **options):
        passes.append(args)
        return total(*args, **options)

    monkeypatch.setattr("warplearn.averaging.objective.total", counted)
    sweeps, halvings = 2, 1
    for k in (1, 2, 5):
        passes.clear()
        method = Averaging() if cost == "squared" else Descent(halvings)
        options = {"max_iter": 1, "mean_iter": sweeps, "tol": 0, "cost": cost, "method": method}
        ElasticKMeans(k, init=X[:k], **options).fit(X)
        assert len(passes) == sweeps * (1 if cost == "squared" else 1 + halvings) + 1


def test_best_of_several_runs(groups):
    X, _ = groups
    runs = [
        ElasticKMeans(3, init="random", random_state=s, max_iter=3).fit(X).inertia_
        for s in range(6)
    ]
    rng = np.random.RandomState(0)
    best = ElasticKMeans(3, init="random", random_state=rng, n_init=8, max_iter=3).fit(X).inertia_
    assert best < max(runs)
    assert (
        ElasticKMeans(3, init="random", random_state=0, n_init=3, max_iter=3).fit(X).inertia_
        <= runs[0]
    )


def test_seeding_spreads_out(groups):
    X, labels = groups
    spread = 0
    for seed in range(20):
        model = ElasticKMeans(3, random_state=seed)
        seeds = kmeans._plus_plus(
            model, SeriesCollection.of(X), np.ones(30), np.random.RandomState(seed)
        )
        spread += len(set(labels[seeds])) == 3
    assert spread >= 18


def test_seeding_of_equal_series_takes_different_ones():
    X = SeriesCollection.of(np.ones((5, 3)))
    seeds = kmeans._plus_plus(ElasticKMeans(3), X, np.ones(5), np.random.RandomState(0))
    assert len(set(seeds)) == 3


def test_empty_cluster_gets_the_worst_series(groups):
    X, _ = groups
    far = np.full(24, 1000.0)
    model = ElasticKMeans(2, init=np.stack([X[0], far]), max_iter=1).fit(X)
    assert (model.cluster_centers_[1] < 100).all()
    assert len(np.unique(model.predict(X))) == 2


def test_weights_are_repetitions(groups, rng):
    X, _ = groups
    weights = rng.integers(0, 3, size=len(X))
    start = X[[0, 10, 20]]
    got = ElasticKMeans(3, init=start, max_iter=4, tol=0).fit(X, sample_weight=weights)
    ref = ElasticKMeans(3, init=start, max_iter=4, tol=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(got.cluster_centers_, ref.cluster_centers_)
    assert got.inertia_ == pytest.approx(ref.inertia_)


def test_batches(groups):
    X, labels = groups
    model = ElasticKMeans(3, batch_size=8, random_state=0, max_iter=5).fit(X)
    assert adjusted_rand_score(labels, model.labels_) == 1
    assert model.n_steps_ == 4 * model.n_iter_
    full = ElasticKMeans(3, random_state=0).fit(X)
    assert model.inertia_ < 2 * full.inertia_


def test_partial_fit_is_a_running_mean(rng):
    """With centres far apart and series of length one it is the mean of all that came."""
    X = rng.normal(size=(40, 1)) + np.repeat([[-50.0], [50.0]], 20, axis=0)
    model = ElasticKMeans(2, init=np.array([[-40.0], [40.0]]))
    for batch in np.split(rng.permutation(40), 5):
        model.partial_fit(X[batch])
    np.testing.assert_allclose(model.cluster_centers_[:, 0], [X[:20].mean(), X[20:].mean()])
    assert model.n_steps_ == 5


def test_a_batch_after_a_fit_weighs_what_it_weighs():
    """Twenty series are at 0; one more, at 21, moves their centre by one."""
    model = ElasticKMeans(1, init=np.zeros((1, 3))).fit(np.zeros((20, 3)))
    model.partial_fit(np.full((1, 3), 21.0))
    np.testing.assert_allclose(model.cluster_centers_, [[1.0, 1.0, 1.0]])


def test_ragged_and_multivariate(rng):
    X = [rng.normal(size=(2, k)) + 5 * (k % 2) for k in rng.integers(5, 12, size=24)]
    groups_of = [x.shape[1] % 2 for x in X]
    for model in (
        ElasticKMeans(2, random_state=0, n_init=3),
        ElasticAgglomerative(2),
        ElasticKMeans(2, random_state=0, space="matrix", length=3, n_init=3),
    ):
        assert adjusted_rand_score(groups_of, model.fit(X).labels_) == 1
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert ElasticAgglomerative(2, length=7).fit(X).cluster_centers_.shape == (2, 2, 7)


def test_longer_series_have_no_place_in_matrices(groups):
    X, _ = groups
    model = ElasticKMeans(2, space="matrix", length=3, random_state=0, max_iter=1).fit(X[:, :10])
    with pytest.raises(ValueError, match=r"X\[0\] has length 24, but the matrices .* have 10 rows"):
        model.predict(X)


@pytest.mark.parametrize("linkage_method", ["ward", "average"])
def test_agglomerative_is_scipys_tree_with_means(linkage_method, groups):
    X, labels = groups
    model = ElasticAgglomerative(3, linkage=linkage_method).fit(X)
    tree = linkage(squareform(pairwise_dtw(X)), linkage_method)
    np.testing.assert_allclose(model.linkage_matrix_, tree)
    assert adjusted_rand_score(fcluster(tree, 3, "maxclust"), model.labels_) == 1
    assert adjusted_rand_score(labels, model.labels_) == 1
    ref = elastic_mean(X[model.labels_ == 1]).mean
    np.testing.assert_allclose(model.cluster_centers_[1], ref)


def test_map_orders_what_it_learned(rng):
    """Levels along a line: neighbours on the grid are neighbours in value."""
    levels = rng.permutation(np.linspace(0, 10, 60))
    X = levels[:, None] + 0.01 * rng.normal(size=(60, 8))
    model = ElasticSOM((1, 6), max_iter=15, random_state=0).fit(X)
    heights = model.cluster_centers_.mean(axis=1)
    steps = np.sign(np.diff(heights))
    assert abs(steps.sum()) == 5
    assert model.topographic_error_ == 0
    assert model.quantization_error_ == pytest.approx(
        pairwise_dtw(X, model.cluster_centers_).min(1).mean()
    )
    untrained = ElasticSOM((1, 6), max_iter=1, random_state=0).fit(X)
    assert model.quantization_error_ < untrained.quantization_error_


def test_topographic_error_counts_torn_places():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = ElasticSOM((1, 4), max_iter=1, random_state=0).fit(X)
    model.cluster_centers_ = np.array([[0.0], [9.0], [1.0], [2.0]])
    assert model.topographic_error([[0.1], [2.1]]) == 0.5  # units 0 and 2, units 3 and 2


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (ElasticKMeans(0), "n_clusters == 0, must be >= 1"),
        (ElasticKMeans(9), "n_clusters must be at most n_samples=3, got 9"),
        (ElasticKMeans(2, init="best"), "init must be one of .* got 'best'"),
        (
            ElasticKMeans(2, init=np.zeros((3, 4))),
            "init must hold n_clusters=2 series .* got 3 of 1",
        ),
        (ElasticKMeans(2, method="newton"), "method must be one of .* got 'newton'"),
        (ElasticKMeans(2, space="time"), "space must be one of .* got 'time'"),
        (ElasticKMeans(2, batch_size=0), "batch_size == 0, must be >= 1"),
        (ElasticKMeans(2, band=0.0, length=9), "band=0.0 leaves no warping path"),
        (ElasticSOM((0, 2)), r"grid must be two positive integers, got \(0, 2\)"),
        (ElasticSOM(width=0.1), "width == 0.1, must be >= 0.3"),
        (ElasticAgglomerative(4), "n_clusters must be at most n_samples=3, got 4"),
    ],
)
def test_errors_name_the_argument(model, says):
    with pytest.raises(ValueError, match=says):
        model.fit(np.arange(12.0).reshape(3, 4) ** 2)


@pytest.mark.parametrize("name", ["Trace", "CBF", "GunPoint", "SyntheticControl"])
def test_inertia_is_at_most_that_of_tslearn(name, rng):
    """From the same seeds, with as many iterations, and otherwise the defaults of both."""
    peer = pytest.importorskip("tslearn.clustering")
    X, labels = labelled(name, "TRAIN")
    k = len(np.unique(labels))
    start = X[rng.choice(len(X), k, replace=False)]
    ours = ElasticKMeans(k, init=start, max_iter=3).fit(X)
    theirs = peer.TimeSeriesKMeans(k, metric="dtw", init=start[..., None], max_iter=3)
    theirs.fit(X[..., None])
    assert ours.inertia_ <= inertia_of(X, theirs.cluster_centers_[..., 0]) * (1 + 1e-6)


# Other costs


COSTS = ["absolute", "gaussian"]


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(
    "model",
    [
        ElasticKMeans(3, n_init=3, max_iter=5, mean_iter=3, random_state=0),
        ElasticKMeans(3, batch_size=10, n_init=3, max_iter=3, random_state=0),
        ElasticAgglomerative(3, max_iter=3),
        ElasticAgglomerative(3, linkage="average", max_iter=0),
    ],
    ids=["kmeans", "batches", "ahc", "medoids"],
)
def test_other_costs(model, cost, groups):
    X, labels = groups
    model = clone(model).set_params(cost=cost).fit(X)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    distances = naive.pairwise(X[::5], model.cluster_centers_, cost=cost)
    np.testing.assert_allclose(model.transform(X[::5]), distances)
    np.testing.assert_array_equal(model.predict(X[::5]), distances.argmin(axis=1))
    if isinstance(model, ElasticKMeans):
        least = pairwise_dtw(X, model.cluster_centers_, cost=cost).min(axis=1)
        assert model.inertia_ == pytest.approx((least**2 if cost == "gaussian" else least).sum())


@pytest.mark.parametrize("cost", COSTS)
def test_maps_of_other_costs(cost, groups):
    X, _ = groups
    model = ElasticSOM((2, 2), cost=cost, max_iter=6, random_state=0).fit(X)
    (history,) = model.history_
    assert len(history) == 7
    assert history[-1] < 0.8 * history[0]
    least = pairwise_dtw(X, model.cluster_centers_, cost=cost).min(axis=1)
    assert model.quantization_error_ == history[-1] == pytest.approx(least.mean())


@pytest.mark.parametrize("cost", COSTS)
def test_partial_fit_with_other_costs_lowers_the_inertia(cost, groups):
    X, _ = groups
    model = ElasticKMeans(3, cost=cost, random_state=0)
    inertia = [model.partial_fit(X).inertia_ for _ in range(6)]
    assert inertia[-1] < inertia[0]


def test_symbols(rng):
    words = ["A" * i + "B" * (9 - i) for i in range(2, 8)] + [
        "B" * i + "C" * 3 for i in range(1, 7)
    ]
    for model in (ElasticKMeans(2, n_init=3, random_state=0), ElasticAgglomerative(2)):
        labels = model.fit(words).labels_
        assert len(set(labels[:6])) == len(set(labels[6:])) == 1
        assert labels[0] != labels[-1]
        assert model.alphabet_.symbols == ("A", "B", "C")
        np.testing.assert_array_equal(model.predict(words), labels)
    given = ElasticKMeans(2, init=["AB", "BC"], alphabet=Alphabet("CBA"), max_iter=1).fit(words)
    np.testing.assert_array_equal(given.labels_, np.repeat([0, 1], 6))
    with pytest.raises(ValueError, match="'X' at case 0"):
        given.predict(["ABX"])


class OneSided(NamedTuple):
    """Twice as dear where x is the greater: not symmetric."""


def _one_sided(cost, x, w):
    return -maximum(2.0 * (x - w), w - x)


def _one_sided_gradient(cost, x, w):
    slope = where(x > w, like(x, -2.0), like(x, 1.0))
    return slope, -slope


register(OneSided, _one_sided, _one_sided_gradient)


def test_asymmetric_costs_go_from_series_to_centres(groups):
    X, labels = groups
    model = ElasticKMeans(3, cost=OneSided(), n_init=3, max_iter=3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, model.labels_) > 0.9
    ref = naive.pairwise(
        X[:2], model.cluster_centers_, cost="absolute",
        score=lambda x, w: -max(2 * (x - w), w - x),
    )  # fmt: skip
    np.testing.assert_allclose(model.transform(X[:2]), ref)
    with pytest.raises(ValueError, match=r"cost must be symmetric .* got OneSided\(\)"):
        ElasticAgglomerative(3, cost=OneSided()).fit(X)


@pytest.mark.parametrize(
    "model",
    [ElasticKMeans(2), ElasticSOM((1, 2)), ElasticAgglomerative(2), ElasticKMeans(2, batch_size=2)],
)
@pytest.mark.parametrize(
    ("cost", "says"), [("mismatch", "derivative 0"), ("product", "a distance")]
)
def test_costs_without_means(model, cost, says):
    with pytest.raises(ValueError, match=f"cost.*{says}"):
        clone(model).set_params(cost=cost).fit(np.arange(12.0).reshape(4, 3))
