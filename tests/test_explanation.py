"""Every classifier and regressor explains what it decides, and the place that matters is found."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import warplearn
from warplearn import SeriesCollection, catalogue
from warplearn.explanation import decision_values, explain, occlude

rng = np.random.default_rng(0)
PLACE = slice(12, 18)


def bumps(n, channels=1, length=30):
    """Series whose classes differ in a bump at PLACE, in the last channel."""
    y = np.arange(n) % 2
    X = rng.normal(0, 0.05, (n, channels, length))
    bump = np.sin(np.linspace(0, np.pi, PLACE.stop - PLACE.start))
    X[:, -1, PLACE] += np.where(y, 1.0, -1.0)[:, None] * bump
    return X[:, 0] if channels == 1 else X, y


SMALL = {
    "ElasticFeatureClassifier": {"n_filters": 200},
    "ElasticMLPClassifier": {"hidden_layer_sizes": (4,), "max_iter": 30, "elasticity": 2},
    "ElasticLVQClassifier": {"max_iter": 2},
    "ElasticLinearSVCCV": {"learning_rates": (0.1,), "cv": 3},
    "ElasticLogisticRegressionCV": {"learning_rates": (0.1,), "cv": 3},
}
NAMES = [n for n in catalogue.estimators("classify") if catalogue.ESTIMATORS[n].public]


@pytest.mark.parametrize("name", NAMES)
def test_the_place_that_matters_is_found(name):
    X, y = bumps(24)
    model = catalogue.estimator_class(name)(**SMALL.get(name, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(X, y)
    case = int(np.flatnonzero(y == 1)[0])
    found = explain(model, X[[case]])
    assert found.contributions.shape == (1, 30)
    weight = np.abs(found.along[0])
    assert weight[PLACE.start - 2 : PLACE.stop + 2].sum() > 0.4 * weight.sum()
    assert found.along[0][PLACE].sum() > 0  # speaks for the second class
    exact = hasattr(model, "explain")
    assert (found.bias is None) == (not exact)
    if exact:
        total = found.contributions.sum() + found.bias
        assert total == pytest.approx(model.decision_function(X[[case]])[0], rel=1e-4)


def test_channels_and_classes():
    X, y = bumps(18, channels=2)
    three = np.where(np.arange(18) < 6, 2, y)
    model = warplearn.ElasticFeatureClassifier(100, random_state=0).fit(X, three)
    found = explain(model, X[:2], width=5)
    assert found.contributions.shape == (3, 2, 2, 30)
    with pytest.raises(ValueError, match="width == 0"):
        explain(model, X[:2], width=0)
    regressor = warplearn.DTWNeighborsRegressor().fit(X, y.astype(float))
    assert explain(regressor, X[:2]).contributions.shape == (2, 2, 30)


def test_occlusion_of_a_known_function():
    """A model that sums the elements loses what a straight line in their place lacks."""

    class Sum(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def __sklearn_is_fitted__(self):
            return True

        def decision_function(self, X):
            return SeriesCollection.of(X).values.sum(axis=(1, 2))

        def predict(self, X):
            return self.decision_function(X) > 0

    x = np.zeros(20)
    x[10] = 3.0
    ragged = [x, x[:12]]
    found = occlude(Sum(), ragged, width=1).contributions
    assert found.shape == (2, 20)
    lost = np.zeros(20)
    lost[9:12] = -1.5, 3.0, -1.5  # beside the spike, the line between the neighbours is higher
    assert found[0].tolist() == lost.tolist()
    lost[11] = -3.0  # at an end, the neighbour takes the place
    assert found[1].tolist() == lost.tolist()
    wide = occlude(Sum(), [x], width=4).contributions[0]
    assert abs(wide.argmax() - 10) <= 2
    assert np.flatnonzero(wide).min() >= 5
    assert np.flatnonzero(wide).max() <= 15


def test_distances_decide_as_predictions_do():
    X, y = bumps(24)
    for name in ("DTWNeighborsClassifier", "NearestPrototypeClassifier", "ElasticLVQClassifier"):
        model = catalogue.estimator_class(name)(**SMALL.get(name, {})).fit(X, y)
        new, _ = bumps(10)
        distances = model.class_distances(new)
        assert distances.shape == (10, 2)
        np.testing.assert_array_equal(model.classes_[distances.argmin(axis=1)], model.predict(new))
        np.testing.assert_array_equal((decision_values(model, new) > 0), model.predict(new) == 1)
    nearest = warplearn.DTWNeighborsClassifier().fit(X, y)
    expected = warplearn.pairwise_dtw(new, X)
    np.testing.assert_allclose(
        nearest.class_distances(new)[:, 1], expected[:, y == 1].min(axis=1), rtol=1e-5
    )
