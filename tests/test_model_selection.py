"""Grid search in lanes finds what scikit-learn's finds, candidate by candidate."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold

from warplearn import Alphabet
from warplearn.linear_model.classifiers import (
    ElasticLinearSVC,
    ElasticLogisticRegression,
    ElasticMarginPerceptron,
)
from warplearn.model_selection import ElasticGridSearchCV
from warplearn.training import incremental

SVC = ElasticLinearSVC(elasticity=3, max_iter=8, random_state=0)
MARGIN = ElasticMarginPerceptron(elasticity=3, max_iter=8, random_state=0)
LOGISTIC = ElasticLogisticRegression(elasticity=3, max_iter=8, random_state=0)
ONE_ELASTICITY = [{"elasticity": [1, 3], "margin": [0.1, 1.0]}, {"polarity": ["+", "-"]}]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(24, 8))
    return X, (X[:, 2] + 0.5 * rng.normal(size=24) > 0).astype(int)


def total(estimator, X, y):
    """A score that shows every digit of the weights."""
    return float(np.sum(estimator.decision_function(X)))


def unsorted(X):
    """Splits out of order, of unequal size, with examples drawn more than once."""
    random = np.random.RandomState(5)
    folds = [random.permutation(len(X)) for _ in range(3)]
    return [(np.append(fold[:15], fold[:4]), fold[15:]) for fold in folds]


def both(estimator, grid, X, y, *, cv=3, fit=None, **options):
    """Search with scikit-learn and in lanes."""
    searches = [
        search(clone(estimator), grid, cv=cv, **options).fit(X, y, **(fit or {}))
        for search in (GridSearchCV, ElasticGridSearchCV)
    ]
    return searches


def assert_same(ref, got, digits=1e-9):
    assert set(got.cv_results_) == set(ref.cv_results_)
    assert got.cv_results_["params"] == ref.cv_results_["params"]
    for name, column in ref.cv_results_.items():
        if "time" in name or name == "params":
            continue
        if name.startswith("param_"):
            assert got.cv_results_[name].tolist() == column.tolist()  # None where masked
            assert (
                np.ma.getmaskarray(got.cv_results_[name]).tolist()
                == np.ma.getmaskarray(column).tolist()
            )
        elif name.startswith("rank"):
            assert got.cv_results_[name].tolist() == column.tolist()
        else:
            assert got.cv_results_[name] == pytest.approx(column, rel=digits, abs=digits), name
    assert got.n_splits_ == ref.n_splits_
    assert got.best_index_ == ref.best_index_
    assert got.best_params_ == ref.best_params_
    assert got.best_score_ == pytest.approx(ref.best_score_, rel=digits)
    if hasattr(ref, "best_estimator_"):
        assert got.best_estimator_.coef_.tolist() == ref.best_estimator_.coef_.tolist()


@pytest.mark.parametrize("scoring", [None, total], ids=["accuracy", "total"])
@pytest.mark.parametrize(
    ("estimator", "grid", "options"),
    [
        (SVC, {"learning_rate_init": [0.01, 0.1, 1.0], "alpha": [0.0, 0.01, 0.1]}, {}),
        (SVC, {"learning_rate_init": np.logspace(-3, 0, 7), "alpha": [0.0, 0.01, 0.1]}, {"return_train_score": True}),
        (SVC, {"alpha": [0.01], "class_weight": [None, "balanced", {0: 1, 1: 5}]}, {}),
        (SVC, {"learning_rate_init": [0.01, 0.5], "batch_size": [None, 6]}, {}),
        (MARGIN, {"margin": [0.0, 0.5, 2.0], "learning_rate_init": [0.1, 0.2]}, {"cv": KFold(4, shuffle=True, random_state=1)}),
        (MARGIN, ONE_ELASTICITY, {"return_train_score": True}),
        (MARGIN, {"elasticity": [0.0, 2, 0.5], "polarity": ["first", "symmetric"]}, {}),
        (MARGIN, {"n_init": [1, 3], "shuffle": [True, False], "random_state": [0, 1]}, {}),
        (MARGIN, {"monitor": ["accuracy", "loss"], "max_iter": [3, 6], "init_scale": [0.0, 1.0]}, {}),
        (MARGIN, {"margin": [0.1, 1.0]}, {"cv": "unsorted"}),
        (MARGIN, {"margin": [0.1], "class_weight": ["balanced"]}, {"cv": "unsorted"}),
    ],
)  # fmt: skip
def test_same_as_sklearn(data, estimator, grid, options, scoring):
    X, y = data
    options = {**options, **({"cv": unsorted(X)} if options.get("cv") == "unsorted" else {})}
    assert_same(*both(estimator, grid, X, y, scoring=scoring, **options))


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1", "accuracy"])
def test_other_scores(data, scoring):
    X, y = data
    ref, got = both(
        LOGISTIC,
        {"learning_rate_init": [0.05, 0.5]},
        X,
        y,
        scoring=scoring,
        return_train_score=True,
    )
    assert_same(ref, got)
    assert got.score(X, y) == pytest.approx(ref.score(X, y))
    assert got.predict_proba(X).tolist() == ref.predict_proba(X).tolist()


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        (LOGISTIC, {"learning_rate_init": [0.05, 0.5]}),
        (MARGIN, {"learning_rate_init": [0.05, 0.5], "polarity": ["+", "-"]}),
    ],
    ids=["softmax", "rest"],
)
@pytest.mark.parametrize("scoring", [None, total])
def test_three_classes(data, estimator, grid, scoring):
    X, _ = data
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 2], [-0.4, 0.4])]
    assert_same(*both(estimator, grid, X, y, scoring=scoring))


def test_folds_that_lack_a_class(data):
    """Each fold has never seen the class it is tested on."""
    X, y = data[0], np.arange(24) // 6
    assert_same(
        *both(
            MARGIN, {"learning_rate_init": [0.05, 0.5]}, X, y, cv=KFold(4), return_train_score=True
        )
    )


@pytest.mark.filterwarnings("ignore:The scoring .* does not support sample_weight")
def test_weights_and_groups(data, rng):
    X, y = data
    fit = {"sample_weight": rng.integers(0, 3, size=24).astype(float), "groups": np.arange(24) % 4}
    assert_same(*both(SVC, {"alpha": [0.0, 0.1]}, X, y, cv=GroupKFold(4), fit=fit, scoring=total))


@pytest.mark.parametrize("kind", ["ragged", "channels", "symbols"])
def test_kinds_of_series(rng, kind):
    estimator = clone(MARGIN)
    if kind == "ragged":
        X = [rng.normal(size=k) for k in np.resize([8, 6, 5, 7], 24)]
    elif kind == "channels":
        X = rng.normal(size=(24, 2, 7))
    else:
        X = ["".join(rng.choice(list("ACGT"), size=k)) for k in np.resize([8, 6, 5, 7], 24)]
        estimator.set_params(alphabet=Alphabet("TGCAN"))
    y = rng.integers(0, 2, size=24)
    assert_same(
        *both(estimator, {"elasticity": [2, 0.3], "margin": [0.1, 1.0]}, X, y, scoring=total)
    )


def test_threads_change_nothing(data, two_threads):
    X, y = data
    grid = {"alpha": [0.0, 0.001, 0.01, 0.1, 1.0]}
    one, two = (ElasticGridSearchCV(SVC, grid, scoring=total, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_same(one, two, digits=0)


def test_defaults(data):
    """Five stratified folds, accuracy, and a refit."""
    X, y = data
    got = ElasticGridSearchCV(MARGIN, {"margin": [0.1, 1.0]}).fit(X, y)
    ref = GridSearchCV(MARGIN, {"margin": [0.1, 1.0]}, cv=StratifiedKFold(5)).fit(X, y)
    assert_same(ref, got)
    assert got.predict(X).tolist() == ref.predict(X).tolist()
    assert got.decision_function(X).tolist() == ref.decision_function(X).tolist()
    assert got.score(X, y) == ref.score(X, y)
    assert got.classes_.tolist() == [0, 1]
    assert not hasattr(got, "predict_proba")
    assert got.best_estimator_.get_params() == ref.best_estimator_.get_params()


def test_without_refit(data):
    X, y = data
    ref, got = both(MARGIN, {"margin": [0.1, 1.0]}, X, y, refit=False)
    assert_same(ref, got)
    assert not hasattr(got, "best_estimator_")
    assert not hasattr(got, "predict")


def test_unfitted(data):
    with pytest.raises(NotFittedError):
        ElasticGridSearchCV(MARGIN, {"margin": [0.1]}).predict(data[0])


@pytest.mark.parametrize(
    ("search", "error", "message"),
    [
        (ElasticGridSearchCV(MARGIN, {"width": [1.0]}), ValueError, "Invalid parameter 'width'"),
        (
            ElasticGridSearchCV(MARGIN, {"learning_rate_init": [-1.0]}),
            ValueError,
            "learning_rate_init",
        ),
        (ElasticGridSearchCV(MARGIN, {}, cv=1), ValueError, "k-fold"),
        (ElasticGridSearchCV(MARGIN, {"margin": [1.0]}, scoring="luck"), ValueError, "luck"),
        (
            ElasticGridSearchCV(MARGIN, {}, cv=[(np.arange(2), np.arange(2, 4))]),
            ValueError,
            "fold 0 has training series of one class only",
        ),
    ],
)
def test_errors(data, search, error, message):
    X, y = data
    with pytest.raises(error, match=message):
        search.fit(X, np.sort(y))


def test_clone_and_parameters():
    search = ElasticGridSearchCV(MARGIN, {"margin": [0.1]}, cv=4, n_jobs=1)
    copy = clone(search).set_params(estimator__learning_rate_init=0.7)
    assert copy.get_params()["estimator__learning_rate_init"] == 0.7
    assert search.get_params()["estimator__learning_rate_init"] == MARGIN.learning_rate_init
    assert copy.cv == 4


def test_interrupted_keeps_nothing(data, monkeypatch):
    """An interrupt is not swallowed, as half-trained candidates cannot be compared."""
    calls = []

    def run(self, epochs):
        calls.append(epochs)
        raise KeyboardInterrupt

    monkeypatch.setattr(incremental.Bank, "run", run)
    search = ElasticGridSearchCV(MARGIN, {"elasticity": [1, 2, 3]})
    with pytest.raises(KeyboardInterrupt):
        search.fit(*data)
    assert len(calls) == 1
    assert not hasattr(search, "cv_results_")
