"""Elastic functions: values, active paths, embeddings, generalized gradients."""

from functools import partial

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warplearn import (
    active_path,
    dtw,
    elastic_distance,
    elastic_inner_product,
    embed,
    value_and_gradient,
)
from warplearn.elastic import functions

X_OF_THE_PAPER = [2.0, 4.0, 3.0, 1.0]


def function_of(cost):
    """The elastic function that a cost makes, as the user calls it."""
    return elastic_inner_product if cost == "product" else partial(elastic_distance, cost=cost)


def ragged(rng, count, low, high, channels=1):
    shapes = [(channels, n) for n in rng.integers(low, high, size=count)]
    return [rng.normal(size=shape) for shape in shapes]


def naive_values(X, W, cost, band=None):
    """Values of series (channels, time) at a bank (u, n, m, d)."""
    return np.array([[naive.elastic(x.T, w, cost, band) for w in W] for x in X])


# --- Values


@settings(max_examples=60)
@given(k=st.integers(1, 5), m=st.integers(1, 5), seed=st.integers(0, 10**6))
@pytest.mark.parametrize("cost", ["product", "squared"])
def test_values_are_the_best_of_all_paths(cost, k, m, seed):
    rng = np.random.default_rng(seed)
    x, W = rng.integers(-3, 4, size=k).astype(float), rng.integers(-3, 4, size=(k + 1, m))
    local = naive.local_scores(x[:, None], W[:, :, None], naive.SCORES[cost])
    ref, paths = naive.best_by_enumeration(local)
    assert function_of(cost)([x], W)[0] == pytest.approx(naive.value_of(cost, ref))
    assert tuple(map(tuple, active_path(x, W, cost=cost))) in paths


@pytest.mark.parametrize(
    ("cost", "channels", "count", "band"),
    [
        ("product", 1, 40, None),
        ("product", 1, 2, None),
        ("product", 3, 40, None),
        ("squared", 1, 40, 4),
        ("squared", 1, 2, 4),
        ("squared", 3, 40, None),
    ],
)
def test_values_of_a_bank(cost, channels, count, band, rng):
    X, W = ragged(rng, count, 4, 13, channels), rng.normal(size=(5, 14, 4, channels))
    bank = W[..., 0] if channels == 1 else W
    got = function_of(cost)(X, bank, band=band)
    np.testing.assert_allclose(got, naive_values(X, W, cost, band), rtol=1e-12, atol=1e-12)
    one_by_one = np.transpose([function_of(cost)(X, w, band=band) for w in bank])
    np.testing.assert_array_equal(got, one_by_one)


def test_with_one_column_it_is_the_inner_product(rng):
    x, w = rng.normal(size=(2, 12))
    assert elastic_inner_product([x], w[:, None])[0] == pytest.approx(np.dot(x, w))
    assert elastic_distance([x], w[:, None])[0] == pytest.approx(np.linalg.norm(x - w))


def test_distance_to_equal_rows_is_dtw(rng):
    X, z = ragged(rng, 9, 4, 13), rng.normal(size=6)
    for cost in ("squared", "absolute", "gaussian", "mismatch"):
        got = elastic_distance(X, naive.stacked(z, 12), cost=cost)
        assert got.tolist() == [dtw(x, z, cost=cost) for x in X]


def test_elastic_inner_product_is_convex_in_the_matrix(rng):
    X = rng.normal(size=(20, 8))
    strict = 0
    for _ in range(20):
        V, W = rng.normal(size=(2, 8, 4))
        t = rng.uniform()
        between = elastic_inner_product(X, t * V + (1 - t) * W)
        chord = t * elastic_inner_product(X, V) + (1 - t) * elastic_inner_product(X, W)
        assert (between <= chord + 1e-12).all()
        strict += (between < chord - 1e-6).sum()
    assert strict > 0  # it is not linear


def test_rows_behind_the_end_of_a_series_do_not_matter(rng):
    X, W = ragged(rng, 5, 6, 7), rng.normal(size=(9, 4))
    longer = np.concatenate([W[:6], 1e9 * np.ones((5, 4))])
    for cost in ("product", "squared"):
        np.testing.assert_array_equal(function_of(cost)(X, W), function_of(cost)(X, longer))


def test_one_channel_is_a_plain_series(rng):
    X, W = rng.normal(size=(4, 8)), rng.normal(size=(3, 8, 5))
    ref = elastic_inner_product(X, W)
    np.testing.assert_array_equal(elastic_inner_product(X[:, None], W), ref)
    np.testing.assert_array_equal(elastic_inner_product(X, W[..., None]), ref)
    np.testing.assert_array_equal(elastic_inner_product(list(X), W.tolist()), ref)


def test_channels_share_a_path(rng):
    x, W = rng.normal(size=(3, 8)), rng.normal(size=(8, 5, 3))
    local = naive.local_scores(x.T, W, naive.SCORES["product"])
    _, path, _ = naive.best(local)
    channels = [naive.score_along(x[c][:, None] * W[..., c], path) for c in range(3)]
    got = elastic_inner_product([x], W)[0]
    assert got == pytest.approx(sum(channels))
    assert got < sum(elastic_inner_product([x[c]], W[..., c])[0] for c in range(3))


@pytest.mark.parametrize(
    ("series", "matrix", "result"),
    [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("f8", "f4", "f8"), ("f4", "i8", "f8")],
)
def test_float32_stays_float32(series, matrix, result, rng):
    X, W = rng.normal(size=(4, 8)).astype(series), rng.integers(-3, 4, size=(8, 5)).astype(matrix)
    got = elastic_distance(X, W)
    assert got.dtype == np.dtype(result)
    ref = naive_values(X[:, None], W[None, ..., None], "squared")[:, 0]
    np.testing.assert_allclose(got, ref, rtol=1e-5)


# --- Embeddings


def test_the_embedding_of_the_paper():
    Z = 10 * np.arange(1, 8)[:, None] + np.arange(1.0, 6)
    path = [(0, 0), (0, 1), (1, 2), (2, 2), (2, 3), (3, 4)]
    got = embed(X_OF_THE_PAPER, Z, path)
    ref = [
        [2, 2, 13, 14, 15],
        [21, 22, 4, 24, 25],
        [31, 32, 3, 3, 35],
        [41, 42, 43, 44, 1],
        [51, 52, 53, 54, 55],
        [61, 62, 63, 64, 65],
        [71, 72, 73, 74, 75],
    ]
    np.testing.assert_array_equal(got, ref)
    np.testing.assert_array_equal(got, naive.embed(X_OF_THE_PAPER, Z, path))
    assert Z[0, 0] == 11  # not written to


def test_the_distance_of_the_paper():
    Y = np.array(
        [
            [5, 2, 2, 7, 0],
            [6, 6, 2, 4, 6],
            [1, 7, 6, 2, 6],
            [7, 3, 3, 0, 4],
            [2, 1, 3, 6, 5],
            [7, 0, 3, 3, 4],
            [7, 1, 2, 6, 0],
        ]
    )
    local = -((np.array(X_OF_THE_PAPER)[:, None] - Y[:4]) ** 2)
    assert naive.best_by_enumeration(local)[0] == -19
    assert elastic_distance([X_OF_THE_PAPER], Y)[0] == np.sqrt(19)
    embedded = embed(X_OF_THE_PAPER, Y, active_path(X_OF_THE_PAPER, Y, cost="squared"))
    assert np.linalg.norm(embedded - Y) == pytest.approx(np.sqrt(19))


@pytest.mark.parametrize("channels", [1, 3])
def test_the_embedding_is_isometric_to_its_base(channels, rng):
    x, z = rng.normal(size=(channels, 9)), rng.normal(size=(5, channels))
    base, series = (z[:, 0], x[0]) if channels == 1 else (z, x)
    Z = naive.stacked(base, 12)
    band = None if channels == 1 else 9  # as wide as the grid
    embedded = embed(series, Z, active_path(series, Z, cost="squared", band=band))
    assert np.linalg.norm(embedded - Z) == pytest.approx(dtw(x, z.T))


def test_the_inner_product_of_the_embedded_series_is_the_elastic_one(rng):
    x, W = rng.normal(size=9), rng.normal(size=(12, 5))
    embedded = embed(x, np.zeros((12, 5)), active_path(x, W))
    assert np.vdot(embedded, W) == pytest.approx(elastic_inner_product([x], W)[0])


# --- Gradients


@pytest.mark.parametrize(
    ("cost", "channels", "band", "count", "matrices"),
    [
        ("product", 1, None, 6, 2),
        ("product", 3, 6, 2, 4),
        ("squared", 1, None, 6, 1),
        ("squared", 3, None, 4, 2),
        ("squared", 1, 6, 2, 4),
        ("absolute", 1, None, 6, 2),
        ("gaussian", 1, 6, 6, 2),
    ],
)
def test_gradients_are_finite_differences(cost, channels, band, count, matrices, rng):
    X, W = ragged(rng, count, 3, 8, channels), rng.normal(size=(matrices, 8, 3, channels))
    upstream = rng.normal(size=(count, matrices))

    def total(X, W):
        return (upstream * naive_values(X, W, cost, band)).sum()

    shaped = W[..., 0] if channels == 1 else W
    if matrices == 1:
        shaped, weights = shaped[0], upstream[:, 0]
    else:
        weights = upstream
    got = value_and_gradient(X, shaped, cost=cost, band=band, upstream=weights)
    assert got.W.shape == shaped.shape
    values = naive_values(X, W, cost, band).reshape(got.values.shape)
    np.testing.assert_allclose(got.values, values, rtol=1e-12, atol=1e-12)
    by_matrix = naive.finite_differences(lambda at: total(X, at), W)
    np.testing.assert_allclose(got.W.reshape(W.shape), by_matrix, rtol=1e-5, atol=1e-6)
    slopes = got.X[:, None] if channels == 1 else got.X
    for p, x in enumerate(X):
        ref = naive.finite_differences(lambda at, p=p: total([*X[:p], at, *X[p + 1 :]], W), x)
        np.testing.assert_allclose(slopes[p, :, : x.shape[1]], ref, rtol=1e-5, atol=1e-6)
        assert (slopes[p, :, x.shape[1] :] == 0).all()


def test_upstream_is_one_by_default(rng):
    X, W = rng.normal(size=(4, 8)), rng.normal(size=(8, 5))
    plain, ones = value_and_gradient(X, W), value_and_gradient(X, W, upstream=np.ones(4))
    for one, other in zip(plain, ones, strict=True):
        np.testing.assert_array_equal(one, other)
    nothing = value_and_gradient(X, W, upstream=np.zeros(4))
    assert not nothing.W.any()
    assert not nothing.X.any()
    np.testing.assert_array_equal(nothing.values, plain.values)


def test_the_gradient_of_the_inner_product_is_the_embedded_series(rng):
    x, W = rng.normal(size=9), rng.normal(size=(12, 5))
    got = value_and_gradient([x], W)
    np.testing.assert_array_equal(got.W, embed(x, np.zeros((12, 5)), active_path(x, W)))
    assert np.vdot(got.W, W) == pytest.approx(got.values[0])


@pytest.mark.parametrize("cost", ["product", "squared"])
@pytest.mark.parametrize(
    ("scores", "path"),
    [
        (np.zeros((3, 3)), [(0, 0), (1, 1), (2, 2)]),
        (np.zeros((4, 2)), [(0, 0), (1, 0), (2, 0), (3, 1)]),
        (np.zeros((2, 4)), [(0, 0), (0, 1), (0, 2), (1, 3)]),
        # round the middle: not diagonally at the end, so up rather than left
        ([[0, 0, 0], [0, -9, 0], [0, 0, 0]], [(0, 0), (0, 1), (1, 2), (2, 2)]),
    ],
)
def test_ties_go_diagonally_then_up(cost, scores, path):
    scores = np.array(scores, dtype=float)
    x = np.ones(len(scores))
    W = scores if cost == "product" else 1 + np.sqrt(1 - scores)  # each costs 1 more
    assert active_path(x, W, cost=cost).tolist() == [list(cell) for cell in path]
    gradient = value_and_gradient([x], W, cost=cost).W
    assert {tuple(cell) for cell in np.argwhere(gradient)} == set(path)


@pytest.mark.parametrize("cost", ["squared", "absolute", "gaussian"])
def test_at_distance_zero_the_gradient_is_zero(cost, rng):
    x, y = rng.normal(size=(2, 6))
    W = np.repeat(x[:, None], 3, axis=1)
    band = 6 if cost == "gaussian" else None
    got = value_and_gradient([x, y], W, cost=cost, band=band)
    assert got.values[0] == 0 < got.values[1]
    assert (got.X[0] == 0).all()
    assert got.X[1].any()
    alone = value_and_gradient([x], W, cost=cost, band=band)
    assert (alone.W == 0).all()


# --- Errors

X3, X3D = np.zeros((2, 3)), np.zeros((4, 2, 3))


@pytest.mark.parametrize(
    ("X", "W", "error", "message"),
    [
        ([[1.0], [1.0] * 5], np.zeros((4, 2)), ValueError, r"X\[1\] has length 5.* only 4 rows"),
        (X3, np.zeros(3), ValueError, r"shape \(n, m\) or, for a bank, \(u, n, m\).*got \(3,\)"),
        (X3, np.zeros((1, 3, 2, 2)), ValueError, r"\(n, m\) or, .*1 channel.*\(1, 3, 2, 2\)"),
        (X3D, np.zeros((3, 2)), ValueError, r"\(n, m, d\) or, .*2 channel"),
        (X3D, np.zeros((3, 5, 3)), ValueError, "2 channel"),
        (X3D, np.zeros((1, 3, 5, 4)), ValueError, "2 channel"),
        (X3, np.zeros((3, 0)), ValueError, r"must not be empty, got shape \(3, 0\)"),
        (X3, np.zeros((0, 3, 2)), ValueError, r"must not be empty, got shape \(0, 3, 2\)"),
        (X3, [[0, 0], [0, np.nan], [0, 0]], ValueError, r"NaN at \(1, 1\)"),
        (X3, np.full((3, 2), np.inf), ValueError, r"infinity at \(0, 0\)"),
        (X3, np.zeros((3, 2), complex), ValueError, "[WY]: Complex data not supported"),
        (X3, np.zeros((3, 2), object), TypeError, "must hold real numbers, got dtype object"),
        (X3.astype(complex), np.zeros((3, 2)), ValueError, "X: Complex data not supported"),
        ([1.0, 2.0], np.zeros((3, 2)), ValueError, "X: Expected 2D array"),
    ],
)
def test_what_is_refused(X, W, error, message):
    for function in (elastic_inner_product, elastic_distance, value_and_gradient):
        with pytest.raises(error, match=message):
            function(X, W)


def test_bad_costs_are_refused():
    with pytest.raises(ValueError, match="cost must be a distance, got the similarity 'product'"):
        elastic_distance(X3, np.zeros((3, 2)), cost="product")
    with pytest.raises(ValueError, match=r"cost must be one of .* got 'euclidean'"):
        value_and_gradient(X3, np.zeros((3, 2)), cost="euclidean")


@pytest.mark.parametrize("upstream", [np.ones(3), np.ones((2, 1)), 1.0])
def test_bad_upstream_is_refused(upstream):
    with pytest.raises(ValueError, match=r"upstream must have shape \(2,\), got"):
        value_and_gradient(X3, np.zeros((3, 2)), upstream=upstream)


def test_the_path_through_a_large_grid(rng, monkeypatch):
    """It takes fewer lanes, of which one is needed."""
    x, W = rng.normal(size=30), rng.normal(size=(30, 12))
    path = active_path(x, W)
    monkeypatch.setattr(functions, "_MANY_CELLS", 0)
    np.testing.assert_array_equal(active_path(x, W), path)


def test_one_matrix_at_a_time():
    with pytest.raises(ValueError, match="W must be a single matrix"):
        active_path([1.0, 2.0], np.zeros((3, 2, 2)))
    with pytest.raises(ValueError, match="Z must be a single matrix"):
        embed([1.0, 2.0], np.zeros((3, 2, 2)), [(0, 0), (1, 1)])
    with pytest.raises(ValueError, match=r"x\[0\] has length 3, but W has only 2 rows"):
        active_path([1.0, 2.0, 3.0], np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ([(0, 0), (1, 1)], r"from \(0, 0\) to \(2, 1\)"),  # ends too early
        ([(0, 1), (1, 1), (2, 1)], "must be a warping path"),  # starts too late
        ([(0, 0), (2, 1)], "must be a warping path"),  # a leap
        ([(0, 0), (1, 1), (1, 0), (2, 1)], "must be a warping path"),  # a step back
        ([(0, 0), (1, 0), (1, 0), (2, 1)], "must be a warping path"),  # no step
        ([(0, 0), (1, 1), (2, 1), (3, 1)], "must be a warping path"),  # in rows the series lacks
        ([0, 1, 2], "index pairs"),
        ([(0.0, 0.0), (1.0, 0.0), (2.0, 1.0)], "index pairs"),
        (np.zeros((0, 2), int), "index pairs"),
    ],
)
def test_bad_paths_are_refused(path, message):
    with pytest.raises(ValueError, match=message):
        embed([1.0, 2.0, 3.0], np.zeros((4, 2)), path)
