"""The embedding preserves distances from its base, and ordinary learners run on it."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from warplearn import active_path, elastic_distance, embed, pairwise_dtw, warping_path
from warplearn.embedding import ElasticEmbedding
from warplearn.mean import elastic_mean


@pytest.fixture(name="X")
def some_walks(rng):
    return rng.normal(size=(12, 20)).cumsum(axis=1)


def norms(embedded, base):
    return np.linalg.norm(embedded - np.ravel(base), axis=1)


def test_distances_from_a_mean_are_preserved(X):
    model = ElasticEmbedding().fit(X)
    assert model.base_.shape == (20, 2)
    np.testing.assert_allclose(model.base_, elastic_mean(X, space="matrix", length=2).mean)
    np.testing.assert_allclose(
        norms(model.transform(X), model.base_), elastic_distance(X, model.base_)
    )
    ref = [embed(x, model.base_, active_path(x, model.base_, cost="squared")) for x in X]
    np.testing.assert_array_equal(model.transform(X), np.reshape(ref, (12, -1)))


def test_around_a_series_distances_are_those_of_dtw(X):
    """The restricted isometry of section 3.1."""
    z = X[0, ::2]
    model = ElasticEmbedding(base=z).fit(X)
    assert model.base_.shape == (20, 10)
    embedded = model.transform(X)
    np.testing.assert_allclose(norms(embedded, model.base_), pairwise_dtw(X, z[None])[:, 0])


def test_ragged_and_multivariate(rng):
    X = [rng.normal(size=(2, k)).cumsum(axis=1) for k in (7, 12, 9, 12, 10)]
    model = ElasticEmbedding(length=3, band=11).fit(X)
    assert model.base_.shape == (12, 3, 2)
    got = norms(model.transform(X), model.base_)
    np.testing.assert_allclose(got, elastic_distance(X, model.base_, band=11))
    short = ElasticEmbedding("series", length=6).fit(X)
    assert short.base_.shape == (2, 6)
    assert short.transform(X).shape == (5, 12)


def test_series_are_brought_to_the_time_of_the_base(X):
    z = np.array([0.0, 2.0, -1.0, 4.0])
    got = ElasticEmbedding("series", base=z).fit(X).transform(X)
    for x, row in zip(X, got, strict=True):
        path = warping_path(x, z).path
        np.testing.assert_allclose(row, [x[path[path[:, 1] == j, 0]].mean() for j in range(4)])
    np.testing.assert_allclose(ElasticEmbedding("series", base=z).fit_transform(z[None]), [z])


def test_the_pullback_is_usable(rng):
    t = np.linspace(0, 1, 30)
    y = np.array([0, 1] * 30)
    X = np.array([np.sin((4 + 3 * c) * t ** rng.uniform(0.8, 1.2)) for c in y])
    X += 0.1 * rng.normal(size=X.shape)
    linear = make_pipeline(ElasticEmbedding(), LogisticRegression()).fit(X[:40], y[:40])
    assert linear.score(X[40:], y[40:]) > 0.9
    found = make_pipeline(
        ElasticEmbedding(), PCA(2), GaussianMixture(2, random_state=0)
    ).fit_predict(X)
    assert max((found == y).mean(), (found != y).mean()) > 0.9


def test_names(X):
    model = ElasticEmbedding("series", length=4).fit(X)
    assert list(model.get_feature_names_out()) == [f"elasticembedding{j}" for j in range(4)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"space": "time"}, "space must be one of .* got 'time'"),
        ({"base": np.zeros((5, 2))}, "base must have at least 20 rows"),
        ({"base": np.full((20, 2), np.nan)}, "base must be finite"),
        ({"base": np.zeros((2, 5)), "space": "series"}, r"base must have 1 channel\(s\)"),
    ],
)
def test_errors_name_the_argument(options, says, X):
    with pytest.raises(ValueError, match=says):
        ElasticEmbedding(**options).fit(X)


def test_longer_series_do_not_fit(X):
    model = ElasticEmbedding().fit(X[:, :8])
    with pytest.raises(ValueError, match=r"X\[0\] has length 20, but the matrices .* have 8 rows"):
        model.transform(X)


@pytest.mark.parametrize("space", ["matrix", "series"])
def test_other_costs_choose_path_and_mean(space, X):
    model = ElasticEmbedding(space, cost="absolute", length=4, max_iter=5).fit(X)
    mean = elastic_mean(X, space=space, cost="absolute", length=4, max_iter=5).mean
    np.testing.assert_array_equal(model.base_, mean)
    got = model.transform(X)
    for x, row in zip(X, got, strict=True):
        if space == "matrix":
            ref = embed(x, mean, active_path(x, mean, cost="absolute"))
        else:
            path = warping_path(x, mean, cost="absolute").path
            ref = [x[path[path[:, 1] == j, 0]].mean() for j in range(4)]
        np.testing.assert_allclose(row, np.ravel(ref))


def test_symbols():
    words = ["ABBA", "AAB", "BBA"]
    model = ElasticEmbedding("series", base=list("AB")).fit(words)
    assert model.transform(words).shape == (3, 4)
    np.testing.assert_array_equal(model.base_, np.eye(2))
    np.testing.assert_array_equal(model.transform(["AAB"]), [[1.0, 0.0, 0.0, 1.0]])
