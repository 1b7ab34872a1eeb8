"""Draw the pictures of the README and the documentation into docs/_static.

    python tools/draw_pictures.py results/demo.jsonl

The figures in them are those of `warplearn demo -o results/demo.html`.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch, Rectangle

from warplearn import ElasticLogisticRegression, active_path, datasets, warping_path
from warplearn.experiments import read_rows
from warplearn.experiments.tables import mean_errors

FOLDER = Path(__file__).parents[1] / "docs" / "_static"
INK, FAINT, BLUE, RED, GREEN = "#1c1f24", "#8a919c", "#2563eb", "#dc4437", "#16a34a"
COLOURS = {"1-NN DTW": FAINT, "prototypes": "#b45309", "elastic linear": BLUE,
           "elastic features": GREEN}  # fmt: skip


def save(figure, name):
    """Write a figure, the same bytes each time."""
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def fitted():
    """The linear model of the demo, and a heartbeat that it recognizes."""
    train, test = datasets.load("ECG200", "train"), datasets.load("ECG200", "test")
    model = ElasticLogisticRegression(random_state=0).fit(train.X, train.y)
    right = model.predict(test.X) == test.y
    return model, test, int(np.flatnonzero(right & (test.y == -1))[0])


def overview(results):
    """A series in its matrix, its decision over time, and errors against time of a decision."""
    model, test, case = fitted()
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.1), layout="constrained")
    through_the_matrix(axes[0], model.coef_[0], test.X[case])
    axes[0].set_title("a heartbeat finds its way through the weights", fontsize=11)
    for index in (case, int(np.flatnonzero(test.y == 1)[0])):
        online, y = model.stream(), int(test.y[index])
        values = [float(online.push([sample])) for sample in test.X[index]]
        axes[1].plot(values, color=BLUE if y == 1 else RED, linewidth=2)
        axes[1].annotate(
            "normal" if y == 1 else "infarction", (len(values) - 1, values[-1]),
            (-4, -14 if y == 1 else 6),
            textcoords="offset points", ha="right", color=BLUE if y == 1 else RED,
        )  # fmt: skip
    axes[1].axhline(0, color=FAINT, linewidth=1)
    axes[1].set(xlabel="samples seen", ylabel="decision value")
    axes[1].set_title("the decision follows the stream", fontsize=11)
    errors_and_times(axes[2], read_rows(results))
    save(figure, "overview")


def through_the_matrix(axis, W, x):
    """A weight matrix with the path of a series, and the series above it."""
    limit = float(np.abs(W).max())
    axis.imshow(W.T, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit,
                alpha=0.85)  # fmt: skip
    path = active_path(x, W)
    axis.plot(path[:, 0], path[:, 1], color=INK, linewidth=2.2)
    top = W.shape[1]
    scaled = (x - x.min()) / np.ptp(x) * 0.6 * top + top
    axis.plot(scaled, color=RED, linewidth=1.8)
    axis.set(xlabel="time", ylabel="column", ylim=(-0.5, 1.7 * top), yticks=[0, top - 1])
    axis.spines[["top", "right"]].set_visible(False)


def errors_and_times(axis, rows):
    """Mean errors of the demo against the time of a decision."""
    errors, methods, names = mean_errors(rows)
    means = errors.mean(axis=0)
    for method, error in zip(methods, means, strict=True):
        seconds = [row["decision_seconds"] for row in rows if row["method"] == method]
        at = 1e6 * float(np.exp(np.mean(np.log(seconds))))
        axis.plot(at, error, "o", markersize=10, color=COLOURS[method])
        right = method != "elastic features"
        axis.annotate(
            method, (at, error), (9 if right else -9, 0), textcoords="offset points",
            ha="left" if right else "right", va="center", color=COLOURS[method],
        )  # fmt: skip
    axis.set(
        xscale="log", xlim=(0.2, 2e4), ylim=(0, 1.15 * means.max()),
        xlabel="time of a decision, microseconds", ylabel="test error, %",
    )  # fmt: skip
    axis.set_title(f"errors against speed, mean of {len(names)} sets", fontsize=11)


def grid():
    """Two series along the sides of a grid, and the path."""
    train = datasets.load("GunPoint", "train")
    x, y = (series[::10] for series in train.X[train.y == 1][[0, 7]])
    path = np.asarray(warping_path(x, y).path)
    figure, axes = plt.subplots(
        2, 2, figsize=(5.4, 5), layout="constrained", width_ratios=(1, 4), height_ratios=(4, 1)
    )
    cells = (x[:, None] - y[None]) ** 2
    axes[0, 1].imshow(cells.T, origin="lower", cmap="Greys", alpha=0.7)
    axes[0, 1].plot(path[:, 0], path[:, 1], "o-", color=RED, linewidth=2)
    axes[0, 1].set(xticks=[], yticks=[], title="darker cells cost more")
    axes[0, 0].plot(-y, np.arange(len(y)), color=BLUE, linewidth=2)
    axes[1, 1].plot(x, color=BLUE, linewidth=2)
    for axis in (axes[0, 0], axes[1, 1], axes[1, 0]):
        axis.set_axis_off()
    save(figure, "grid")


def matrix():
    """The path of a series through a weight matrix."""
    model, test, case = fitted()
    figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
    through_the_matrix(axis, model.coef_[0], test.X[case])
    save(figure, "matrix")


def lanes():
    """The same cell of many grids in one vector."""
    figure, axis = plt.subplots(figsize=(7.6, 2.6), layout="constrained")
    for lane in range(8):
        for i in range(4):
            for j in range(4):
                now = (i, j) == (2, 1)
                done = (i, j) < (2, 1)
                colour = RED if now else "#bfd3fb" if done else "white"
                axis.add_patch(Rectangle((6 * lane + j, i), 1, 1, facecolor=colour, edgecolor=INK,
                                         linewidth=0.6))  # fmt: skip
        axis.annotate("", (6 * lane + 1.5, 6.1), (6 * lane + 1.5, 3.1),
                      arrowprops={"arrowstyle": "->", "color": RED})  # fmt: skip
        axis.add_patch(Rectangle((14 + 2.4 * lane, 6.3), 2.4, 1.5, facecolor=RED, alpha=0.6,
                                 edgecolor=INK))  # fmt: skip
        axis.text(6 * lane + 2, -0.9, f"grid {lane}", ha="center", fontsize=9)
    axis.text(24, 8.4, "one vector: the same cell of all grids, computed at once", ha="center")
    axis.set(xlim=(-1, 48), ylim=(-1.4, 9.2))
    axis.set_axis_off()
    save(figure, "lanes")


def choosing(results):
    """Which model for which wish, and what the demo measured of it."""
    wishes = [
        ("fewest errors", "ElasticFeatureClassifier\nElasticFeatureRegressor", GREEN,
         "elastic features"),
        ("smallest, quickest,\nexplained, in a stream",
         "ElasticLogisticRegression\nElasticLinearSVC", BLUE, "elastic linear"),
        ("labels by example", "DTWNeighborsClassifier\nNearestPrototypeClassifier", FAINT,
         "1-NN DTW"),
        ("a network of your own", "ElasticMLPClassifier\nwarplearn.torch", "#7c3aed", None),
        ("events in a recording", "ElasticDetector\nElasticEarlyClassifier", RED, None),
        ("groups, typical series", "ElasticKMeans\nelastic_mean", "#b45309", None),
    ]  # fmt: skip
    rows = read_rows(results)
    middle = 0.95 + 1.93 * (len(wishes) - 1) / 2
    figure, axis = plt.subplots(figsize=(11.5, 3.7), layout="constrained")
    box(axis, middle, 3.3, "What do you need most?", INK, 2.6)
    for index, (wish, models, colour, method) in enumerate(wishes):
        x = 0.95 + 1.93 * index
        axis.annotate(
            "", (x, 2.42), (middle, 3.02), arrowprops={"arrowstyle": "->", "color": FAINT}
        )
        box(axis, x, 2.1, wish, colour, 1.8)
        axis.annotate("", (x, 1.1), (x, 1.75), arrowprops={"arrowstyle": "->", "color": FAINT})
        axis.text(x, 0.85, models, ha="center", va="center", fontsize=8, family="monospace")
        if method:
            axis.text(x, 0.25, measured(rows, method), ha="center", va="center", color=INK,
                      fontsize=8.5)  # fmt: skip
    axis.set(xlim=(0, 2 * middle), ylim=(0, 3.7))
    axis.set_axis_off()
    save(figure, "choosing")


def measured(rows, method):
    """Errors, size and time of a decision of a method of the demo, over its data sets."""
    errors, methods, _ = mean_errors(rows)
    error = errors.mean(axis=0)[methods.index(method)]
    own = [row for row in rows if row["method"] == method]
    size, decision = (
        float(np.exp(np.mean(np.log([row[key] for row in own]))))
        for key in ("model_bytes", "decision_seconds")
    )
    rounded = float(f"{1e6 * decision:.2g}")
    return f"{error:.1f} % errors, {size / 1e3:.0f} kB,\n{rounded:g} µs a decision"


def box(axis, x, y, text, colour, width):
    """A text in a frame."""
    axis.add_patch(FancyBboxPatch((x - width / 2 + 0.1, y - 0.22), width - 0.2, 0.44,
                                  boxstyle="round,pad=0.08", facecolor="white", edgecolor=colour,
                                  linewidth=2))  # fmt: skip
    axis.text(x, y, text, ha="center", va="center", fontsize=9.5, color=INK)


if __name__ == "__main__":
    mpl.rcParams |= {"svg.hashsalt": "warplearn", "svg.fonttype": "path", "font.size": 10}
    FOLDER.mkdir(exist_ok=True)
    for draw in (overview, choosing):
        draw(sys.argv[1])
    for draw in (grid, matrix, lanes):
        draw()
