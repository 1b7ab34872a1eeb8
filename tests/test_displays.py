"""Figures: what is drawn is what was computed."""

import subprocess
import sys

import numpy as np
import pytest

from warplearn import (
    ElasticKMeans,
    ElasticLogisticRegression,
    ElasticMean,
    active_path,
    datasets,
    dtw,
    warping_path,
)
from warplearn.plotting import (
    AlignmentDisplay,
    ClustersDisplay,
    ContributionsDisplay,
    CriticalDifferenceDisplay,
    ElasticityCurveDisplay,
    LearningCurveDisplay,
    TradeOffDisplay,
    WarpingPathDisplay,
    WeightMatrixDisplay,
    rank_methods,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture(scope="module")
def data():
    return datasets.load("CylinderBellFunnel", "train")


# Models are those of the report's tests, so that no more kernels are compiled.
@pytest.fixture(scope="module")
def gestures():
    found = datasets.load("Gestures", "train")
    return found.replace(X=found.X.astype(np.float32))


@pytest.fixture(scope="module")
def model(gestures):
    model = ElasticLogisticRegression(elasticity=5, max_iter=3, random_state=0)
    return model.fit(gestures.X, gestures.y)


def points(line):
    return np.column_stack(line.get_data(orig=False))


def test_alignment(ax, data):
    x, y = data.X[0], data.X[1][:90]
    shown = AlignmentDisplay.from_series(x, y, band=0.5).plot(ax, gap=10.0)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    path = warping_path(x, y, 0.5).path
    *steps, upper, lower = ax.lines
    assert len(steps) == len(path)
    for (i, j), step in zip(path, steps, strict=True):
        np.testing.assert_allclose(points(step), [[i, x[i] + 10], [j, y[j]]])
    np.testing.assert_allclose(upper.get_ydata(), x + 10)
    np.testing.assert_allclose(lower.get_ydata(), y)
    assert f"{dtw(x, y, 0.5):.4g}" in ax.get_title(loc="left")


def test_series_do_not_touch_by_default(ax):
    x, y = np.sin(np.arange(20.0)), 50 + np.sin(np.arange(30.0))
    AlignmentDisplay.from_series(x, y).plot(ax)
    upper, lower = ax.lines[-2:]
    assert upper.get_ydata().min() > lower.get_ydata().max()


def test_warping_path(ax, data):
    x, y = data.X[0], data.X[1]
    shown = WarpingPathDisplay.from_series(x, y, band=10).plot(ax)
    path, distance = warping_path(x, y, 10)
    np.testing.assert_array_equal(points(ax.lines[0]), path)
    costs = np.asarray(shown.costs)
    assert np.sqrt(costs[path[:, 0], path[:, 1]].sum()) == pytest.approx(distance)
    assert np.isnan(costs[0, 60])
    assert ax.images[0].get_array().shape == costs.T.shape


def test_weights_and_path(ax, model, gestures):
    x = gestures.X[3]
    shown = WeightMatrixDisplay.from_estimator(model, x, unit=2, channel=1)
    shown.plot(ax, colorbar=False)
    np.testing.assert_array_equal(ax.images[0].get_array(), model.coef_[2, :, :, 1].T)
    np.testing.assert_array_equal(points(ax.lines[0]), active_path(x, model.coef_[2]))
    low, high = shown.image_.get_clim()
    assert -low == high == np.abs(model.coef_[2, :, :, 1]).max()
    with pytest.raises(ValueError, match="unit must be from 0 to 3, got 4"):
        WeightMatrixDisplay.from_estimator(model, unit=4)


def test_weights_without_a_path(ax, model):
    WeightMatrixDisplay.from_estimator(model).plot(ax)
    assert len(ax.lines) == 0
    assert len(ax.figure.axes) == 2  # with the scale of colours


@pytest.mark.parametrize("target", [None, "square"])
def test_contributions(ax, model, gestures, target):
    x = gestures.X[4]
    shown = ContributionsDisplay.from_estimator(model, x, target=target, channel=2).plot(ax)
    predicted = model.predict([x])[0]
    code = model.classes_.tolist().index(predicted if target is None else target)
    decision = model.decision_function([x])[0, code]
    assert shown.decision == pytest.approx(decision, rel=1e-4)
    assert shown.bias + np.sum(shown.contributions) == pytest.approx(decision, rel=1e-4)
    heights = [bar.get_height() for bar in shown.bars_]
    np.testing.assert_allclose(heights, shown.contributions - shown.climbing, rtol=1e-6)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), x[2])
    assert f"predicted {predicted}" in ax.get_title()


def test_contributions_of_two_classes(ax):
    train = datasets.load("WarpedBumps", "train")
    X = train.X.astype(np.float32)
    binary = ElasticLogisticRegression(elasticity=5, max_iter=3, random_state=0).fit(X, train.y)
    shown = ContributionsDisplay.from_estimator(binary, X[:1]).plot(ax)
    assert shown.decision == pytest.approx(binary.decision_function(X[:1])[0], rel=1e-4)
    assert shown.bias + np.sum(shown.contributions) == pytest.approx(shown.decision, rel=1e-4)


def test_contributions_of_a_class_that_is_not_there(model, gestures):
    with pytest.raises(ValueError, match=r"target must be one of \['circle', .*\], got 'nod'"):
        ContributionsDisplay.from_estimator(model, gestures.X[:1], target="nod")
    with pytest.raises(ValueError, match="channel must be from 0 to 2, .* got 3"):
        ContributionsDisplay.from_estimator(model, gestures.X[:1], channel=3)


def test_symbols(ax):
    words = ["abab", "aabb", "bbaa", "baba"]
    model = ElasticLogisticRegression(elasticity=2, max_iter=3, random_state=0)
    model.fit(words, [0, 0, 1, 1])
    shown = ContributionsDisplay.from_estimator(model, "abb").plot(ax)
    assert len(shown.contributions) == 3
    path = WeightMatrixDisplay.from_estimator(model, "abb", channel=1).path
    encoded = model.alphabet_.encode(["abb"])
    np.testing.assert_array_equal(path, active_path(encoded, model.coef_[0]))


def test_elasticity_curve(ax, rng):
    errors = rng.uniform(0, 40, (3, 10))
    ElasticityCurveDisplay.from_errors([0.0, 0.5, 3.0], errors).plot(ax)
    np.testing.assert_allclose(points(ax.containers[0].lines[0])[:, 1], errors.mean(axis=1))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "0.5", "3"]
    with pytest.raises(ValueError, match="errors must have a row for each"):
        ElasticityCurveDisplay.from_errors([0.0, 0.5], errors)


def test_elasticity_curves_share_an_axis(ax):
    ElasticityCurveDisplay(
        {"A": {0.0: 5.0, 1.0: 6.0}, "B": {0.5: [1.0, 3.0], 1.0: [4.0, 4.0]}}
    ).plot(ax)
    first, second = (container.lines[0] for container in ax.containers)
    np.testing.assert_allclose(points(first), [[0, 5], [2, 6]])
    np.testing.assert_allclose(points(second), [[1, 2], [2, 4]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B"]


def test_learning_curve(ax, model, data):
    LearningCurveDisplay.from_estimator(model).plot(ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.history_[0])
    mean = ElasticMean(max_iter=3).fit(data.X[:5])
    shown = LearningCurveDisplay.from_estimator(mean)
    np.testing.assert_array_equal(shown.histories[0], mean.history_[0])


def test_clusters(data):
    clusters = ElasticKMeans(2, max_iter=2, random_state=0).fit(data.X[:10])
    shown = ClustersDisplay.from_estimator(clusters, data.X[:10]).plot()
    assert [len(ax.lines) - 1 for ax in shown.ax_] == np.bincount(clusters.labels_).tolist()
    for ax, mean in zip(shown.ax_, clusters.cluster_centers_, strict=True):
        np.testing.assert_array_equal(ax.lines[-1].get_ydata(), mean)
    with pytest.raises(ValueError, match="X must have 10 series, as fitted, got 9"):
        ClustersDisplay.from_estimator(clusters, data.X[:9])
    with pytest.raises(ValueError, match="ax must be 2 axes, one for each cluster, got 1"):
        shown.plot(shown.ax_[0])
    matplotlib.pyplot.close(shown.figure_)


def test_a_mean_is_one_cluster(ax, data):
    mean = ElasticMean(max_iter=2).fit(data.X[:5])
    shown = ClustersDisplay.from_estimator(mean, data.X[:5]).plot(ax)
    assert len(ax.lines) == 6
    np.testing.assert_array_equal(shown.ax_[0].lines[-1].get_ydata(), mean.mean_)


# Ranks, for data sets 1 to 10: A is always best, B and C take turns, D is always worst.
ERRORS = np.array(
    [[1.0, 5 + (-1) ** k * (k % 3 + 1), 5 - (-1) ** k * (k % 3 + 1), 20 + k] for k in range(10)]
)


def test_ranks():
    names, ranks, cliques, p_values, friedman = rank_methods(ERRORS[:, [3, 1, 0, 2]], "DBAC")
    assert names[0] == "A"
    assert names[3] == "D"
    assert ranks[0] == 1
    assert ranks[3] == 4
    assert ranks[1] + ranks[2] == 5
    assert cliques == [(1, 2)]
    assert friedman < 0.001
    np.testing.assert_array_equal(p_values, p_values.T)


def test_p_values_are_corrected_by_holm():
    """By hand: six pairs, of which five have the least p-value that ten data sets allow."""
    p_values = rank_methods(ERRORS, "ABCD").p_values
    least = 2 / 2**10
    others = [p_values[a, b] for a in range(4) for b in range(a) if {a, b} != {1, 2}]
    np.testing.assert_allclose(others, 6 * least)
    assert p_values[1, 2] > 0.5


def test_methods_that_are_the_same():
    same = np.repeat(np.arange(5.0)[:, None], 3, axis=1)
    ranking = rank_methods(same, "ABC")
    np.testing.assert_array_equal(ranking.ranks, [2, 2, 2])
    assert ranking.cliques == [(0, 2)]
    assert ranking.friedman == 1


@pytest.mark.parametrize(
    ("errors", "problem"),
    [
        (np.zeros((5, 3)), "by 2 methods"),
        (np.zeros((1, 2)), "at least two data sets"),
        (np.array([[1, 2], [np.nan, 1]]), "every method needs an error"),
    ],
)
def test_errors_that_cannot_be_ranked(errors, problem):
    with pytest.raises(ValueError, match=problem):
        rank_methods(errors, "AB")


def test_critical_difference(ax):
    shown = CriticalDifferenceDisplay.from_errors(ERRORS, ["A", "B", "C", "D"]).plot(ax)
    texts = [text.get_text() for text in ax.texts]
    assert texts[0] == "A  1.00"
    assert texts[3] == "4.00  D"
    assert len(ax.lines) == 4 + len(shown.ranking.cliques)
    assert ax.get_xlim()[0] > ax.get_xlim()[1]  # the best on the right


def test_new_axes_are_made(data):
    shown = AlignmentDisplay.from_series(data.X[0], data.X[1]).plot()
    assert shown.ax_ in shown.figure_.axes
    matplotlib.pyplot.close(shown.figure_)


def test_matplotlib_is_imported_only_to_draw():
    script = "import sys, warplearn.plotting; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_trade_offs():
    display = TradeOffDisplay(["a", "b", "c", "d"], [5.0, 9.0, 1.0, 5.0], [10, 1, 100, 20], "s")
    assert display.best == [1, 0, 2]  # d is no better than a, and dearer
    ax = display.plot().ax_
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "s")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="costs must be positive, got 0"):
        TradeOffDisplay(["a"], [1.0], [0.0])
    with pytest.raises(ValueError, match="must be arrays of 2 numbers"):
        TradeOffDisplay(["a", "b"], [1.0], [1.0])
