"""Are probabilities right?  Error, log loss and calibration error on test series.

Three classifiers, all of which are ridge regressions:

- `ElasticFeatureClassifier`, whose `predict_proba` is calibrated by leave-one-out predictions;
- scikit-learn's `RidgeClassifierCV` on the same features, and the softmax of its decisions;
- aeon's MultiRocketHydraClassifier, which needs torch, and the softmax of its decisions.  Its own
  `predict_proba` gives the predicted class a probability of 1, so that its log loss is infinite
  with a single error.

The expected calibration error is the mean difference between the probability of the predicted
class and how often it is right, over ten bins of equal width, weighted by their numbers of series.
With `--results FILE` finished rows are kept, and are not computed again.  Needs the UCR data sets
(`WARPLEARN_DATA`) and, for the peer, `pip install -e '.[bench]' torch`; it is left out otherwise.
"""

from __future__ import annotations

import argparse
import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.data import read_set
from benchmarks.measure import describe_machine, keep, stored
from warplearn import ElasticFeatureClassifier, ElasticFeatures, ElasticShapelets

SETS = (
    "Adiac", "ArrowHead", "CBF", "DistalPhalanxTW", "ECG200", "Fish", "GunPoint", "Haptics", "Ham",
    "ItalyPowerDemand", "Lightning7", "MedicalImages", "MoteStrain", "SwedishLeaf", "WordSynonyms",
)  # fmt: skip
_BINS = 10


def _elastic(X: Any, y: Any, X_test: Any) -> np.ndarray:
    model = ElasticFeatureClassifier(random_state=0).fit(X, y)
    return np.asarray(model.predict_proba(X_test))


def _softmax(decisions: np.ndarray) -> np.ndarray:
    if decisions.ndim == 1:
        decisions = np.column_stack([-decisions, decisions])
    return np.asarray(softmax(decisions, axis=1))


def _ridge(X: Any, y: Any, X_test: Any) -> np.ndarray:
    features = make_union(ElasticFeatures(random_state=0), ElasticShapelets(random_state=0))
    ridge = RidgeClassifierCV(np.logspace(-3, 3, 10))
    model = make_pipeline(features, StandardScaler(), ridge).fit(X, y)
    return _softmax(model.decision_function(X_test))


def _peer(X: Any, y: Any, X_test: Any) -> np.ndarray:
    from aeon.classification.convolution_based import MultiRocketHydraClassifier

    model = MultiRocketHydraClassifier(random_state=0, n_jobs=1).fit(X, y)
    model.classifier.predict = model.classifier.decision_function  # what the labels come from
    return _softmax(model._predict(X_test[:, None]))


METHODS: dict[str, Callable[[Any, Any, Any], np.ndarray]] = {
    "ElasticFeatureClassifier": _elastic,
    "ridge + softmax, same features": _ridge,
    "MultiRocket-Hydra + softmax": _peer,
}


def calibration_error(probabilities: np.ndarray, y: np.ndarray) -> float:
    """Expected calibration error of the predicted class."""
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    bins = np.minimum((_BINS * sure).astype(int), _BINS - 1)
    of_bins = [bins == place for place in np.unique(bins)]
    return float(sum(abs((right[of] - sure[of]).sum()) for of in of_bins) / len(y))


def _measure(method: str, name: str) -> dict[str, Any]:
    (X, y), (X_test, y_test) = read_set(name, "TRAIN"), read_set(name, "TEST")
    probabilities = METHODS[method](X, y, X_test)
    return {
        "dataset": name,
        "method": method,
        "error": 100 * float(np.mean(probabilities.argmax(axis=1) != y_test)),
        "log_loss": float(log_loss(y_test, probabilities, labels=np.arange(y.max() + 1))),
        "calibration_error": 100 * calibration_error(probabilities, y_test),
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--results", type=Path, help="file to keep finished rows in")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    print(describe_machine("scikit-learn", "aeon", "torch"))
    methods = list(options.methods)
    if not all(importlib.util.find_spec(name) for name in ("aeon", "torch")):
        methods = [name for name in methods if METHODS[name] is not _peer]
        print("MultiRocket-Hydra is left out: needs aeon and torch")
    rows = stored(options.results)
    done = {(row["dataset"], row["method"]): row for row in rows}
    print(f"\n{'':22s}" + "".join(f"{name:>34s}" for name in methods))
    print(f"{'':22s}" + f"{'error %':>14s}{'log loss':>10s}{'ECE %':>10s}" * len(methods))
    with threadpool_limits(1):
        for name in options.datasets:
            for method in methods:
                if (name, method) not in done:
                    done[name, method] = _measure(method, name)
                    keep(options.results, done[name, method])
            print(f"{name:22s}" + "".join(_cells([done[name, m]]) for m in methods), flush=True)
    means = (_cells([done[name, m] for name in options.datasets]) for m in methods)
    print(f"{'mean':22s}" + "".join(means))


def _cells(rows: list[dict[str, Any]]) -> str:
    error, loss, off = (
        np.mean([row[key] for row in rows]) for key in ("error", "log_loss", "calibration_error")
    )
    return f"{error:14.2f}{loss:10.3f}{off:10.2f}"
