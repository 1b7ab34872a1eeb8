"""`n_jobs`: how many threads kernels and linear algebra use."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from warplearn import ElasticKMeans, ElasticLogisticRegression, ElasticMLPClassifier
from warplearn._kernels.simd.threads import blas_threads, worth_threads
from warplearn.cluster import kmeans
from warplearn.linear_model.base import LinearModel
from warplearn.neural_network.mlp import DenseLayers


def now():
    """How many threads BLAS has."""
    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")


@pytest.fixture
def two_of_blas():
    with threadpool_limits(2, user_api="blas"):
        if now() < 2:
            pytest.skip("needs two threads")
        yield
        assert now() == 2  # as they were


def test_nested_limits(two_of_blas, two_threads):
    with blas_threads(1):
        assert now() == 1
        with blas_threads(2):
            assert now() == 2
        assert now() == 1


def test_limits_are_undone_after_an_error(two_of_blas):
    with pytest.raises(ZeroDivisionError), blas_threads(None):
        _ = 1 / 0


@pytest.mark.parametrize(
    ("estimator", "place", "name"),
    [
        (ElasticKMeans(2, max_iter=1, random_state=0), kmeans, "nearest"),
        (ElasticLogisticRegression(max_iter=1, random_state=0), LinearModel, "_combined"),
        (
            ElasticMLPClassifier(hidden_layer_sizes=(4, 3), max_iter=1, random_state=0),
            DenseLayers,
            "outputs",
        ),
    ],
    ids=["k-means", "linear", "network"],
)
@pytest.mark.parametrize("n_jobs", [None, 1])
def test_estimators_limit_linear_algebra(estimator, place, name, n_jobs, two_of_blas, monkeypatch):
    seen = []
    original = getattr(place, name)

    def spy(*args, **kwargs):
        seen.append(now())
        return original(*args, **kwargs)

    monkeypatch.setattr(place, name, spy)
    X = np.random.default_rng(0).normal(size=(12, 15))
    estimator.set_params(n_jobs=n_jobs).fit(X, np.arange(12) % 2).predict(X)
    assert set(seen) == {1}


@pytest.mark.parametrize(
    ("threads", "cells", "expected"), [(8, 0, 1), (8, 9e6, 2), (8, 1e12, 8), (1, 1e12, 1)]
)
def test_little_work_starts_no_threads(threads, cells, expected):
    assert worth_threads(threads, cells) == expected
