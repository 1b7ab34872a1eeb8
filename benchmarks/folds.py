"""What the defaults of feature classifiers gain, by cross-validation on training files.

Settings are fitted to the same folds; no test file is opened.  Printed are the error in %, the mean
log loss of the probabilities and CPU seconds for each set, and the mean differences to the first
setting with their standard errors over sets, for few series to learn from, for more, and for many.
Rows are printed as they are finished.  Needs the UCR data sets (`WARPLEARN_DATA`).
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import pairwise
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import some_training_series
from benchmarks.features import sets_with
from benchmarks.measure import describe_machine
from warplearn import ElasticFeatureClassifier
from warplearn.features import solution

SIZES = 0, *solution.MOST_FOR_PARTS, np.inf  # series to learn from, bounds of groups


class Setting(NamedTuple):
    """Filters, the penalty on changes to choose from, and series up to which there are parts."""

    n_filters: int = 16000
    strengths: tuple[float, ...] = solution.STRENGTHS
    most_for_parts: tuple[int, int] = solution.MOST_FOR_PARTS


SETTINGS = {
    "8,000 filters, no changes": Setting(8000, (0.0,)),
    "16,000 filters, no changes": Setting(16000, (0.0,)),
    "8,000 filters": Setting(8000),
    "defaults": Setting(),
    "parts and changes up to 256 series": Setting(most_for_parts=(256, 256)),
    "parts, no changes, up to 640 series": Setting(strengths=(0.0,), most_for_parts=(640, 640)),
    "parts and changes up to 640 series": Setting(most_for_parts=(640, 640)),
}


def _held_out(
    setting: Setting, X: Any, y: np.ndarray, folds: int, seed: int
) -> tuple[float, float, float]:
    """Error in %, log loss, and CPU seconds."""
    start, classes = time.process_time(), np.unique(y)
    probabilities = np.empty((len(y), len(classes)))
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y)
    for fold, (train, test) in enumerate(splits):
        model = ElasticFeatureClassifier(
            setting.n_filters, cascade=(), random_state=1000 * seed + fold, n_jobs=1
        )
        with patch.multiple(
            solution, STRENGTHS=setting.strengths, MOST_FOR_PARTS=setting.most_for_parts
        ):
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
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS)[:4])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=int, default=0, help="series that a training file has")
    parser.add_argument("--most", type=int, default=400, help="series of it that are used")
    parser.add_argument("--folds", type=int, default=4)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    print(describe_machine(), "\n\nsettings:", "; ".join(options.settings))
    counts, table = [], []
    for name in options.datasets or sets_with("TRAIN"):
        folds = options.folds
        X, y = some_training_series(name, options.seed, options.most, folds)
        if len(np.unique(y)) < 2 or len(y) < options.least:
            continue
        rows = [_held_out(SETTINGS[each], X, y, folds, options.seed) for each in options.settings]
        counts.append(len(y) * (folds - 1) / folds)
        table.append(rows)
        cells = "  ".join(
            f"{error:6.2f} {loss:.4f} {seconds:5.1f}" for error, loss, seconds in rows
        )
        print(f"{name:30s} {len(y):3d}  {cells}", flush=True)
    results = np.array(table)
    for least, most in pairwise(SIZES):
        own = results[(least < np.array(counts)) & (np.array(counts) <= most)]
        if len(own) < 2:
            continue
        print(f"\n{len(own)} sets with more than {least:g} and at most {most:g} series: ", end="")
        print(f"{own[:, 0, 0].mean():.2f} % errors, ", end="")
        print(f"log loss {own[:, 0, 1].mean():.4f} with {options.settings[0]}\n")
        print("| | error, points | better / worse | log loss | better / worse | time |")
        print("| --- | ---: | --- | ---: | --- | ---: |")
        for place, name in enumerate(options.settings[1:], 1):
            error, loss = (own[:, place] - own[:, 0])[:, :2].T
            times = own[:, place, 2].sum() / own[:, 0, 2].sum()
            print(f"| {name} | {_difference(error, 2)} | {_difference(loss, 4)} | {times:.2f} |")
