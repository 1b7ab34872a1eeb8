"""Means against enumeration, against the paper's equations, and against tslearn."""

import naive
import numpy as np
import pytest

from warplearn import (
    Alphabet,
    SeriesCollection,
    active_path,
    elastic_distance,
    embed,
    pairwise_dtw,
)
from warplearn.averaging.methods import minimize, resolve_method
from warplearn.averaging.objective import Objective
from warplearn.elastic.costs import resolve
from warplearn.mean import Averaging, ElasticMean, Gradient, Stochastic, elastic_mean
from warplearn.series import chunks

METHODS = ["dba", "gradient", "stochastic"]


def walks(rng, count=12, length=15):
    return rng.normal(size=(count, length)).cumsum(axis=1)


def ragged_walks(rng, channels):
    return [rng.normal(size=(channels, k)).cumsum(axis=1) for k in (9, 14, 11, 14, 6, 12, 10)]


@pytest.mark.parametrize("band", [None, 2])
def test_one_step_of_averaging_is_the_mean_of_what_is_aligned(band, rng):
    X, z = walks(rng, 5, 6), rng.normal(size=4)
    Z = naive.stacked(z[:, None], 6)
    aligned = [[] for _ in z]
    for x in X:
        local = naive.local_scores(x[:, None], Z, naive.SCORES["squared"])
        for i, j in naive.best(local, band)[1]:
            aligned[j].append(x[i])
    got = elastic_mean(X, init=z, max_iter=1, tol=0, band=band)
    np.testing.assert_allclose(got.mean, [np.mean(a) for a in aligned])
    assert got.history[0] == pytest.approx((pairwise_dtw(X, z[None], band) ** 2).sum())
    assert got.history[1] == pytest.approx((pairwise_dtw(X, got.mean[None], band) ** 2).sum())


def test_special_rate_is_the_mean_of_the_embedded_series(rng):
    """Equation ggm-elastic-mean-2, with the sign of the reading notes."""
    X = walks(rng, 6, 8)
    start = elastic_mean(X, space="matrix", length=4, init="euclidean", max_iter=0).mean
    got = elastic_mean(X, space="matrix", length=4, init="euclidean", max_iter=1, method="gradient")
    ref = np.mean([embed(x, start, active_path(x, start, cost="squared")) for x in X], axis=0)
    np.testing.assert_allclose(got.mean, ref)


@pytest.mark.parametrize(
    ("method", "space"), [("dba", "series"), ("dba", "matrix"), ("gradient", "matrix")]
)
@pytest.mark.parametrize("channels", [1, 2])
def test_variation_never_increases(method, space, channels, rng):
    X = ragged_walks(rng, channels)
    weights = rng.uniform(0.1, 2, size=len(X))
    for init in ("random", "euclidean"):
        got = elastic_mean(
            X, method=method, space=space, init=init, sample_weight=weights, max_iter=25, tol=0,
            random_state=0,
        )  # fmt: skip
        assert (np.diff(got.history) <= 1e-12 * got.history[0]).all()
        assert got.history[-1] < 0.9 * got.history[0]
        assert got.variation == got.history.min()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("space", ["series", "matrix"])
def test_variation_is_that_of_the_mean(method, space, rng):
    X = walks(rng)
    got = elastic_mean(X, method=method, space=space, length=7, random_state=0, max_iter=6)
    matrix = got.mean if space == "matrix" else np.stack([got.mean] * X.shape[1])
    assert matrix.shape == (15, 7)
    assert (elastic_distance(X, matrix) ** 2).sum() == pytest.approx(got.variation)
    assert got.variation < got.history[0]


def test_series_and_matrices_with_equal_rows_start_alike(rng):
    X = walks(rng)
    in_series = elastic_mean(X, init="medoid", max_iter=1)
    in_matrix = elastic_mean(X, init="medoid", max_iter=1, space="matrix")
    assert in_series.history[0] == pytest.approx(in_matrix.history[0])
    assert in_matrix.variation < in_series.variation  # more to choose from


def test_equals_tslearn_after_each_sweep(rng):
    tslearn = pytest.importorskip("tslearn.barycenters")
    X = walks(rng, 20, 30)
    start = X[3]
    got = elastic_mean(X, init=start, max_iter=6, tol=0)
    assert len(got.history) == 7
    for sweeps in range(1, 7):
        peer = tslearn.dtw_barycenter_averaging(
            X[..., None], max_iter=sweeps, tol=0, init_barycenter=start[:, None]
        )
        variation = (pairwise_dtw(X, [peer[:, 0]]) ** 2).sum()
        assert got.history[sweeps] == pytest.approx(variation, rel=1e-6)


def test_weights_are_repetitions_and_zeros_are_absences(rng):
    X = walks(rng)
    weights = np.array([2, 0, 1, 3, 0, 1, 1, 2, 1, 0, 1, 1])
    got = elastic_mean(X, sample_weight=weights, max_iter=5, tol=0)
    ref = elastic_mean(np.repeat(X, weights, axis=0), max_iter=5, tol=0)
    np.testing.assert_allclose(got.mean, ref.mean)
    np.testing.assert_allclose(got.history, ref.history)


@pytest.mark.parametrize("method", METHODS)
def test_scale_of_the_weights_is_nothing_to_the_mean(method, rng):
    X = walks(rng)
    weights = rng.uniform(size=len(X))
    got, ref = (
        elastic_mean(X, method=method, sample_weight=w, max_iter=3, random_state=0)
        for w in (weights, 10 * weights)
    )
    np.testing.assert_allclose(got.mean, ref.mean)


def test_a_smaller_rate_goes_less_far(rng):
    X = walks(rng)
    start, near, far = (
        elastic_mean(X, init="medoid", method=Gradient(rate), max_iter=1, tol=0).history[-1]
        for rate in (0.0, 0.001, 0.005)
    )
    assert far < near < start


def test_stochastic_depends_on_the_seed_alone(rng):
    X = walks(rng)
    one, same, other = (
        elastic_mean(X, method=Stochastic(0.1), random_state=seed, max_iter=2).mean
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_own_method():
    """A method is an object with a `sweep`."""

    class Stay:
        def sweep(self, objective, Y, number, rng):
            return objective.values(Y), Y

    X = [[0.0, 1.0], [0.0, 3.0]]
    got = elastic_mean(X, method=Stay(), init=[0.0, 2.0])
    np.testing.assert_array_equal(got.mean, [0.0, 2.0])
    assert got.variation == 2.0


@pytest.mark.parametrize("space", ["series", "matrix"])
@pytest.mark.parametrize(
    ("method", "cost"), [("dba", "squared"), ("gradient", "squared"), ("descent", "absolute")]
)
def test_means_that_move_together_are_those_that_move_alone(method, cost, space, rng):
    """Each of them stops when it would alone; one of them has no weight at all."""
    X = SeriesCollection.of(walks(rng, 23, 9))
    weights, labels = rng.uniform(size=23), np.arange(23) % 4
    weights[labels == 2] = 0
    local, _ = resolve(cost)
    rows = {"series": (), "matrix": (9,)}[space]
    Y = np.broadcast_to(rng.normal(size=(4, *(1 for _ in rows), 6, 1)), (4, *rows, 6, 1))
    options = {"max_iter": 12, "tol": 1e-2, "rng": np.random.RandomState(0)}
    whole = Objective.of(X, weights, local)
    got = minimize(whole.split(labels, np.eye(4)), Y, resolve_method(method, local), **options)
    assert len({len(history) for history in got.histories}) > 1
    for c in range(4):
        alone = Objective.of(X, weights * (labels == c), local)
        one = minimize(alone, Y[[c]], resolve_method(method, local), **options)
        np.testing.assert_allclose(got.Y[c], one.Y[0], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(got.histories[c], one.histories[0], rtol=1e-10)
        assert got.variations[c] == min(got.histories[c])


def test_series_that_belong_to_several_means(rng):
    """The weight of a series in a mean is its own, times the share of its label."""
    X, Y = SeriesCollection.of(walks(rng, 10, 8)), rng.normal(size=(3, 5, 1))
    weights, labels, shares = rng.uniform(size=10), np.arange(10) % 2, rng.uniform(size=(3, 2))
    shares[1, 0] = 0
    local, _ = resolve("squared")
    objective = Objective.of(X, weights, local).split(labels, shares)
    at = objective.values_and_forces(Y)
    np.testing.assert_allclose(objective.values(Y), at.variations)
    for mean, own in enumerate(weights * shares[:, labels]):
        np.testing.assert_array_equal(objective.weights_in(mean), own)
        assert objective.sums()[mean] == pytest.approx(own.sum())
        alone = Objective.of(X, own, local).values_and_forces(Y[[mean]])
        for got, expected in zip(at, alone, strict=True):
            np.testing.assert_allclose(got[mean], expected[0], rtol=1e-10, atol=1e-12)


def test_starts(rng):
    X = walks(rng, 8)

    def start(**options):
        return elastic_mean(X, max_iter=0, **options).mean

    medoid = (pairwise_dtw(X) ** 2).sum(axis=1).argmin()
    np.testing.assert_array_equal(start(init="medoid"), X[medoid])
    np.testing.assert_allclose(start(init="euclidean"), X.mean(axis=0))
    assert any(np.array_equal(start(init="random", random_state=0), x) for x in X)
    ramp = np.arange(4.0)
    np.testing.assert_array_equal(start(init=ramp), ramp)
    np.testing.assert_allclose(start(init=ramp, length=7), np.arange(7) / 2)


def test_parts_of_any_size_give_the_same(rng, monkeypatch):
    X = walks(rng, 40, 20)
    ref = elastic_mean(X, max_iter=4)
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 3 * 20 * 8)
    np.testing.assert_allclose(elastic_mean(X, max_iter=4).mean, ref.mean)


def test_threads_give_the_same(rng, two_threads):
    X = walks(rng, 80)
    one, two = (elastic_mean(X, max_iter=3, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.mean, two.mean)


def test_dtype_stays(rng):
    X = walks(rng)
    got = elastic_mean(X.astype(np.float32), max_iter=3, tol=0)
    assert got.mean.dtype == np.float32
    np.testing.assert_allclose(
        got.mean, elastic_mean(X, max_iter=3, tol=0).mean, rtol=1e-3, atol=1e-3
    )


def test_memory_map(rng, tmp_path):
    X = walks(rng)
    np.save(tmp_path / "X.npy", X)
    got = elastic_mean(np.load(tmp_path / "X.npy", mmap_mode="r"), max_iter=3)
    np.testing.assert_array_equal(got.mean, elastic_mean(X, max_iter=3).mean)


def test_progress(rng, capsys):
    elastic_mean(walks(rng), max_iter=2, tol=0, verbose=1)
    assert capsys.readouterr().out.count("ElasticMean: sweep") == 3


def test_equal_series_end_at_once():
    got = elastic_mean([[1.0, 2.0]] * 3)
    assert got.variation == 0
    assert len(got.history) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "newton"}, "method must be one of .*'dba'.* got 'newton'"),
        ({"method": Averaging}, "method must be one of"),
        ({"space": "time"}, "space must be one of .* got 'time'"),
        ({"init": "best"}, "init must be one of .* got 'best'"),
        ({"init": np.zeros((2, 4))}, r"init must have 1 channel\(s\), as X has, got 2"),
        ({"length": 0}, "length == 0, must be >= 1"),
        ({"max_iter": -1}, "max_iter == -1, must be >= 0"),
        ({"tol": -1.0}, "tol must be a number from 0"),
        ({"sample_weight": [0, 0]}, "at least one non-zero"),
        ({"sample_weight": [1, -1]}, "[Nn]egative"),
    ],
)
def test_errors_name_the_argument(options, says):
    with pytest.raises(ValueError, match=says):
        elastic_mean([[1.0, 2.0], [3.0, 4.0]], **options)


# Other costs


def naive_variation(X, Y, cost, band=None):
    """Summed costs of aligning series (channels, time) with a mean (m, channels)."""
    costs = []
    for x in X:
        local = naive.local_scores(x.T, naive.stacked(Y, x.shape[1]), naive.SCORES[cost])
        costs.append(-naive.best(local, band)[0])
    return np.array(costs)


@pytest.mark.parametrize("cost", ["absolute", "gaussian"])
@pytest.mark.parametrize("channels", [1, 2])
def test_other_costs_fall_to_the_variation_of_their_mean(cost, channels, rng):
    X = [0.5 * x for x in ragged_walks(rng, channels)]
    weights = rng.uniform(0.1, 2, size=len(X))
    got = elastic_mean(X, cost=cost, sample_weight=weights, length=8, init="euclidean", tol=1e-4)
    assert (np.diff(got.history) <= 0).all()
    assert got.variation < 0.95 * got.history[0]
    Y = np.atleast_2d(got.mean).T
    assert got.variation == pytest.approx(weights @ naive_variation(X, Y, cost))
    model = ElasticMean(cost=cost, length=8, init="euclidean", tol=1e-4)
    score = model.fit(X, sample_weight=weights).score(X)
    assert -score == pytest.approx(naive_variation(X, Y, cost).sum())


@pytest.mark.parametrize("cost", ["squared", "absolute", "gaussian"])
def test_one_gradient_step_is_along_the_active_paths(cost, rng):
    X, z = 0.5 * walks(rng, 5, 6), rng.normal(size=(4, 1))
    Z = naive.stacked(z, 6)
    force = np.zeros((4, 1))
    for x in X:
        path = naive.best(naive.local_scores(x[:, None], Z, naive.SCORES[cost]))[1]
        force += naive.gradient_along(path, x[:, None], Z, naive.SLOPES[cost])[1].sum(axis=0) / 2
    stay = elastic_mean(X, cost=cost, method=Gradient(0.0), init=z[:, 0], max_iter=1, tol=0)
    objective = Objective.of(SeriesCollection.of(X), np.ones(5), resolve(cost)[0])
    at = objective.values_and_forces(z[None])
    np.testing.assert_allclose(at.force, force[None])
    assert at.variations == pytest.approx([stay.variation])
    assert at.variations == pytest.approx([naive_variation(X[:, None], z, cost).sum()])


def test_the_mean_of_the_absolute_cost_is_a_median(rng):
    """Series of one element: there is one path, and nothing to warp."""
    X = rng.normal(size=(31, 1))
    got = elastic_mean(X, cost="absolute", init=[4.0], max_iter=100, tol=0)
    least = np.abs(X - np.median(X)).sum()
    assert got.variation == pytest.approx(least, rel=1e-3)


def test_descent_of_the_squared_cost_is_as_good_as_averaging(rng):
    X = walks(rng)
    dba, descent = (elastic_mean(X, method=m, max_iter=60) for m in ("dba", "descent"))
    assert (np.diff(descent.history) <= 0).all()
    assert descent.variation < 1.05 * dba.variation


@pytest.mark.parametrize("cost", ["absolute", "gaussian"])
def test_starts_of_other_costs(cost, rng):
    X = walks(rng, 8)
    costs = pairwise_dtw(X, cost=cost) ** (2 if cost == "gaussian" else 1)
    got = elastic_mean(X, cost=cost, max_iter=0).mean
    np.testing.assert_array_equal(got, X[costs.sum(axis=1).argmin()])


def test_a_cost_without_a_derivative_has_medoids_only():
    codes = Alphabet("ABC", encoding="codes")
    words = ["ABBA", "ABAB", "ABBC", "CCCC"]
    with pytest.raises(ValueError, match=r"cost=Mismatch\(\) has the derivative 0 everywhere"):
        elastic_mean(words, cost="mismatch", alphabet=codes)
    got = elastic_mean(words, cost="mismatch", alphabet=codes, max_iter=0)
    distances = pairwise_dtw(SeriesCollection.of(words, alphabet=codes), cost="mismatch")
    medoid = distances.sum(axis=0).argmin()
    assert codes.decode(SeriesCollection.of([got.mean])) == [list(words[medoid])]
    assert got.variation == distances[medoid].sum()


def test_symbols():
    words = ["ABBA", "ABA", "ABBBA"]
    model = ElasticMean().fit(words)
    assert model.alphabet_.symbols == ("A", "B")
    assert model.alphabet_.decode(SeriesCollection.of([model.mean_])) == [list("ABBA")]
    assert model.score(["AB"]) == pytest.approx(-2.0)
    same = elastic_mean(words, alphabet=Alphabet("AB"), init=list("ABA"))
    assert same.variation == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cost": "product"}, "cost must be a distance, got the similarity 'product'"),
        ({"cost": "manhattan"}, "cost must be one of .*'squared'.* got 'manhattan'"),
        ({"cost": "absolute", "method": "dba"}, r"method='dba' .* squared cost only.*Absolute\(\)"),
        ({"cost": "absolute", "method": Averaging()}, "method='dba' .* squared cost only"),
        ({"cost": "mismatch"}, "derivative 0"),
    ],
)
def test_costs_that_do_not_fit(options, says):
    with pytest.raises(ValueError, match=says):
        elastic_mean([[1.0, 2.0], [3.0, 4.0]], **options)
