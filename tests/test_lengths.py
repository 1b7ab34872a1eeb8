"""Series that are longer than a model."""

import numpy as np
import pytest

from warplearn.series.collection import SeriesCollection
from warplearn.series.lengths import fit_length, resample

RNG = np.random.default_rng(0)


def ragged(d, dtype=np.float64):
    series = [RNG.normal(size=(d, k)).astype(dtype) for k in (4, 9, 5, 12, 1)]
    return series, SeriesCollection.of(series)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3])
def test_truncate_keeps_the_first_elements(d, dtype):
    series, X = ragged(d, dtype)
    got = fit_length(X, 5, "truncate")
    assert got.dtype == dtype
    assert got.lengths.tolist() == [4, 5, 5, 5, 1]
    for case, x in enumerate(series):
        np.testing.assert_array_equal(got.values[case, : got.lengths[case]], x.T[:5])
        assert not got.values[case, got.lengths[case] :].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3])
def test_resample_interpolates_longer_series_only(d, dtype):
    series, X = ragged(d, dtype)
    got = fit_length(X, 5, "resample")
    assert got.dtype == dtype
    assert got.lengths.tolist() == [4, 5, 5, 5, 1]
    for case, x in enumerate(series):
        ref = x.T
        if len(ref) > 5:
            at = np.linspace(0, len(ref) - 1, 5)
            ref = np.stack([np.interp(at, np.arange(len(ref)), c) for c in x], 1).astype(dtype)
        np.testing.assert_array_equal(got.values[case, : len(ref)], ref)
        assert not got.values[case, len(ref) :].any()
    assert X.lengths.tolist() == [4, 9, 5, 12, 1], "the series that were given stay as they are"


def test_a_line_stays_a_line():
    line = np.linspace(-1, 3, 17)[:, None]
    np.testing.assert_allclose(resample(line, 7)[:, 0], np.linspace(-1, 3, 7))


def test_the_default_is_an_error_that_says_what_to_do():
    _, X = ragged(1)
    with pytest.raises(ValueError, match=r"X\[1\] has length 9, longer than the longest training"):
        fit_length(X, 5)
    with pytest.raises(ValueError, match="longer='truncate' or 'resample'.*partial_fit"):
        fit_length(X, 5, "error")
    with pytest.raises(ValueError, match=r"queries\[3\] has length 12"):
        fit_length(X, 10, name="queries")


@pytest.mark.parametrize("longer", ["error", "truncate", "resample"])
def test_series_that_fit_are_returned_as_they_are(longer):
    _, X = ragged(1)
    assert fit_length(X, 12, longer) is X


def test_unknown_choices_are_refused():
    _, X = ragged(1)
    with pytest.raises(ValueError, match="longer must be one of .*'truncate'.*got 'cut'"):
        fit_length(X, 100, "cut")
