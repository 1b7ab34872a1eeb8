"""Distances of real series against other libraries.

The environment variable WARPLEARN_DATA names a folder of the UCR archive in its .tsv form.
"""

import numpy as np
import pytest

from warplearn import elastic_distance, pairwise_dtw, warping_path

SETS = ["GunPoint", "Coffee", "ECG200", "ItalyPowerDemand", "CBF"]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("fraction", [None, 0.1])
def test_distances_equal_other_libraries(name, fraction, real_series):
    tslearn = pytest.importorskip("tslearn.metrics")
    dtai = pytest.importorskip("dtaidistance.dtw")
    X, Y = real_series(name, "TRAIN", 6), real_series(name, "TEST", 4)
    radius = None if fraction is None else int(fraction * len(X[0]))
    constraint = {}
    if radius is not None:
        constraint = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": radius}
    got = pairwise_dtw(X, Y, fraction)
    ref = [[tslearn.dtw(x, y, **constraint) for y in Y] for x in X]
    np.testing.assert_allclose(got, ref, rtol=1e-9)
    window = None if radius is None else radius + 1
    ref = [[dtai.distance(x, y, window=window) for y in Y[:1]] for x in X]
    np.testing.assert_allclose(got[:, :1], ref, rtol=1e-9)


@pytest.mark.parametrize("name", ["PickupGestureWiimoteZ", "ShakeGestureWiimoteZ"])
def test_series_of_different_lengths(name, real_series):
    tslearn = pytest.importorskip("tslearn.metrics")
    X = real_series(name, "TRAIN", 6)
    assert len({len(x) for x in X}) > 1
    ref = [[tslearn.dtw(x, y) for y in X] for x in X]
    np.testing.assert_allclose(pairwise_dtw(X), ref, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SETS)
def test_float32_is_near_float64(name, real_series):
    X = np.array(real_series(name, "TRAIN", 20))
    got = pairwise_dtw(X.astype(np.float32))
    np.testing.assert_allclose(got, pairwise_dtw(X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", SETS)
def test_paths_and_matrices(name, real_series):
    x, y = real_series(name, "TRAIN", 2)
    path, distance = warping_path(x, y)
    assert distance == pytest.approx(np.sqrt(sum((x[i] - y[j]) ** 2 for i, j in path)))
    assert elastic_distance([x], np.stack([y] * len(x)))[0] == distance
