"""`ElasticFeatureRegressor` beside regressors of aeon: R^2 on series that were not trained on.

No sets of an archive of regression are at hand, so there are two kinds of sets:

- generated ones (`GENERATED`): numbers that say what a noisy series is made of;
- sets of the UCR archive whose classes are grades, taken as numbers: the Tanner-Whitehouse stage
  and the age group of a finger bone (`GRADES`, need `WARPLEARN_DATA`).

The score is the mean of R^2 over seeds, which draw the generated sets too.  Needs, for the peers,
`pip install -e '.[bench]'`; they are left out otherwise.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from threadpoolctl import threadpool_limits

from benchmarks.data import read_set
from benchmarks.measure import describe_machine
from warplearn import DTWNeighborsRegressor, ElasticFeatureRegressor

_CASES, _LENGTH = 400, 150  # half of the cases are for testing


def _width(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The width of a bump that is somewhere."""
    width, at = rng.uniform(0.02, 0.12, _CASES), rng.uniform(0.2, 0.8, (_CASES, 1))
    X = np.exp(-(((np.linspace(0, 1, _LENGTH) - at) / width[:, None]) ** 2))
    return X + rng.normal(0, 0.2, X.shape), width


def _frequency(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The mean frequency of an oscillation whose frequency and phase vary."""
    frequency, phase = rng.uniform(3, 12, _CASES), rng.uniform(0, 2 * np.pi, (_CASES, 1))
    steps = np.cumsum(rng.normal(0, 0.1, (_CASES, _LENGTH)), axis=1)
    X = np.sin(2 * np.pi * frequency[:, None] * np.linspace(0, 1, _LENGTH) + phase + steps)
    return X + rng.normal(0, 0.5, X.shape), frequency


def _delay(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The time between two pulses of different shapes, in a drifting series."""
    delay, first = rng.uniform(0.1, 0.6, _CASES), rng.uniform(0.1, 0.3, (_CASES, 1))
    t = np.linspace(0, 1, _LENGTH)
    X = np.exp(-(((t - first) / 0.03) ** 2)) - (np.abs(t - first - delay[:, None]) < 0.02)
    return X + np.cumsum(rng.normal(0, 0.03, X.shape), axis=1), delay


def _noise(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """How strongly neighbours in an autoregressive series depend on each other."""
    share = rng.uniform(0, 0.95, _CASES)
    X = rng.normal(size=(_CASES, _LENGTH))
    for t in range(1, _LENGTH):
        X[:, t] = share * X[:, t - 1] + np.sqrt(1 - share**2) * X[:, t]
    return X, share


GENERATED = {"width": _width, "frequency": _frequency, "delay": _delay, "dependence": _noise}
GRADES = ("DistalPhalanxTW", "DistalPhalanxOutlineAgeGroup")


def _aeon(name: str) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        import aeon.regression.convolution_based as family

        return getattr(family, name)(random_state=seed, n_jobs=1)

    return make


METHODS: dict[str, Callable[[int], Any]] = {
    "elastic": lambda seed: ElasticFeatureRegressor(random_state=seed),
    "ROCKET": _aeon("RocketRegressor"),
    "MiniRocket": _aeon("MiniRocketRegressor"),
    "1-NN DTW": lambda seed: DTWNeighborsRegressor(n_neighbors=1),
}


def _data(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    if name in GENERATED:
        X, y = GENERATED[name](np.random.default_rng(seed))
        half = _CASES // 2
        return X[:half], y[:half], X[half:], y[half:]
    (X, y), (X_test, y_test) = read_set(name, "TRAIN"), read_set(name, "TEST")
    return X, y + 0.5, X_test, y_test + 0.5  # aeon's regressors refuse whole numbers


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks regression",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    print(describe_machine("scikit-learn", "aeon"))
    methods = list(options.methods)
    if not importlib.util.find_spec("aeon"):
        methods = [name for name in methods if name not in ("ROCKET", "MiniRocket")]
        print("ROCKET and MiniRocket are left out: need aeon")
    names = [*GENERATED, *(GRADES if os.environ.get("WARPLEARN_DATA") else ())]
    print(f"\nR^2 on test series, and seconds of fit and predict; {options.seeds} seeds")
    print(f"{'':30s}" + "".join(f"{name:>18s}" for name in methods))
    total = []
    with threadpool_limits(1):
        for name in names:
            cells = [_measure(method, name, options.seeds) for method in methods]
            total.append(cells)
            texts = "".join(f"{score:9.3f}{seconds:8.2f}s" for score, seconds in cells)
            print(f"{name:30s}{texts}", flush=True)
    texts = "".join(f"{score:9.3f}{seconds:8.2f}s" for score, seconds in np.mean(total, axis=0))
    print(f"{'mean':30s}{texts}")


def _measure(method: str, name: str, seeds: int) -> tuple[float, float]:
    scores, seconds = [], []
    for seed in range(seeds):
        X, y, X_test, y_test = _data(name, seed)
        METHODS[method](seed).fit(X[:20], y[:20]).predict(X_test[:20])  # compiles
        start = time.perf_counter()
        predicted = METHODS[method](seed).fit(X, y).predict(X_test)
        seconds.append(time.perf_counter() - start)
        scores.append(r2_score(y_test, predicted))
    return float(np.mean(scores)), float(np.mean(seconds))
