"""The page about one model on labelled series."""

import re

import numpy as np
import pytest

from warplearn import DTWNeighborsClassifier, ElasticLogisticRegression, datasets
from warplearn.experiments.model_page import Judged, reliability, write_model_page

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def data():
    train, test = datasets.load("ECG200", "train"), datasets.load("ECG200", "test")
    return train.X.astype(np.float32), train.y, test.X.astype(np.float32), test.y


@pytest.fixture(scope="module")
def linear(data):
    return ElasticLogisticRegression(max_iter=20, random_state=0).fit(*data[:2])


def test_page_of_a_linear_model(linear, data, tmp_path):
    X, y = data[2:]
    path = write_model_page(linear, X, y, tmp_path / "page.html", name="My <data>")
    text = path.read_text("utf-8")
    wrong = int((linear.predict(X) != y).sum())
    assert f"<dd>{wrong} of 100, {wrong:.1f} %</dd>" in text
    assert "ElasticLogisticRegression on My &lt;data&gt;" in text
    assert "My <data>" not in re.sub("<script.*?</script>", "", text, flags=re.DOTALL)
    assert "expected calibration error" in text
    assert "Mistakes, the surest first" in text
    assert "what each time step contributes" in text
    assert '<section id="viewer" >' in text
    counts = [int(count) for count in re.findall(r'class="dot hit"></span>(\d+)<', text)]
    assert sum(counts) == 100 - wrong


def test_page_of_a_model_without_probabilities_of_its_own(data, tmp_path):
    train, y_train, X, y = data
    model = DTWNeighborsClassifier(n_neighbors=1).fit(train[:20], y_train[:20])
    text = write_model_page(model, X[:30], y[:30], tmp_path / "page.html").read_text("utf-8")
    assert '<section id="viewer" hidden>' in text
    assert "DTWNeighborsClassifier" in text


def test_hostile_names(data, tmp_path):
    """Labels are text: neither HTML nor mathematics."""
    names = np.array(
        ["</svg><script>alert(1)</script>", "$\\frac{$ '\"><img src=x onerror=alert(1)>"]
    )
    X, y = data[2][:12], names[np.arange(12) % 2]
    model = DTWNeighborsClassifier(n_neighbors=1).fit(X, y[::-1])
    text = write_model_page(model, X, y, tmp_path / "page.html", name=names[0]).read_text("utf-8")
    assert text.count("<script") == 3  # the page's own
    assert "<img" not in text
    assert "$\\frac{$" in text


def test_contributions_are_those_for_the_predicted_class(linear, data):
    from warplearn.experiments.model_page import _contributions

    X, y = data[2][:8], data[3][:8]
    judged = Judged.of(linear, X, y)
    parts = _contributions(judged, range(8))
    sign, explained = np.where(judged.predicted == "1", 1, -1), linear.explain(X)
    values = sign * linear.decision_function(X)
    rest = sign * (explained.bias + explained.climbing.sum(axis=1))
    np.testing.assert_allclose(parts.sum(axis=1) + rest, values, rtol=1e-3, atol=1e-3)
    assert (values > 0).all()


def test_reliability_of_known_probabilities():
    confidence = np.repeat([0.6, 0.8], 50)
    right = np.r_[np.arange(50) < 30, np.arange(50) < 30]
    means, shares, error = reliability(confidence, right, 2)
    np.testing.assert_allclose(means, [0.6, 0.8])
    np.testing.assert_allclose(shares, [0.6, 0.6])
    assert error == pytest.approx(0.1)


def test_labels_of_other_classes_are_refused(linear, data, tmp_path):
    with pytest.raises(ValueError, match="labels of the model's classes, -1, 1, got class1"):
        write_model_page(linear, data[2][:2], ["class1", "class1"], tmp_path / "page.html")
    with pytest.raises(ValueError, match="model must be a classifier"):
        write_model_page(object(), data[2][:2], [1, 1], tmp_path / "page.html")
