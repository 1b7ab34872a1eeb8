"""What stages cost and save: `predict` with a part of the features, on training files.

For each set three-fold cross-validation on some series of its training file; no test file is
opened.  Each fold has one model, whose thresholds are multiplied.  Printed are means over sets: the
error beside that with all features, the share of the series that get another class, and the CPU
time of `predict` as a share of that with all features, for many copies of the series: calls take a
millisecond besides.  Rows are printed as they are finished.  Needs the UCR data sets
(`WARPLEARN_DATA`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import some_training_series
from benchmarks.features import sets_with
from benchmarks.measure import describe_machine
from warplearn import ElasticFeatureClassifier, SeriesCollection
from warplearn.features.cascade import DEVIATIONS

TRIED = (2.0, 3.0, 4.0, 5.0)
MOST = 240  # series of a training file that are used
FOLDS = 3
COPIES = 300  # series, many of them the same


def _timed_predict(model: Any, X: SeriesCollection) -> tuple[np.ndarray, float]:
    """Classes, and CPU seconds for a number of series."""
    many = X[np.arange(COPIES) % len(X)]
    start = time.process_time()
    predicted = model.predict(many)
    return predicted[: len(X)], time.process_time() - start


def _fold(X: SeriesCollection, y: np.ndarray, train: Any, test: Any, seed: int) -> np.ndarray:
    """For all features and for each number of deviations: error, other classes, seconds."""
    model = ElasticFeatureClassifier(random_state=seed, n_jobs=1).fit(X[train], y[train])
    stages, model.stages_ = model.stages_, []
    model.predict(X[test])  # compiles
    whole, seconds = _timed_predict(model, X[test])
    rows = [(np.mean(whole != y[test]), 0.0, seconds)]
    for deviations in TRIED:
        factor = deviations / DEVIATIONS
        model.stages_ = [each._replace(threshold=factor * each.threshold) for each in stages]
        predicted, seconds = _timed_predict(model, X[test])
        rows.append((np.mean(predicted != y[test]), np.mean(predicted != whole), seconds))
    return np.array(rows)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks cascade",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", nargs="+", default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    print(describe_machine())
    table = []
    for name in options.datasets or sets_with("TRAIN"):
        X, y = some_training_series(name, options.seed, MOST, FOLDS)
        if len(y) < 2 * FOLDS:
            continue
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=options.seed).split(y, y)
        rows = np.mean([_fold(X, y, *each, options.seed) for each in folds], axis=0)
        table.append(np.column_stack([100 * rows[:, :2], rows[:, 2] / rows[0, 2]]))
        cells = "  ".join(f"{error:6.2f} {time:5.2f}" for error, _, time in table[-1])
        print(f"{name:30s} {cells}", flush=True)
    results = np.array(table)
    print(f"\n{len(table)} sets; with all features {results[:, 0, 0].mean():.2f} % errors")
    print("\n| deviations | error, points | other class, % | time | largest |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for place, deviations in enumerate(TRIED, 1):
        error = results[:, place, 0] - results[:, 0, 0]
        spread = error.std(ddof=1) / np.sqrt(len(error)) if len(error) > 1 else np.nan
        other, share = results[:, place, 1].mean(), results[:, place, 2]
        print(
            f"| {deviations:g} | {error.mean():+.2f} ± {spread:.2f} | {other:.2f} "
            f"| {share.mean():.2f} | {share.max():.2f} |"
        )
    print(f"\nthe default is {DEVIATIONS:g}")
