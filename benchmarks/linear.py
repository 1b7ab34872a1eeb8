"""Elastic linear models that choose their parameters, on the data sets of the paper.

Prints test errors and CPU seconds of `fit`, in one thread, beside 1-NN DTW and the best elastic
classifier of the paper's table.  The paper's figures are means over repeated trials, so errors are
means over seeds here too, each with the standard deviation over the seeds.  On a core that nothing
else uses, `fit` takes as long as its CPU seconds.  Parameters are chosen on training files; nothing
is chosen by test files.  Before times are measured, each method is fitted to a few series of the
same set, so that compilation does not count.  With `--results FILE` rows are appended to a file,
and rows that the file has already are not computed again.  Needs the UCR data sets
(`WARPLEARN_DATA`).
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import read_set
from benchmarks.measure import at_least, at_most, describe_machine
from warplearn import DTWNeighborsClassifier, ElasticLinearSVCCV, ElasticLogisticRegressionCV
from warplearn.experiments.paper import ELASTIC, paper_errors

SETS = (
    "Coffee2011", "ECG200", "ECGFiveDays", "ItalyPowerDemand", "Wafer", "GunPoint",
    "SonyAIBORobotSurface2", "Lightning2", "MoteStrain", "SonyAIBORobotSurface1", "TwoLeadECG",
)  # fmt: skip
METHODS: dict[str, Callable[[int], Any]] = {
    "logistic": lambda seed: ElasticLogisticRegressionCV(random_state=seed),
    "SVC": lambda seed: ElasticLinearSVCCV(random_state=seed),
    "1-NN DTW": lambda seed: DTWNeighborsClassifier(),
}
CHOOSING = ("logistic", "SVC")


def _measure(name: str, method: str, seed: int) -> dict[str, Any]:
    (X, y), (X_test, y_test) = read_set(name, "TRAIN"), read_set(name, "TEST")
    few = np.sort(np.concatenate([np.flatnonzero(y == label)[:4] for label in np.unique(y)]))
    short = METHODS[method](seed)
    if method in CHOOSING:
        short.set_params(max_iter=2)
    short.fit(X[few], y[few]).predict(X_test[:20])
    model = METHODS[method](seed)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    error = 100 * float(np.mean(model.predict(X_test) != y_test))
    row = {"dataset": name, "method": method, "seed": seed, "error": error, "fit": seconds}
    if method not in CHOOSING:
        return row
    chosen = [model.best_params_["elasticity"], *model.representations_]
    return row | {"chosen": chosen, "cv_error": 100 * (1 - model.best_score_)}


def _paper_best(name: str) -> float:
    """The lowest error of an elastic classifier in the paper's table."""
    table = paper_errors()
    return min(table[name.removesuffix("2011"), method].mean for method in ELASTIC)


def _by_set(rows: list[dict[str, Any]], method: str, value: str) -> dict[str, list[float]]:
    """The values of all seeds, by data set."""
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["method"] == method:
            found.setdefault(row["dataset"], []).append(row[value])
    return found


def _with_deviation(errors: list[float]) -> str:
    """The mean, and the standard deviation if there are several."""
    spread = f" ± {np.std(errors, ddof=1):.1f}" if len(errors) > 1 else ""
    return f"{np.mean(errors):.1f}{spread}"


def _print(names: list[str], rows: list[dict[str, Any]]) -> None:
    errors = {method: _by_set(rows, method, "error") for method in METHODS}
    seconds = {method: _by_set(rows, method, "fit") for method in METHODS}
    print(
        "\n| data set | logistic | SVC | 1-NN DTW | paper's best elastic | CPU seconds of `fit` |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    done = [name for name in names if all(name in errors[method] for method in METHODS)]
    for name in done:
        cells = [_with_deviation(errors[method][name]) for method in METHODS]
        times = " and ".join(f"{np.mean(seconds[method][name]):.1f}" for method in CHOOSING)
        print(f"| {name} | {' | '.join(cells)} | {_paper_best(name):.1f} | {times} |")
    if not done:
        return
    mean = {m: {name: float(np.mean(errors[m][name])) for name in done} for m in METHODS}
    overall = {method: float(np.mean(list(own.values()))) for method, own in mean.items()}
    best = np.mean([_paper_best(name) for name in done])
    print(f"| mean | {' | '.join(f'{each:.2f}' for each in overall.values())} | {best:.2f} | |\n")
    for method in CHOOSING:
        own = mean[method]
        print(method)
        at_most("mean error", overall[method], 10)
        better = sum(own[name] < _paper_best(name) for name in done)
        at_least("sets better than the paper's best elastic", better, 10)
        better = sum(own[name] < mean["1-NN DTW"][name] for name in done)
        at_least("sets better than 1-NN DTW", better, 9)
        longest = max(max(seconds[method][name]) for name in done)
        at_most("CPU seconds of the longest fit", longest, 60)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks linear",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", nargs="+", default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, help="file to keep finished rows in")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    print(describe_machine("scikit-learn"))
    rows: list[dict[str, Any]] = []
    if options.results is not None and options.results.exists():
        rows = [json.loads(line) for line in options.results.read_text("utf-8").splitlines()]
    done = {(row["dataset"], row["method"], row["seed"]) for row in rows}
    for name in options.datasets:
        for method in options.methods:
            for seed in range(options.seeds if method in CHOOSING else 1):
                if (name, method, seed) not in done:
                    rows.append(_measure(name, method, seed))
                    print(json.dumps(rows[-1]), flush=True)
                    if options.results is not None:
                        with options.results.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(rows[-1]) + "\n")
    _print(options.datasets, rows)
