"""Early decisions: accuracy and the share of a series that is needed, on real sets.

Sets come from the folder that WARPLEARN_DATA names.  Each line has the accuracy for complete test
series, and accuracy and earliness of early decisions for wanted accuracies: that of complete
training series in cross-validation, and 0.9 times it.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.measure import describe_machine
from warplearn import ElasticEarlyClassifier, ElasticLogisticRegression, datasets

SETS = (
    "GunPoint", "ItalyPowerDemand", "ECG200", "TwoLeadECG", "CBF", "MoteStrain", "Plane", "Trace",
    "ECGFiveDays", "SonyAIBORobotSurface1", "SyntheticControl", "Coffee",
)  # fmt: skip
_MODELS = {"features": None, "linear": ElasticLogisticRegression(random_state=0)}


def _decided(early: Any, test: Any) -> tuple[float, float]:
    decisions = early.decide(test.X)
    return float((decisions.labels == test.y).mean()), decisions.earliness


def _complete(early: Any, test: Any) -> float:
    return float((early.classes_[early.model_.predict(test.X)] == test.y).mean())


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks early", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=list(_MODELS), default=list(_MODELS))
    options = parser.parse_args(arguments)
    print(describe_machine())
    print(f"{'':<36s}{'complete':>9s}{'early':>18s}{'wanted 0.9 times':>22s}")
    print(f"{'':<36s}{'accuracy':>9s}" + f"{'accuracy':>12s}{'share':>8s}" * 2)
    for model in options.models:
        rows = []
        for name in options.sets:
            train, test = datasets.load(name, "train"), datasets.load(name, "test")
            early = ElasticEarlyClassifier(_MODELS[model]).fit(train.X, train.y)
            row = [_complete(early, test), *_decided(early, test)]
            less = 0.9 * early.cv_complete_accuracy_
            hasty = ElasticEarlyClassifier(_MODELS[model], accuracy=less).fit(train.X, train.y)
            rows.append([*row, *_decided(hasty, test)])
            _print(name, model, rows[-1])
        _print("mean", model, np.mean(rows, axis=0))


def _print(name: str, model: str, row: Any) -> None:
    complete, *pairs = row
    cells = "".join(f"{pairs[i]:12.3f}{pairs[i + 1]:8.2f}" for i in (0, 2))
    print(f"{name:<24s}{model:<12s}{complete:9.3f}{cells}", flush=True)
