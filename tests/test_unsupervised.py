"""What all estimators of means, clusters, prototypes and neighbours share with scikit-learn's."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from warplearn.base import SHORTER_SERIES_ARE_VALID
from warplearn.cluster import ElasticAgglomerative, ElasticKMeans, ElasticSOM
from warplearn.embedding import ElasticEmbedding
from warplearn.mean import ElasticMean
from warplearn.neighbors.nearest import DTWNeighborsClassifier, DTWNeighborsRegressor
from warplearn.neighbors.prototypes import ElasticLVQClassifier, NearestPrototypeClassifier

ESTIMATORS = [
    ElasticMean(max_iter=3),
    ElasticKMeans(3, max_iter=3, random_state=0),
    ElasticSOM((2, 2), max_iter=3, random_state=0),
    ElasticAgglomerative(max_iter=3),
    ElasticEmbedding(max_iter=3),
    ElasticLVQClassifier(max_iter=2, random_state=0),
    NearestPrototypeClassifier(random_state=0),
    DTWNeighborsClassifier(),
    DTWNeighborsRegressor(),
]

# Checks that give `predict` or `transform` a table with other columns than in `fit`.
OTHER_LENGTHS = dict.fromkeys(
    [
        "check_n_features_in_after_fitting",
        "check_classifiers_train",
        "check_transformer_general",
        "check_estimators_partial_fit_n_features",
    ],
    SHORTER_SERIES_ARE_VALID,
)
SEEDS_ARE_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": (
        "the first centres are drawn, and from repeated series others are drawn than from weighted "
        "ones; from given centres the results are the same (test_weights_are_repetitions)"
    )
}
EXPECTED = {
    ElasticMean: ["check_n_features_in_after_fitting"],
    ElasticKMeans: [
        "check_n_features_in_after_fitting",
        "check_transformer_general",
        "check_estimators_partial_fit_n_features",
        "check_sample_weight_equivalence_on_dense_data",
    ],
    ElasticSOM: [
        "check_n_features_in_after_fitting",
        "check_transformer_general",
        "check_sample_weight_equivalence_on_dense_data",
    ],
    ElasticAgglomerative: ["check_n_features_in_after_fitting", "check_transformer_general"],
    ElasticEmbedding: ["check_n_features_in_after_fitting", "check_transformer_general"],
    ElasticLVQClassifier: ["check_n_features_in_after_fitting", "check_classifiers_train"],
    NearestPrototypeClassifier: ["check_n_features_in_after_fitting", "check_classifiers_train"],
    DTWNeighborsClassifier: ["check_n_features_in_after_fitting", "check_classifiers_train"],
    DTWNeighborsRegressor: ["check_n_features_in_after_fitting"],
}


def expected_failures(estimator):
    reasons = OTHER_LENGTHS | SEEDS_ARE_DRAWN
    return {check: reasons[check] for check in EXPECTED[type(estimator)]}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_estimator_checks(estimator, check):
    check(estimator)


def name_of(estimator):
    return type(estimator).__name__


def answers(estimator, X):
    """What a fitted estimator says about series."""
    asked = [m for m in ("predict", "transform", "kneighbors") if hasattr(estimator, m)]
    return [getattr(estimator, method)(X) for method in asked] or [estimator.score(X)]


@pytest.fixture
def data(rng):
    """Ragged series of two channels, with labels."""
    y = np.array([0, 1, 2] * 6)
    X = [rng.normal(size=(2, k)) + 3 * c for k, c in zip(rng.integers(5, 9, 18), y, strict=True)]
    return X, y


def assert_alike(got, ref):
    for a, b in zip(got, ref, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_pickle(estimator, data):
    X, y = data
    fitted = clone(estimator).fit(X, y)
    assert_alike(answers(pickle.loads(pickle.dumps(fitted)), X), answers(fitted, X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_skops(estimator, data):
    skops = pytest.importorskip("skops.io")
    X, y = data
    fitted = clone(estimator).fit(X, y)
    stored = skops.dumps(fitted)
    untrusted = skops.get_untrusted_types(data=stored)
    assert all(t.startswith("warplearn.") or t.startswith("numpy.") for t in untrusted)
    assert_alike(answers(skops.loads(stored, trusted=untrusted), X), answers(fitted, X))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_memory_maps_are_as_good_as_arrays(estimator, rng, tmp_path):
    X = rng.normal(size=(20, 9))
    y = np.array([0, 1] * 10)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    ref = clone(estimator).fit(X, y)
    got = clone(estimator).fit(mapped, y)
    assert_alike(answers(got, mapped), answers(ref, X))


def test_every_kind_is_here():
    assert sum(map(is_classifier, ESTIMATORS)) == 3
    assert sum(map(is_regressor, ESTIMATORS)) == 1
    assert set(EXPECTED) == {type(e) for e in ESTIMATORS}
