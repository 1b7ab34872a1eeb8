"""Sakoe-Chiba bands: the definition, and what is refused."""

import itertools
import sys

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warplearn import band_mask, dtw, elastic_distance, pairwise_dtw
from warplearn._kernels.drivers.evaluate import evaluate_paths
from warplearn._kernels.recursion.grid import leaves_no_path
from warplearn.elastic.bands import Band, band_of, narrowest, resolve_band
from warplearn.elastic.costs import resolve_distance

BANDS = [0, 1, 2, 4, 0.0, 0.1, 0.25, 0.5]


def naive_mask(k, m, band):
    return np.array([[naive.in_band(i, j, k, m, band) for j in range(m)] for i in range(k)])


@pytest.mark.parametrize("band", [None, *BANDS])
def test_mask_is_the_definition(band):
    for k, m in itertools.product(range(1, 9), repeat=2):
        np.testing.assert_array_equal(band_mask(k, m, band), naive_mask(k, m, band))


@given(
    k=st.integers(1, 60),
    m=st.integers(1, 60),
    band=st.integers(0, 70) | st.integers(0, 99).map(lambda percent: percent / 100),
)
def test_mask_is_the_definition_on_any_grid(k, m, band):
    got = band_mask(k, m, band)
    np.testing.assert_array_equal(got, naive_mask(k, m, band))
    np.testing.assert_array_equal(got.T, band_mask(m, k, band))
    assert got[0, 0]
    assert got[-1, -1]


def test_on_a_square_grid_it_is_the_distance_from_the_diagonal():
    i, j = np.indices((9, 9))
    np.testing.assert_array_equal(band_mask(9, 9, 3), np.abs(i - j) <= 3)


@pytest.mark.parametrize(
    ("band", "cells"), [(0.29, 29), (0.57, 57), (0.1, 10), ("29%", 29), ("100%", 100)]
)
def test_fractions_mean_their_decimals(band, cells):
    # 0.29 * 100 is 28.999999999999996
    np.testing.assert_array_equal(band_mask(100, 80, band), band_mask(100, 80, cells))


@pytest.mark.parametrize("band", BANDS)
def test_whether_a_path_is_left(band):
    for k, m in itertools.product(range(1, 14), repeat=2):
        assert leaves_no_path(band_of(band, 14), k, m) == (not naive.has_path(k, m, band))


def test_the_narrowest_band_is_the_narrowest():
    for k, m in itertools.product(range(1, 30, 4), range(1, 14, 3)):
        ref = next(r for r in itertools.count() if naive.has_path(k, m, r))
        assert narrowest(k, m) == ref


@pytest.mark.parametrize(
    ("band", "resolved"),
    [
        (None, None), (0, Band(0)), (7, Band(7)), (np.int32(7), Band(7)), (0.25, Band(share=0.25)),
        (np.float32(0.5), Band(share=0.5)), ("25%", Band(share=0.25)), ("250%", Band(share=1.0)),
        (15, Band(14)), (2**56, Band(14)), (10**400, Band(14)),
    ],
)  # fmt: skip
def test_what_a_band_means(band, resolved):
    assert band_of(band, 14) == resolved


@pytest.mark.parametrize("band", [sys.maxsize, 2**56, 10**400])
def test_a_band_wider_than_the_grid_is_none_at_all(band, rng):
    x, y = rng.normal(size=(2, 30))
    assert dtw(x, y, band) == dtw(x, y)


@pytest.mark.parametrize("band", [-1, -0.1, np.nan, np.inf, 1e300, True, "1", "-5%", "x%", [1], 1j])
def test_bad_bands(band):
    with pytest.raises(ValueError, match="band must be an integer of at least 0"):
        dtw([1.0, 2.0], [1.0, 2.0], band=band)


@pytest.mark.parametrize("band", [1.0, np.float32(1), 1.5])
def test_floats_from_1_on_are_ambiguous(band):
    with pytest.raises(ValueError, match="is ambiguous: write band="):
        dtw([1.0, 2.0], [1.0, 2.0], band=band)


def test_distances_in_the_narrowest_band(rng):
    # In a tall grid many rows have the same limits, in a wide grid no two.
    for m, k in itertools.product((2, 3, 4, 7), range(2, 40)):
        x, y, band = rng.normal(size=k), rng.normal(size=m), narrowest(k, m)
        assert dtw(x, y, band) == pytest.approx(naive.dtw(x, y, band))
        assert dtw(y, x, band) == pytest.approx(naive.dtw(y, x, band))


# --- Refusals


def test_a_refusal_names_grid_case_and_narrowest_band(rng):
    X = [rng.normal(size=3), rng.normal(size=20), rng.normal(size=20)]
    W = rng.normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"band=2 leaves no .* 20 x 3 grid of X\[1\].* band=5$"):
        elastic_distance(X, W, band=2)
    assert np.isfinite(elastic_distance(X, W, band=5)).all()
    with pytest.raises(ValueError, match="narrowest"):
        elastic_distance(X, W, band=4)


def test_fractions_are_refused_too(rng):
    with pytest.raises(ValueError, match=r"band=0\.1 leaves no .* 20 x 3 grid of x\[0\].* band=5"):
        dtw(rng.normal(size=20), rng.normal(size=3), band=0.1)


def test_refused_is_any_pair_without_a_path(rng):
    X = [rng.normal(size=n) for n in (20, 3)]
    with pytest.raises(ValueError, match="leaves no warping path on the 20 x 3 grid"):
        pairwise_dtw(X, band=2)
    assert pairwise_dtw(X[:1], band=2)[0, 0] == 0


def test_every_length_is_looked_at():
    rows, columns = np.array([5, 5, 40, 6]), np.array([5, 4])
    with pytest.raises(ValueError, match=r"40 x 4 grid of Z\[2\]"):
        resolve_band(1, rows, columns, "Z")
    assert resolve_band(1, rows[:2], columns, "Z") == Band(1)


@pytest.mark.parametrize(("k", "m"), [(37, 37), (37, 20), (9, 41), (1, 5), (5, 1)])
@pytest.mark.parametrize("scale", [1.0, 1e200])
def test_paths_stay_in_the_band(k, m, scale, rng):
    # Squares of 1e200 overflow: all paths are equally bad, and still there is one.
    radius = narrowest(k, m)
    band = Band(cells=radius)
    x, y = scale * rng.normal(size=(1, k, 1)), scale * rng.normal(size=(1, m, 1))
    cost, _ = resolve_distance("squared")
    (path,) = evaluate_paths(cost, x, np.array([k]), y, band=band, lanes=8, n_jobs=1).paths
    inside = band_mask(k, m, radius)
    assert inside[path[:, 0], path[:, 1]].all()
    assert path[0].tolist() == [0, 0]
    assert path[-1].tolist() == [k - 1, m - 1]
    assert {tuple(step) for step in np.diff(path, axis=0).tolist()} <= {(0, 1), (1, 0), (1, 1)}
