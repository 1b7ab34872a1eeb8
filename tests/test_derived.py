"""Channels derived from series, and warped variants of them."""

import numpy as np
import pytest

from warplearn import SeriesCollection
from warplearn.series.augmentation import warped
from warplearn.series.derived import DERIVED, derived, derived_values


@pytest.fixture
def ragged(rng):
    return SeriesCollection.of([rng.normal(size=(2, k)) for k in (12, 1, 30)])


def test_values():
    values = np.array([1.0, 3.0, 2.0, 2.0])[None, :, None]
    expected = {
        "raw": [1, 3, 2, 2],
        "differences": [0, 2, -1, 0],
        "sums": [1, 4, 6, 8],
        "deviations": [np.std([1.0] * (8 - k) + [1.0, 3.0, 2.0, 2.0][: k + 1]) for k in range(4)],
    }
    assert set(expected) == set(DERIVED)
    for name, wanted in expected.items():
        np.testing.assert_allclose(derived_values(values, (name,))[0, :, 0], wanted)


@pytest.mark.parametrize("name", DERIVED)
def test_what_comes_later_does_not_matter(name, rng):
    values = rng.normal(size=(3, 25, 2))
    whole = derived_values(values, (name,))
    for k in (1, 5, 24):
        np.testing.assert_allclose(derived_values(values[:, :k], (name,)), whole[:, :k], rtol=1e-12)


def test_series_of_several_lengths(ragged):
    both = derived(ragged, ("raw", "sums"))
    assert both.n_channels == 4
    np.testing.assert_array_equal(both.lengths, ragged.lengths)
    for own, got in zip(ragged, both, strict=True):
        np.testing.assert_array_equal(got[:2], own)
        np.testing.assert_allclose(got[2:], own.cumsum(axis=1))
    assert not both.values[0, 12:].any()
    assert derived(ragged, ("raw",)) is ragged


def test_sums_that_are_too_large_are_refused():
    X = SeriesCollection.of(np.full((1, 3), 9e14, np.float32))
    with pytest.raises(ValueError, match="summed over time"):
        derived(X, ("raw", "sums"))


def test_warped_series(ragged):
    seed = np.random.RandomState
    same = warped(ragged, seed(0), warp=0, shift=0)
    np.testing.assert_allclose(same.values, ragged.values)
    got = warped(ragged, seed(0), warp=0.05, shift=0.05)
    np.testing.assert_array_equal(got.values, warped(ragged, seed(0), warp=0.05, shift=0.05).values)
    np.testing.assert_array_equal(got.lengths, ragged.lengths)
    assert not got.values[0, 12:].any()
    assert np.abs(got.values[2] - ragged.values[2]).max() > 0.1
    for own, new in zip(ragged, got, strict=True):
        assert own.min() <= new.min() <= new.max() <= own.max()


def test_a_ramp_shows_the_displacement():
    """Interpolated, the values of a ramp are the places that are read."""
    time = np.arange(1000.0)
    X = SeriesCollection.of(np.tile(time, (200, 1)))
    places = warped(X, np.random.RandomState(0), warp=0, shift=0.01).values[:, :, 0]
    shift = places[:, 500] - 500
    np.testing.assert_allclose(places[:, 400:600], time[400:600] + shift[:, None])
    assert 8 < shift.std() < 12
    bent = warped(X, np.random.RandomState(0), warp=0.01, shift=0).values[:, :, 0] - time
    assert 8 < bent[:, 500].std() < 13
    assert np.ptp(bent[:, 250:750], axis=1).mean() > 5
