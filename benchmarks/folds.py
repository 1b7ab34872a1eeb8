"""What the defaults of feature classifiers gain, by cross-validation on training files.

Settings are fitted to the same folds; no test file is opened.  Printed are the error in %, the mean
log loss of the probabilities and CPU seconds for each set, and the mean differences to the first
setting with their standard errors over sets: for sets of at most 256 series to learn from, where
regressions know about changes, and for others.  Rows are printed as they are finished.  Needs the
UCR data sets (`WARPLEARN_DATA`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import some_training_series
from benchmarks.features import sets_with
from benchmarks.measure import describe_machine
from warplearn import ElasticFeatureClassifier
from warplearn.features import solution

MOST = 400  # series of a training file that are used
FOLDS = 4
FEW = 256  # series to learn from


class Setting(NamedTuple):
    """Filters, and strengths of the penalty on changes to choose from."""

    n_filters: int
    strengths: tuple[float, ...]


SETTINGS = {
    "8,000 filters, no changes": Setting(8000, (0.0,)),
    "16,000 filters, no changes": Setting(16000, (0.0,)),
    "8,000 filters": Setting(8000, solution._STRENGTHS),
    "defaults": Setting(16000, solution._STRENGTHS),
}


def _held_out(setting: Setting, X: Any, y: np.ndarray, seed: int) -> tuple[float, float, float]:
    """Error in %, log loss, and CPU seconds."""
    start, classes = time.process_time(), np.unique(y)
    probabilities = np.empty((len(y), len(classes)))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)
    for fold, (train, test) in enumerate(folds):
        model = ElasticFeatureClassifier(
            setting.n_filters, cascade=(), random_state=1000 * seed + fold, n_jobs=1
        )
        with patch.object(solution, "_STRENGTHS", setting.strengths):
            model.fit(X[train], y[train])
        probabilities[test] = model.predict_proba(X[test])
    wrong = classes[probabilities.argmax(axis=1)] != y
    own = probabilities[np.arange(len(y)), y]
    loss = -np.log(np.maximum(own, np.finfo(float).tiny)).mean()
    return 100 * wrong.mean(), loss, time.process_time() - start


def _difference(values: np.ndarray, digits: int) -> str:
    spread = values.std(ddof=1) / np.sqrt(len(values))
    fewer, more = (values < 0).sum(), (values > 0).sum()
    return f"{values.mean():+.{digits}f} ± {spread:.{digits}f} | {fewer} / {more}"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks folds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", nargs="+", default=None)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    print(describe_machine(), "\n\nsettings:", "; ".join(options.settings))
    counts, table = [], []
    for name in options.datasets or sets_with("TRAIN"):
        X, y = some_training_series(name, options.seed, MOST, FOLDS)
        if len(np.unique(y)) < 2:
            continue
        rows = [_held_out(SETTINGS[each], X, y, options.seed) for each in options.settings]
        counts.append(len(y) * (FOLDS - 1) / FOLDS)
        table.append(rows)
        cells = "  ".join(
            f"{error:6.2f} {loss:.4f} {seconds:5.1f}" for error, loss, seconds in rows
        )
        print(f"{name:30s} {len(y):3d}  {cells}", flush=True)
    few, results = np.array(counts) <= FEW, np.array(table)
    for title, chosen in (("few", few), ("more", ~few)):
        own = results[chosen]
        if len(own) < 2:
            continue
        print(
            f"\n{len(own)} sets with {title} series: {own[:, 0, 0].mean():.2f} % errors, ", end=""
        )
        print(f"log loss {own[:, 0, 1].mean():.4f} with {options.settings[0]}\n")
        print("| | error, points | better / worse | log loss | better / worse | time |")
        print("| --- | ---: | --- | ---: | --- | ---: |")
        for place, name in enumerate(options.settings[1:], 1):
            error, loss = (own[:, place] - own[:, 0])[:, :2].T
            times = own[:, place, 2].sum() / own[:, 0, 2].sum()
            print(f"| {name} | {_difference(error, 2)} | {_difference(loss, 4)} | {times:.2f} |")
