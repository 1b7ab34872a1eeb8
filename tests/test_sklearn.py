"""scikit-learn's contract: its own checks, its tools, and its linear models as special cases."""

import pickle

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from warplearn import Alphabet
from warplearn.base import SHORTER_SERIES_ARE_VALID
from warplearn.linear_model.classifiers import (
    ElasticAdaline,
    ElasticLinearSVC,
    ElasticLogisticRegression,
    ElasticMarginPerceptron,
    ElasticPerceptron,
)
from warplearn.linear_model.cross_validation import (
    ElasticLinearSVCCV,
    ElasticLogisticRegressionCV,
)
from warplearn.linear_model.regressors import ElasticLinearRegression
from warplearn.model_selection import ElasticGridSearchCV
from warplearn.neural_network.mlp import ElasticMLPClassifier, ElasticMLPRegressor
from warplearn.training.schedules import Decay

CHOSEN = {"elasticities": (1, 3), "learning_rates": (0.1,), "n_best": 2, "cv": 2}
CHOOSING = [ElasticLogisticRegressionCV(**CHOSEN), ElasticLinearSVCCV(**CHOSEN)]
ESTIMATORS = [
    ElasticPerceptron(),
    ElasticMarginPerceptron(),
    ElasticLogisticRegression(),
    ElasticLinearSVC(),
    ElasticAdaline(),
]
AN_EXAMPLE_IS_A_STEP = (
    "a step of weight 2 is not two steps of weight 1; scikit-learn exempts its own SGDClassifier"
)
EXPECTED_FAILURES = {
    "check_n_features_in_after_fitting": SHORTER_SERIES_ARE_VALID,
    "check_estimators_partial_fit_n_features": SHORTER_SERIES_ARE_VALID,
    "check_sample_weight_equivalence_on_dense_data": AN_EXAMPLE_IS_A_STEP,
    "check_class_weight_classifiers": (
        "weights with the fewest mistakes are kept, and mistakes are counted without weights"
    ),
}


NETWORKS = [
    ElasticMLPClassifier(hidden_layer_sizes=(8,)),
    ElasticMLPRegressor(hidden_layer_sizes=(8,)),
    ElasticLinearRegression(),
]


def expected_failures(estimator):
    """Networks, and models that choose, keep the weights with the lowest risk, which is weighted."""
    heeding = {type(each) for each in NETWORKS + CHOOSING}
    passed = {"check_class_weight_classifiers"} if type(estimator) in heeding else set()
    if not hasattr(estimator, "partial_fit"):
        passed.add("check_estimators_partial_fit_n_features")
    return {name: reason for name, reason in EXPECTED_FAILURES.items() if name not in passed}


@parametrize_with_checks(ESTIMATORS + NETWORKS + CHOOSING, expected_failed_checks=expected_failures)
def test_checks_of_sklearn(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(24, 8))
    return X, np.array(["no", "yes"])[(X[:, 2] + 0.5 * X[:, 5] > 0).astype(int)]


# --- Tools


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_clone_and_parameters(estimator):
    changed = clone(estimator).set_params(
        elasticity=4, learning_rate_init=0.25, polarity="-", alphabet=Alphabet("AB")
    )
    copy = clone(changed)
    assert copy is not changed
    assert copy.get_params() == changed.get_params()
    assert copy.get_params()["learning_rate_init"] == 0.25
    assert f"{type(estimator).__name__}(" in repr(copy)
    assert "learning_rate_init=0.25" in repr(copy)


def test_pipeline(data):
    X, y = data
    pipeline = make_pipeline(
        StandardScaler(), ElasticLogisticRegression(elasticity=3, random_state=0)
    )
    pipeline.fit(5 + 100 * X, y)
    assert pipeline.score(5 + 100 * X, y) > 0.9
    scaled = StandardScaler().fit_transform(5 + 100 * X)
    ref = ElasticLogisticRegression(elasticity=3, random_state=0).fit(scaled, y)
    assert pipeline.predict_proba(5 + 100 * X).tolist() == ref.predict_proba(scaled).tolist()


def test_pipeline_of_several_channels(rng):
    X, y = rng.normal(size=(12, 2, 7)), np.arange(12) % 2
    differences = FunctionTransformer(lambda X: np.diff(X, axis=-1))
    pipeline = make_pipeline(differences, ElasticMarginPerceptron(elasticity=3, random_state=0))
    assert pipeline.fit(X, y)[-1].coef_.shape == (2, 6, 3, 2)
    assert pipeline.predict(X).shape == (12,)


def test_search_and_cross_validation(data):
    X, y = data
    grid = {"elasticity": [1, 3], "polarity": ["+", "-"]}
    search = GridSearchCV(ElasticMarginPerceptron(random_state=0, max_iter=20), grid, cv=3).fit(
        X, y
    )
    best = ElasticMarginPerceptron(random_state=0, max_iter=20, **search.best_params_)
    assert cross_val_score(best, X, y, cv=3).mean() == search.best_score_ > 0.6


def test_calibration(data):
    X, y = data
    model = ElasticMarginPerceptron(elasticity=3, random_state=0)
    calibrated = CalibratedClassifierCV(model, cv=3, ensemble=False).fit(X, y)
    P = calibrated.predict_proba(X)
    assert P.shape == (24, 2)
    assert P.sum(axis=1) == pytest.approx(np.ones(24))
    values = model.fit(X, y).decision_function(X)
    assert (np.diff(P[np.argsort(values), 1]) >= 0).all()
    assert calibrated.score(X, y) > 0.7


def fitted(kind, X, y):
    """A model that has seen something."""
    if kind == "search":
        estimator = ElasticMarginPerceptron(elasticity=3, random_state=0, max_iter=8)
        return ElasticGridSearchCV(estimator, {"margin": [0.1, 1.0]}, cv=3).fit(X, y), X
    if kind == "symbols":
        words = ["GATTACA", "CATTAGA", "TACT", "ACTGACT"]
        model = ElasticMarginPerceptron(elasticity=3, random_state=0, max_iter=8)
        return model.fit(words, [0, 1, 0, 1]), words
    if kind == "schedule":
        model = ElasticMarginPerceptron(elasticity=3, learning_rate=Decay(0.2), max_iter=8)
        return model.fit(X, y), X
    return ElasticLogisticRegression(elasticity=3, random_state=0).fit(X, y), X


@pytest.mark.parametrize("kind", ["plain", "schedule", "symbols", "search"])
@pytest.mark.parametrize("by", ["pickle", "skops"])
def test_saved_and_loaded(data, kind, by):
    model, X = fitted(kind, *data)
    if by == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        saved = skops.io.dumps(model)
        untrusted = skops.io.get_untrusted_types(data=saved)
        assert all(
            name.startswith(("warplearn.", "numpy.ma.", "sklearn.metrics.")) for name in untrusted
        ), untrusted
        again = skops.io.loads(saved, trusted=untrusted)
    assert again.decision_function(X).tolist() == model.decision_function(X).tolist()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    if kind == "plain":
        more = [found.partial_fit(*data).coef_.tolist() for found in (model, again)]
        assert more[0] == more[1]


# --- Elasticity 1 is the linear model

EPOCHS = 12


def epochs(model, X, y, weights=None):
    """Twelve epochs, without chance; the last weights, not the best."""
    for _ in range(EPOCHS):
        model.partial_fit(X, y, classes=np.unique(y), sample_weight=weights)
    return model


LINEAR = {"elasticity": 0.0, "learning_rate": Decay(0.0), "init_scale": 0.0, "shuffle": False}
SGD = {"learning_rate": "constant", "shuffle": False, "fit_intercept": True}


@pytest.mark.parametrize(
    ("elastic", "linear", "labels", "weighted"),
    [
        (
            ElasticPerceptron(learning_rate_init=0.3, polarity="+", **LINEAR),
            Perceptron(eta0=0.3, shuffle=False),
            2,
            False,
        ),
        (
            ElasticPerceptron(learning_rate_init=0.3, polarity="+", **LINEAR),
            Perceptron(eta0=0.3, shuffle=False),
            3,
            True,
        ),
        (
            ElasticLinearSVC(learning_rate_init=0.05, alpha=0.0, polarity="+", **LINEAR),
            SGDClassifier(loss="hinge", eta0=0.05, penalty=None, **SGD),
            3,
            True,
        ),
        (
            ElasticLinearSVC(learning_rate_init=0.05, alpha=0.02, polarity="+", **LINEAR),
            SGDClassifier(loss="hinge", eta0=0.05, alpha=0.04, **SGD),  # half alpha the square
            2,
            False,  # scikit-learn's penalty takes no notice of the weights of examples
        ),
        (
            ElasticLogisticRegression(learning_rate_init=0.1, polarity="+", **LINEAR),
            SGDClassifier(loss="log_loss", eta0=0.1, penalty=None, **SGD),
            2,
            True,
        ),
        (
            ElasticAdaline(learning_rate_init=0.01, polarity="+", **LINEAR),
            SGDClassifier(loss="squared_error", eta0=0.01, penalty=None, **SGD),
            2,
            True,
        ),
    ],
    ids=["perceptron", "perceptron-3", "hinge-3", "svm", "logistic", "adaline"],
)
def test_one_column_is_the_linear_model(rng, elastic, linear, labels, weighted):
    X = rng.normal(size=(30, 8))
    y = np.digitize(X[:, 1] + 0.7 * rng.normal(size=30), [0.0, 0.6][: labels - 1])
    weights = rng.uniform(0.5, 2.0, size=30) if weighted else None
    got, ref = epochs(clone(elastic), X, y, weights), epochs(clone(linear), X, y, weights)
    assert got.coef_[..., 0] == pytest.approx(ref.coef_, abs=1e-11)
    assert got.intercept_ == pytest.approx(ref.intercept_, abs=1e-11)
    assert got.decision_function(X) == pytest.approx(ref.decision_function(X), abs=1e-10)
    assert got.predict(X).tolist() == ref.predict(X).tolist()
    assert np.abs(ref.coef_).max() > 0.05


def test_fit_is_so_many_epochs(rng):
    """The same by `fit`, at the epoch whose weights are kept."""
    X = rng.normal(size=(30, 8))
    y = (X[:, 1] + 0.7 * rng.normal(size=30) > 0).astype(int)
    got = ElasticLinearSVC(
        learning_rate_init=0.05,
        alpha=0.02,
        polarity="+",
        max_iter=40,
        monitor="loss",
        tol=None,
        **LINEAR,
    ).fit(X, y)
    kept = int(got.history_[0].argmin()) + 1
    ref = SGDClassifier(loss="hinge", eta0=0.05, alpha=0.04, max_iter=kept, tol=None, **SGD).fit(
        X, y
    )
    assert got.n_iter_ == 40
    assert got.coef_[..., 0] == pytest.approx(ref.coef_, abs=1e-11)
    assert got.intercept_ == pytest.approx(ref.intercept_, abs=1e-11)
