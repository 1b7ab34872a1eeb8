"""Random elastic features, and ridge models on them."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits
from ucr import labelled

from warplearn import (
    ElasticFeatureClassifier,
    ElasticFeatureRegressor,
    ElasticFeatures,
    SeriesCollection,
    elastic_inner_product,
)
from warplearn._kernels.drivers import windows
from warplearn.base import SHORTER_SERIES_ARE_VALID
from warplearn.features import base, solution
from warplearn.features.invariance import Variants
from warplearn.features.ridge import (
    FewCases,
    ManyCases,
    Rows,
    Standards,
    VeryFewCases,
    combine_factors,
    descend,
    solve,
    solve_few,
)
from warplearn.features.solution import standardize

ALL = ("share", "max", "wins", "losses")


# --- A slow and obvious reference


def represented(features, x, name):
    """One series (channels, time) in the representation `name`, standardized."""
    r = features._distinct.index(name)
    for _ in range({"differences": 1, "second_differences": 2}.get(name, 0)):
        x = np.diff(x) if x.shape[1] > 1 else np.zeros_like(x)
    if name == "smooth":
        x = np.stack([x[:, max(0, t - 4) : t + 5].mean(axis=1) for t in range(x.shape[1])], axis=1)
    return (x - features.means_[r][:, None]) / features.scales_[r][:, None]


def windows_of(filter_, z):
    """All windows (positions, channels, k) of a standardized series."""
    span = (len(filter_.matrix) - 1) * filter_.dilation
    z = np.pad(z[filter_.channels], [(0, 0), (filter_.padding, filter_.padding)])
    positions = max(1, z.shape[1] - span)
    z = np.pad(z, [(0, 0), (0, span)])  # for a series that is shorter than a window
    return np.array([z[:, p : p + span + 1 : filter_.dilation] for p in range(positions)])


def outputs_of(features, x, index):
    filter_ = features.filter(index)
    seen = windows_of(filter_, represented(features, x, filter_.representation))
    matrix = filter_.matrix.reshape(*filter_.matrix.shape[:2], len(filter_.channels))
    return elastic_inner_product(seen, matrix if len(filter_.channels) > 1 else matrix[..., 0])


def pooled(features, x, slack):
    """All features of one series, where outputs that are greater are so by more than `slack`."""
    features_of_x = []
    for first in range(0, features.n_filters_, 8):
        outputs = np.array([outputs_of(features, x, i) for i in range(first, first + 8)])
        for i, output in enumerate(outputs, first):
            others = np.delete(outputs, i - first, axis=0)
            features_of_x += [
                (output > features.filter(i).bias + slack).mean(),
                output.max() - slack,
                (output >= others.max(axis=0) + slack).mean(),
                (output <= others.min(axis=0) - slack).mean(),
            ]
    return np.array(features_of_x)


def walks(rng, shape):
    return rng.normal(size=shape).cumsum(axis=-1)


# --- Features


def test_one_column_is_a_dilated_convolution(rng):
    """Against plain NumPy: no function of this package computes the reference."""
    X = walks(rng, (6, 50))
    features = ElasticFeatures(320, elasticities=(1,), poolings=("share", "max"), random_state=0)
    got = features.fit(X).transform(X).reshape(6, 320, 2)
    seen = set()
    for i in range(320):
        filter_ = features.filter(i)
        taps = np.zeros((len(filter_.matrix) - 1) * filter_.dilation + 1)
        taps[:: filter_.dilation] = filter_.matrix[:, 0]
        for case, x in enumerate(X):
            z = np.pad(represented(features, x[None], filter_.representation)[0], filter_.padding)
            output = np.correlate(z, taps, mode="valid")
            # An output may differ from the bias by rounding only: the bias is one of them.
            near = np.abs(output - filter_.bias) < 1e-4
            share = (output > filter_.bias).mean()
            assert abs(got[case, i, 0] - share) <= near.mean() + 1e-6
            assert got[case, i, 1] == pytest.approx(output.max(), abs=1e-4)
        seen.add((filter_.dilation > 1, filter_.padding > 0, filter_.representation))
    assert len(seen) == 16  # all kinds were there


def normalized(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def test_series_like_normalized_ones_are_rescaled(rng):
    X = [5 + 2 * normalized(walks(rng, n)) for n in (40, 50, 60, 45)]
    features = ElasticFeatures(80, random_state=0).fit(X)
    assert features.common_.ravel() == pytest.approx([5, 2])
    others = [20 * x - 300 for x in X]
    assert features.transform(others) == pytest.approx(features.transform(X), abs=0.05)
    assert np.isfinite(features.transform([np.full(30, 7.0)])).all()  # nothing to divide by
    as_they_are = ElasticFeatures(80, rescale=False, random_state=0).fit(X)
    assert not as_they_are.common_.any()
    assert np.abs(as_they_are.transform(others) - as_they_are.transform(X)).max() > 0.5


def test_series_of_different_sizes_are_not_rescaled(rng):
    X = normalized(walks(rng, (10, 40)))
    X[0] *= 1.1
    features = ElasticFeatures(80, random_state=0).fit(X)
    assert not features.common_.any()
    assert np.abs(features.transform(3 * X) - features.transform(X)).max() > 0.1
    assert not ElasticFeatures(80).fit(X[:1]).common_.any()  # one series has nothing in common
    assert not ElasticFeatures(80).fit(np.ones((3, 40))).common_[1].any()


def test_channels_are_rescaled_one_by_one(rng):
    X = walks(rng, (10, 2, 40))
    X[:, 1] = normalized(X[:, 1])
    features = ElasticFeatures(80, random_state=0).fit(X)
    assert features.common_[1].tolist() == pytest.approx([0, 1])
    F = features.transform(X)
    assert features.transform(X * [[1], [9]]) == pytest.approx(F, abs=0.05)
    assert np.abs(features.transform(X * [[9], [1]]) - F).max() > 0.1


@pytest.mark.parametrize(("channels", "elasticities"), [(1, (1, 2, 3)), (3, (1, 2))])
def test_features_are_pooled_elastic_inner_products(rng, channels, elasticities):
    """Ragged series, also shorter than a window, and of a single element."""
    X = [walks(rng, (channels, n)) for n in (30, 45, 8, 1, 33, 60)]
    features = ElasticFeatures(96, elasticities=elasticities, poolings=ALL, random_state=1).fit(X)
    got = features.transform(X)
    assert got.dtype == np.float32
    assert got.shape == (6, 96 * 4)
    assert {features.filter(i).matrix.shape[1] for i in range(96)} == set(elasticities)
    alike = []
    for x, row in zip(X, got, strict=True):
        low, high = pooled(features, x, 1e-4), pooled(features, x, -1e-4)
        assert (row >= low - 1e-6).all()
        assert (row <= high + 1e-6).all()
        alike.append(np.mean(high - low < 1e-3))
    assert np.mean(alike) > 0.9  # the bounds are tight: few outputs are almost ties


def test_outputs_are_elastic_inner_products(rng):
    """Window by window, against the public function."""
    X = walks(rng, (4, 40))
    features = ElasticFeatures(48, elasticities=(1, 2, 4), random_state=0).fit(X)
    standardized = features.standardized(SeriesCollection.of(X))
    for some in ([0, 1, 2, 3, 4, 5], [0, 3, 4], [1, 0]):  # complete draws, parts of them
        groups = np.array(some)
        for matrices in features.sweeps(groups):
            cases = rng.integers(4, size=(len(groups), 8))
            got, positions = windows.window_outputs(matrices, *standardized, cases)
            for place in matrices.places[matrices.places >= 0]:
                for g, case in enumerate(cases[place]):
                    ref = outputs_of(features, X[case, None], groups[place] * 8 + g)
                    assert len(ref) == positions[place, g]
                    assert got[place, g, : len(ref)] == pytest.approx(ref, abs=2e-5)
                    assert np.isnan(got[place, g, len(ref) :]).all()


def test_filters_of_a_draw_begin_with_the_same_columns(rng):
    features = ElasticFeatures(96, elasticities=(3, 1, 2), random_state=0).fit(walks(rng, (4, 40)))
    assert features.elasticities_.tolist() == np.repeat([1, 2, 3], 4).tolist()
    for i in range(32):
        one, two, three = (features.filter(i + first) for first in (0, 32, 64))
        assert one.matrix.tolist() == three.matrix[:, :1].tolist()
        assert two.matrix.tolist() == three.matrix[:, :2].tolist()
        assert (one.dilation, one.padding) == (three.dilation, three.padding)
        assert one.representation == three.representation
    # One recursion computes a draw, and one for each number of columns if draws are not complete.
    assert [each.places.shape for each in features.sweeps(np.arange(12))] == [(4, 3)]
    assert [each.places.tolist() for each in features.sweeps(np.array([4, 1, 9]))] == [
        [[-1, 0]], [[1, -1, 2]],
    ]  # fmt: skip


def test_features_do_not_depend_on_parameters_set_later(rng):
    X = walks(rng, (5, 40))
    features = ElasticFeatures(32, random_state=0).fit(X)
    F = features.transform(X)
    assert features.set_params(elasticities=(1, 1, 2)).transform(X).tolist() == F.tolist()
    with pytest.raises(ValueError, match="elasticities must be different from each other, got"):
        features.fit(X)


def test_features_of_some_groups_are_those_of_all(rng):
    X = walks(rng, (5, 40))
    features = ElasticFeatures(96, elasticities=(1, 2, 3), random_state=0).fit(X)
    F = features.transform(X).reshape(5, 12, -1)
    for some in ([11, 0, 4], [3, 7], [2], [5, 9, 1, 6]):
        groups = np.array(some)
        got = features.pooled(
            features.standardized(SeriesCollection.of(X)), features.sweeps(groups)
        )
        assert got.tolist() == F[:, groups].reshape(5, -1).tolist()


def test_a_series_alone_or_among_others(rng):
    X = [walks(rng, n) for n in (20, 41, 33)]
    features = ElasticFeatures(64, random_state=0).fit(X)
    together = features.transform(X)
    for x, ref in zip(X, together, strict=True):
        assert features.transform([x])[0].tolist() == ref.tolist()
    longer = features.transform([walks(rng, 200)])  # longer than any training series
    assert np.isfinite(longer).all()


def test_shifts_and_scales_do_not_matter(rng):
    """Features are of the standardized series: a large offset costs no precision."""
    X = walks(rng, (8, 40))
    ref = ElasticFeatures(64, poolings=ALL, random_state=0).fit_transform(X)
    got = ElasticFeatures(64, poolings=ALL, random_state=0).fit_transform(1e6 + 100 * X)
    assert got == pytest.approx(ref, abs=0.03)
    assert np.mean(np.abs(got - ref) < 1e-4) > 0.95


def test_threads_and_seeds(rng, two_threads):
    X = walks(rng, (9, 30))
    ref = ElasticFeatures(64, random_state=5, n_jobs=1).fit_transform(X)
    assert ElasticFeatures(64, random_state=5, n_jobs=2).fit_transform(X).tolist() == ref.tolist()
    assert ElasticFeatures(64, random_state=6, n_jobs=1).fit_transform(X).tolist() != ref.tolist()


def test_n_jobs_limits_the_threads_of_linear_algebra(rng, monkeypatch):
    def blas_threads():
        return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")

    def spy(*args):
        seen.append(blas_threads())
        return solve_few(*args)

    monkeypatch.setattr(solution, "solve_few", spy)
    X, y = walks(rng, (9, 30)), np.arange(9) % 2
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        for n_jobs in (None, 1):
            seen = []
            ElasticFeatureClassifier(64, random_state=5, n_jobs=n_jobs).fit(X, y).predict(X)
            assert set(seen) == {1}
            assert blas_threads() == before  # as they were


def test_biases_are_outputs_on_training_series(rng):
    X = walks(rng, (2, 30))
    features = ElasticFeatures(24, random_state=0).fit(X)
    for i in range(24):
        outputs = np.concatenate([outputs_of(features, x[None], i) for x in X])
        assert np.abs(outputs - features.filter(i).bias).min() < 1e-4


def test_parameters_are_obeyed(rng):
    X = walks(rng, (5, 3, 40))
    features = ElasticFeatures(
        150, elasticities=(3,), lengths=(4, 5), dilations=(2, 6), representations=("differences",),
        poolings=("wins",), random_state=0,
    ).fit(X)  # fmt: skip
    filters = [features.filter(i) for i in range(features.n_filters_)]
    assert len(filters) == 152  # whole groups
    assert {f.matrix.shape[:2] for f in filters} == {(4, 3), (5, 3)}
    assert {f.dilation for f in filters} == {2, 6}
    assert {f.representation for f in filters} == {"differences"}
    assert {len(f.channels) for f in filters} == {1, 2, 3}
    assert all(len(set(f.channels)) == len(f.channels) for f in filters)
    assert max(np.abs(f.matrix.mean(axis=0)).max() for f in filters) < 1e-6
    F = features.transform(X)
    assert F.shape == (5, 152)
    # At every position somebody wins.
    assert F.reshape(5, 19, 8).sum(axis=2) == pytest.approx(np.ones((5, 19)), abs=1e-5)


def test_names_and_selection(rng):
    X = walks(rng, (5, 40))
    features = ElasticFeatures(64, random_state=0).fit(X)
    F, names = features.transform(X), features.get_feature_names_out()
    assert len(set(names)) == len(names) == F.shape[1]
    assert names[:4].tolist() == [
        "filter0_share",
        "filter0_wins",
        "filter0_losses",
        "filter1_share",
    ]
    some = features.select([1, 6])
    assert some.transform(X).tolist() == F.reshape(5, 8, 24)[:, [1, 6]].reshape(5, -1).tolist()
    assert some.filter(8).matrix.tolist() == features.filter(48).matrix.tolist()
    assert features.transform(X).tolist() == F.tolist()
    pipeline = make_pipeline(ElasticFeatures(16, random_state=0), StandardScaler())
    assert pipeline.fit(X).get_feature_names_out().tolist() == names[:48].tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_filters": 0}, "n_filters == 0, must be >= 1"),
        ({"elasticities": (0, 1)}, r"elasticities must be positive integers.*got \(0, 1\)"),
        ({"elasticities": ()}, "elasticities must be positive integers, at least one"),
        ({"lengths": (2.5,)}, "lengths must be positive integers"),
        ({"dilations": 3}, "dilations must be positive integers"),
        ({"poolings": ("share", "mean")}, "poolings must be one of .*got 'mean'"),
        ({"poolings": ("max", "max")}, "poolings must be different from each other"),
        ({"representations": "raw"}, "representations must be some of .*got 'raw'"),
        ({"representations": ()}, r"representations must be some of .*got \(\)"),
        ({"alphas": (0.0, 1.0)}, "alphas must be positive numbers"),
    ],
)
def test_bad_parameters(rng, settings, message):
    X, y = walks(rng, (6, 12)), [0, 1] * 3
    with pytest.raises(ValueError, match=message):
        ElasticFeatureClassifier(**settings).fit(X, y)


def test_bad_series_and_indices(rng):
    features = ElasticFeatures(8, elasticities=(2,), random_state=0).fit(walks(rng, (4, 12)))
    with pytest.raises(ValueError, match="X has 2 channel.*fitted on series of 1"):
        features.transform(walks(rng, (4, 2, 12)))
    with pytest.raises(ValueError, match="index == 8, must be <= 7"):
        features.filter(8)
    with pytest.raises(ValueError, match="groups must be integers between 0 and 0"):
        features.select([1])


# --- Ridge regression


def bumps(rng, count, classes=2, n=60):
    """A bump somewhere, of a width that depends on the class, in noise."""
    y = np.arange(count) % classes
    at, time = rng.uniform(0.2, 0.8, (count, 1)), np.linspace(0, 1, n)
    X = np.exp(-(((time - at) / (0.02 + 0.04 * y[:, None])) ** 2))
    return X + rng.normal(0, 0.15, X.shape), y


def standardized(F, weights):
    """Features as the library standardizes them, in float32."""
    standards = Standards.of(np.average(F, axis=0, weights=weights), F.var(axis=0))
    Z = F.astype(np.float32)
    standards.standardize(Z)
    return Z


def systems(F, Y, weights):
    """The equations of a regression in all forms."""
    Z, targets = standardized(F, weights), Y - np.average(Y, axis=0, weights=weights)
    exact = Z.astype(float)
    gram = np.asfortranarray(exact.T @ (weights[:, None] * exact))
    products = exact.T @ (weights[:, None] * targets)
    return (
        FewCases(Rows.of(Z, weights), targets, weights),
        ManyCases(gram, products, Z, targets, weights, weights.sum()),
        VeryFewCases(Rows.of(Z, weights), targets, weights),
    )


@pytest.mark.parametrize("shape", [(30, 200), (40, 12)])
@pytest.mark.parametrize("form", [0, 1, 2])
def test_ridge_is_that_of_sklearn(rng, shape, form):
    F = rng.normal(size=shape) * rng.uniform(0.1, 10, shape[1])
    F[:, 3] = 2.5  # constant
    Y = F[:, :2] / 10 + rng.normal(size=(shape[0], 2))
    weights = rng.uniform(0.5, 2, shape[0])
    alphas = np.array([0.1, 10.0, 1000.0])
    got = solve(systems(F, Y, weights)[form], alphas)
    Z = StandardScaler().fit_transform(F)
    ref = RidgeCV(alphas).fit(Z, Y, weights)
    assert got.alpha == ref.alpha_
    assert got.coef.T == pytest.approx(ref.coef_, abs=2e-6)
    one = Ridge(got.alpha).fit(Z[1:], Y[1:], weights[1:])
    assert Y[0] - got.loo[0] == pytest.approx(one.predict(Z[:1])[0], abs=1e-5)


def changed_systems(rng, n_changes, strength):
    """Features, changes of them, targets, weights; and equations with a penalty on the changes."""
    F, D = rng.normal(size=(30, 50)), rng.normal(size=(n_changes, 50)).astype(np.float32)
    Y, weights = F[:, :2] + rng.normal(size=(30, 2)), rng.uniform(0.5, 2, 30)
    Z, targets = standardized(F, weights), Y - np.average(Y, axis=0, weights=weights)
    # In two pieces, whose products add up.
    halves = [Rows.of(Z[:, some], weights, D[:, some]) for some in (slice(20), slice(20, None))]
    rows = Rows.joined(halves)
    kinds = (FewCases, VeryFewCases)
    return Z, D, targets, weights, [kind(rows, targets, weights, strength) for kind in kinds]


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("n_changes", [5, 60])
def test_changes_that_do_not_matter_are_penalized(rng, kind, n_changes):
    """Coefficients and leave-one-out predictions are those of the normal equations."""
    alpha, strength = 3.0, 2.0
    Z, D, targets, weights, systems = changed_systems(rng, n_changes, strength)
    got = systems[kind].attempt(alpha)
    relative = strength * n_changes / (D.astype(float) ** 2).sum()
    penalty = alpha * (np.eye(50) + relative * D.T.astype(float) @ D)

    def solved(Z, T, w):
        Z, T = Z - np.average(Z, axis=0, weights=w), T - np.average(T, axis=0, weights=w)
        return np.linalg.solve(Z.T @ (w[:, None] * Z) + penalty, Z.T @ (w[:, None] * T))

    ref = solved(Z.astype(float), targets, weights)
    assert systems[kind].coef(got.solution) == pytest.approx(ref, abs=1e-5)
    assert systems[kind].coef(systems[kind].solution(alpha)) == pytest.approx(ref, abs=1e-5)
    plain = FewCases(Rows.of(Z, weights), targets, weights)
    ratio = np.linalg.norm(D @ ref) / np.linalg.norm(D @ plain.coef(plain.solution(alpha)))
    assert ratio < 0.9  # predictions change less
    others = Z[1:].astype(float), targets[1:], weights[1:]
    one = solved(*others)
    mean, level = (np.average(each, axis=0, weights=weights[1:]) for each in others[:2])
    assert targets[0] - got.loo[0] == pytest.approx(level + (Z[0] - mean) @ one, abs=1e-4)


def test_changes_are_penalized_if_that_is_better(rng):
    """A feature that changes is worth little if there is another, and all if there is none."""
    x, noise = rng.normal(size=(40, 1)), rng.normal(size=(40, 1))
    weights, alphas = np.ones(40), np.array([1.0])

    def strength(matters, other):
        F, target = np.hstack([matters, other]), x - x.mean()
        changes = np.zeros((20, 2), np.float32)
        changes[:, 0] = rng.normal(size=20)  # of the first feature
        rows = Rows.of(standardized(F, weights), weights, changes)
        return solve_few(rows, target, weights, alphas, strengths=(0.0, 2.0))[1]

    assert strength(x, noise) == 0
    assert strength(noise, x) > 0


def test_changes_are_those_of_the_features_of_variants(rng):
    X, _ = bumps(rng, 100)
    series = SeriesCollection.of(X)
    assert len(Variants.of(SeriesCollection.of(np.tile(X, (2, 1)))).sources) == 256  # at most
    variants = Variants.of(series)
    assert len(variants.sources) == len(variants.series) == 200
    assert np.bincount(variants.sources).tolist() == [2] * 100
    again = Variants.of(series)
    assert np.array_equal(again.series.values, variants.series.values)
    for varied, source in zip(variants.series.values, variants.sources, strict=True):
        assert np.isin(varied, series.values[source]).all()  # moved by whole steps
    moved = np.abs(variants.series.values - series.values[variants.sources])
    assert 0.02 < moved.mean() < 0.4
    features = ElasticFeatures(64, random_state=0).fit(X)
    F, G = features.transform(X), features.transform(variants.series)
    weights, Z = rng.uniform(0.5, 2, 100), F.copy()
    standards = standardize(Z, np.zeros((100, 1)), weights)
    got = variants.changes(G.copy(), Z, standards, weights)
    ref = (G - F[variants.sources]) / standards.scale * np.sqrt(weights[variants.sources])[:, None]
    assert got == pytest.approx(ref, abs=1e-4)


def test_penalties_that_are_too_small(rng):
    """Equal features cannot be solved for without a penalty."""
    F, Y, weights = np.tile(rng.normal(size=(20, 1)), 8), rng.normal(size=(20, 1)), np.ones(20)
    for system in systems(F, Y, weights):
        assert solve(system, np.array([1e-20, 1e-19, 1e-18, 1.0])).alpha == 1.0
    with pytest.raises(ValueError, match="alphas must be larger for these series, got 1e-18"):
        solve(systems(F, Y, weights)[1], np.array([1e-20, 1e-18]))


@pytest.mark.parametrize("start", [0, 4, 6, 9])
@pytest.mark.parametrize("least", [-3.0, 0.4, 5.7, 30.0])
def test_penalties_are_searched_by_slopes(start, least):
    """Both neighbours of the minimum are tried, and few others."""
    tried = []
    descend(lambda place: tried.append(place) or np.arctan(place - least), 10, start)
    around = {min(max(int(np.floor(least)) + step, 0), 9) for step in (0, 1)}
    assert around <= set(tried)
    assert len(set(tried)) == len(tried) <= 7
    tried.clear()
    descend(lambda place: tried.append(place) or -np.inf, 10, start)  # too small to solve with
    assert tried[-1] == 9


@pytest.mark.parametrize("shape", [(300, 700), (700, 300)])
def test_the_penalty_is_the_best_of_all(rng, shape):
    """Slopes are those of the errors, so that a search finds what trying all finds."""
    F = rng.normal(size=shape) * np.exp(-np.arange(shape[1]) / 30)
    F += 0.1 * rng.normal(size=shape)
    Y = F[:, :1] + F[:, 1:2] + rng.normal(size=(shape[0], 1))
    weights, alphas = rng.uniform(0.5, 2, shape[0]), shape[1] * 10.0 ** np.arange(-3, 3)
    system = systems(F, Y, weights)[shape[0] > shape[1]]
    tried = [system.attempt(alpha) for alpha in alphas]
    for alpha, attempt in zip(alphas, tried, strict=True):
        assert attempt.error == pytest.approx(weights @ attempt.loo[:, 0] ** 2)
        higher, lower = (system.attempt(alpha * factor).error for factor in (1.01, 0.99))
        relative = (higher - lower) / 0.02 / attempt.error
        assert alpha * attempt.slope / attempt.error == pytest.approx(relative, abs=0.05)
    best = int(np.argmin([attempt.error for attempt in tried]))
    assert 0 < best < 5
    for guess in (None, *alphas):
        assert solve(system, alphas, guess).alpha == alphas[best]


@pytest.mark.parametrize(("size", "steps"), [(100, 14), (300, 2)])
def test_a_smaller_penalty_is_good_enough(rng, size, steps):
    """Of those that are nearly as good; the best one and a few others where they cost time."""
    F = rng.normal(size=(size, 2 * size))
    Y = F[:, :1] + rng.normal(size=(size, 1))
    system, alphas = systems(F, Y, np.ones(size))[0], 2 * size * 10.0 ** np.arange(-4, 3, 0.5)
    errors = np.array([system.attempt(alpha).error for alpha in alphas])
    best = int(errors.argmin())
    assert solve(system, alphas).alpha == alphas[best]
    for slack in (0.001, 0.1, 0.5):
        place = alphas.tolist().index(solve(system, alphas, slack=slack).alpha)
        assert max(best - steps, 0) <= place <= best
        assert errors[place] <= (1 + slack) * errors[best]
        last = max(best - steps, 0)
        assert place == last or errors[place - 1] > (1 + slack) * errors[best]
    assert solve(system, alphas, slack=0.5).alpha < alphas[best]


def test_few_series_have_more_filters_by_default(rng, monkeypatch):
    for name, value in {"_FEW": 20, "_FILTERS": 32, "_FILTERS_FOR_FEW": 64}.items():
        monkeypatch.setattr(base, name, value)
    X, y = bumps(rng, 21)

    def count(model):
        return model.features_.n_filters_

    assert count(ElasticFeatureClassifier(random_state=0).fit(X[:20], y[:20])) == 64
    assert count(ElasticFeatureClassifier(random_state=0).fit(X, y)) == 32
    assert count(ElasticFeatureRegressor(random_state=0).fit(X[:20], y[:20])) == 64
    assert count(ElasticFeatureClassifier(48, random_state=0).fit(X[:20], y[:20])) == 48
    weights = np.r_[np.ones(20), 0]  # series that do not count are not counted
    assert count(ElasticFeatureClassifier(random_state=0).fit(X, y, weights)) == 64
    # More series may come.
    assert count(ElasticFeatureClassifier(random_state=0).partial_fit(X[:20], y[:20], [0, 1])) == 32


def test_features_that_hardly_differ_have_little_influence(rng):
    """A share that is 0 for all training series but one may be anything for others."""
    F = np.hstack([rng.uniform(size=(30, 20)), np.zeros((30, 1))])
    F[0, -1] = 1e-5
    Y, weights, other = F[:, :1] - 0.5, np.ones(30), np.r_[F[5, :-1], 0.5]
    predicted = {}
    for least in (0.0, ElasticFeatures.least_scale):
        Z = F.astype(np.float32)
        standards = standardize(Z, Y, weights, least)
        fit = solve(FewCases(Rows.of(Z, weights), Y - Y.mean(), weights), np.array([1.0]))
        predicted[least] = Y.mean() + (other - standards.mean) / standards.scale @ fit.coef[:, 0]
    assert abs(predicted[0.0]) > 100
    assert abs(predicted[ElasticFeatures.least_scale]) < 2


def test_parts_of_families_are_weighed_where_series_are_few(rng):
    X, y = bumps(rng, 401)
    few = ElasticFeatureClassifier(400, random_state=0).fit(X[:256], y[:256])
    many = ElasticFeatureClassifier(400, random_state=0).fit(X[:257], y[:257])
    assert len(many.families_) == 8
    start = "filters, m = 2, second_differences, dilation "
    parts = [name.removeprefix(start) for name in few.families_ if name.startswith(start)]
    assert parts == ["1", "2", "3", "9"]
    assert "filters, m = 2, raw, dilation 2 to 4" in few.families_
    parts = [f"filters, m = 2, smooth, {name}" for name in ("share", "wins", "losses")]
    assert few.families_[-3:] == parts
    whole = [name for name in few.families_ if name.count(",") == 2]
    assert whole == many.families_
    same = ElasticFeatureClassifier(400, dilations=(1,), poolings=("share",), random_state=0)
    assert same.fit(X[:50], y[:50]).families_ == many.families_  # nothing to weigh


def test_more_series_are_few_where_there_are_more_features(rng):
    X, y = bumps(rng, 401)
    settings = {"elasticities": (2,), "representations": ("raw",), "random_state": 0}
    large = ElasticFeatureClassifier(144, **settings)  # 432 features
    assert len(large.fit(X[:400], y[:400]).families_) == 8
    assert len(large.fit(X, y).families_) == 1
    # Of the features that are kept there are fewer than series, but changes count all the same.
    kept = ElasticFeatureClassifier(144, keep=0.3, **settings).fit(X[:400], y[:400])
    assert len(kept.families_) == 8
    assert kept.coef_.shape[1] < 200
    assert kept.score(X[:400], y[:400]) > 0.9


def test_factors_are_a_ridge_regression(rng):
    """Where none of them is held at 0 they are one towards equal factors."""
    predictions, weights = rng.normal(size=(50, 2, 3)), rng.uniform(0.5, 2, 50)
    targets = predictions @ [0.2, 0.7, 0.3] + rng.normal(size=(50, 2))
    root = np.sqrt(weights)[:, None]
    A, b = (root[..., None] * predictions).reshape(-1, 3), (root * targets).ravel()
    ref = Ridge(3 / 120 * (b @ b), fit_intercept=False).fit(A, b - A.sum(axis=1) / 3)
    assert combine_factors(predictions, targets, weights) == pytest.approx(ref.coef_ + 1 / 3)
    against = np.stack([targets, -9 * targets], axis=-1)
    assert combine_factors(against, targets, weights) == pytest.approx([121 / 122, 0])
    assert combine_factors(-9 * predictions[..., :1], predictions[..., 0], weights).tolist() == [1]


def test_classifier_is_a_sum_of_ridge_regressions(rng, monkeypatch):
    monkeypatch.setattr(solution, "STRENGTHS", (0.0,))  # has tests of its own
    X, y = bumps(rng, 40, classes=3)
    weights = rng.uniform(0.5, 2, 40)
    names = ("raw", "smooth", "differences")
    model = ElasticFeatureClassifier(96, alphas=(0.01,), representations=names, random_state=0)
    model.fit(X, y, weights)
    features = ElasticFeatures(96, representations=names, random_state=0)
    F = StandardScaler().fit_transform(features.fit_transform(X).astype(float))
    Y = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    filters = [features.filter(i) for i in range(96)]
    mean = ref = np.average(Y, axis=0, weights=weights)
    whole = [name for name in model.families_ if name.count(",") == 2]
    assert len(whole) == 6
    assert len(model.factors_) == len(model.families_) > 6
    for name, factor in zip(model.families_, model.factors_, strict=True):
        *kind, part = [*name.split(", "), ""][:4]
        bounds = re.findall("[0-9]+", part) or ["1", "99"]
        least, most = int(bounds[0]), int(bounds[-1])
        family = [
            ", ".join(kind) == f"filters, m = {f.matrix.shape[1]}, {f.representation}"
            and least <= f.dilation <= most
            for f in filters
        ]
        poolings = [part in (pooling, "") or "dilation" in part for pooling in features.poolings]
        some = F[:, np.outer(family, poolings).ravel()]
        assert some.shape == (40, 96 // 6 * 3) or part
        one = Ridge(0.01 * some.shape[1]).fit(some, Y, weights)
        ref = ref + factor * (one.predict(some) - mean)
    assert model.decision_function(X) == pytest.approx(ref, abs=1e-4)
    assert model.predict(X).tolist() == ref.argmax(axis=1).tolist()
    assert (model.alphas_ == 0.01).all()
    assert model.factors_.min() >= 0
    assert model.factors_.max() > 0.1


def test_factors_find_what_matters(rng):
    """Steps up and down in turn or not: differences show it, means of neighbours hardly."""
    y = np.arange(80) % 2
    steps = rng.choice([-1, 1], (80, 60))
    steps[y == 1] = steps[y == 1, :1] * (-1) ** np.arange(60)
    X = 5 * walks(rng, (80, 60)) + 2 * steps
    model = ElasticFeatureClassifier(400, random_state=0).fit(X, y)
    of = np.array([name.split(", ")[2] for name in model.families_])
    assert set(of) == set(model.representations)
    differences, second, smooth = (
        model.factors_[of == name].sum() for name in model.representations[1:]
    )
    assert differences + second > 3 * smooth
    small = model.shrink(X, y, 8)  # one group of filters, one family, and its poolings
    assert len(small.factors_) == len(small.families_) == 4
    assert set(small.families_) <= set(model.families_)


@pytest.mark.parametrize("classes", [2, 4])
def test_classifier_generalizes(rng, classes):
    X, y = bumps(rng, 160, classes)
    labels = np.array(["a", "b", "c", "d"])[y]
    model = ElasticFeatureClassifier(800, random_state=0).fit(X[:60], labels[:60])
    error = 1 - model.score(X[60:], labels[60:])
    assert error < {2: 0.1, 4: 0.3}[classes]
    assert abs(1 - model.loo_score_ - error) < 0.1
    P = model.predict_proba(X[60:])
    assert P.sum(axis=1) == pytest.approx(np.ones(100))
    assert model.classes_[P.argmax(axis=1)].tolist() == model.predict(X[60:]).tolist()
    assert len(model.coef_) == (1 if classes == 2 else 4)


def test_probabilities_are_calibrated(rng):
    """No common factor of the decision values would make the test likelihood much better."""
    X, y = bumps(rng, 400, 2)
    X += rng.normal(0, 0.35, X.shape)  # hard enough for a fair number of errors
    model = ElasticFeatureClassifier(400, random_state=0).fit(X[:100], y[:100])
    loss = log_loss(y[100:], model.predict_proba(X[100:]))
    assert 0.03 < 1 - model.score(X[100:], y[100:]) < 0.4
    factor, others = model.sharpness_, []
    for change in (1 / 8, 1 / 2, 2, 8):
        model.sharpness_ = change * factor
        others.append(log_loss(y[100:], model.predict_proba(X[100:])))
    assert loss < 0.6
    assert loss < min(others) + 0.03
    assert loss < others[0] - 0.05
    assert loss < others[-1] - 0.05


def test_class_weights_are_sample_weights(rng):
    X, y = bumps(rng, 60)
    kept = (y == 0) | (np.arange(60) < 16)
    X, y = X[kept] + rng.normal(0, 0.5, (kept.sum(), 60)), y[kept]
    model = ElasticFeatureClassifier(80, alphas=(10.0,), random_state=0)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, y)
    weights = len(y) / (2 * np.bincount(y))[y]
    ref = clone(model).fit(X, y, sample_weight=weights)
    assert balanced.decision_function(X) == pytest.approx(ref.decision_function(X))
    plain = clone(model).fit(X, y)
    assert balanced.decision_function(X).mean() > plain.decision_function(X).mean()


def test_regressor(rng):
    X, y = bumps(rng, 160)
    widths = rng.uniform(0.02, 0.1, (160, 1))
    at, time = rng.uniform(0.2, 0.8, (160, 1)), np.linspace(0, 1, 60)
    X = np.exp(-(((time - at) / widths) ** 2)) + rng.normal(0, 0.05, (160, 60))
    y = 1000 + 5000 * widths[:, 0]
    model = ElasticFeatureRegressor(800, random_state=0).fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.85
    assert model.loo_score_ == pytest.approx(model.score(X[80:], y[80:]), abs=0.1)
    smaller = model.shrink(X[:80], y[:80], 80)
    assert smaller.coef_.shape == (1, 80 * 3)
    assert smaller.score(X[80:], y[80:]) > 0.75


def test_shrinking(rng):
    X, y = bumps(rng, 200, 3)
    X += rng.normal(0, 0.25, X.shape)  # hard enough for few filters to make errors
    model = ElasticFeatureClassifier(800, random_state=0).fit(X[:60], y[:60])
    before = model.decision_function(X)
    small = model.shrink(X[:60], y[:60], 60)
    assert small.features_.n_filters_ == 64
    assert small.coef_.shape == (3, 64 * 3)
    sizes = [800, 560, 392, 272, 184, 128, 88, 64]
    assert [step.n_filters for step in small.shrinkage_] == sizes
    assert small.shrinkage_[0].loo_score == model.loo_score_
    assert small.shrinkage_[-1].loo_score == small.loo_score_
    assert len(pickle.dumps(small)) < len(pickle.dumps(model)) / 8
    drawn = ElasticFeatureClassifier(64, random_state=0).fit(X[:60], y[:60])
    assert small.score(X[60:], y[60:]) > model.score(X[60:], y[60:]) - 0.1
    assert small.loo_score_ > drawn.loo_score_
    assert model.decision_function(X).tolist() == before.tolist()  # the model is as it was
    with pytest.raises(ValueError, match="n_filters == 0"):
        model.shrink(X[:60], y[:60], 0)


def test_series_of_nothing_but_constants():
    """No feature says anything; the shares of the classes do."""
    X, y = np.ones((6, 10)), [0, 0, 0, 0, 1, 1]
    model = ElasticFeatureClassifier(16, random_state=0).fit(X, y)
    assert model.predict(X).tolist() == [0] * 6
    assert ElasticFeatureRegressor(16).fit(X, y).predict(X) == pytest.approx(np.full(6, 1 / 3))


# --- scikit-learn's contract

ESTIMATORS = [
    ElasticFeatures(16, random_state=0),
    ElasticFeatureClassifier(40, random_state=0),
    ElasticFeatureRegressor(160, random_state=0),
]
FIT_KEEPS_NO_SUMS = "partial_fit after fit is an error: fit keeps no sums, which are large"
BIASES_ARE_DRAWN = (
    "biases are drawn from the training series, and from repeated ones others are drawn than from "
    "weighted ones; for given features weights are those of RidgeCV (test_ridge_is_that_of_sklearn)"
)
EXPECTED = {
    ElasticFeatures: {
        "check_n_features_in_after_fitting": SHORTER_SERIES_ARE_VALID,
        "check_transformer_general": SHORTER_SERIES_ARE_VALID,
    },
    ElasticFeatureClassifier: {
        "check_n_features_in_after_fitting": SHORTER_SERIES_ARE_VALID,
        "check_classifiers_train": SHORTER_SERIES_ARE_VALID,
        "check_estimators_partial_fit_n_features": SHORTER_SERIES_ARE_VALID,
        "check_fit_score_takes_y": FIT_KEEPS_NO_SUMS,
        "check_sample_weight_equivalence_on_dense_data": BIASES_ARE_DRAWN,
    },
    ElasticFeatureRegressor: {
        "check_n_features_in_after_fitting": SHORTER_SERIES_ARE_VALID,
        "check_estimators_partial_fit_n_features": SHORTER_SERIES_ARE_VALID,
        "check_fit_score_takes_y": FIT_KEEPS_NO_SUMS,
        "check_sample_weight_equivalence_on_dense_data": BIASES_ARE_DRAWN,
    },
}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda e: EXPECTED[type(e)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("by", ["pickle", "skops"])
def test_saved_and_loaded(rng, estimator, by):
    X = [walks(rng, (2, k)) for k in rng.integers(5, 30, 12)]
    model = clone(estimator).fit(X, [0, 1] * 6)
    if by == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        skops = pytest.importorskip("skops.io")
        saved = skops.dumps(model)
        untrusted = skops.get_untrusted_types(data=saved)
        assert all(name.startswith(("warplearn.", "numpy.")) for name in untrusted), untrusted
        again = skops.loads(saved, trusted=untrusted)
    method = "transform" if isinstance(model, ElasticFeatures) else "predict"
    assert getattr(again, method)(X).tolist() == getattr(model, method)(X).tolist()


# --- Real series


@pytest.mark.parametrize(
    ("name", "most"), [("GunPoint", 2.0), ("ECG200", 14.0), ("SonyAIBORobotSurface2", 10.0)]
)
def test_errors_on_real_series(name, most):
    X, y = labelled(name, "TRAIN")
    X_test, y_test = labelled(name, "TEST")
    model = ElasticFeatureClassifier(random_state=0).fit(X, y)
    assert 100 * (1 - model.score(X_test, y_test)) <= most
