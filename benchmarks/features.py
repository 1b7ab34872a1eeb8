"""Random elastic features against the ROCKET family and 1-NN DTW: error and time.

Test errors are means over seeds.  Times are those of `fit` and `predict`, each in one thread.
Before they are measured, each method is run on series of the same set, so that compilation does not
count.  Rows are printed as they are finished.  With `--results FILE` they are also
appended to a file, and rows that the file has already are not computed again, so that a long run
can be done in several steps.  Needs the UCR data sets (`WARPLEARN_DATA`) and, for the peers,
`pip install -e '.[bench]'`; MultiRocketHydraClassifier also needs torch (`pip install torch`).
Peers that are not installed are left out.

`--choose` repeats the choice of the defaults by cross-validation on the training files; no test
file is opened.  `--shrink` measures what it costs to drop filters.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifierCV
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.data import read_set
from benchmarks.measure import at_least, at_most, describe_machine, keep, stored
from warplearn import DTWNeighborsClassifier, ElasticFeatureClassifier, ElasticFeatures
from warplearn.features.base import DEFAULT_ALPHAS
from warplearn.features.representations import REPRESENTATIONS

ELEVEN = (
    "Coffee", "ECG200", "ECGFiveDays", "GunPoint", "ItalyPowerDemand", "Lightning2", "MoteStrain",
    "SonyAIBORobotSurface1", "SonyAIBORobotSurface2", "TwoLeadECG", "Wafer",
)  # fmt: skip


def sets_with(split: str) -> list[str]:
    """Sets that have the file, the paper's eleven first."""
    folder = os.environ.get("WARPLEARN_DATA")
    if not folder:
        raise SystemExit("set WARPLEARN_DATA to a folder of UCR data sets")
    available = {file.parent.name for file in Path(folder).glob(f"*/*_{split}.ts*")}
    return [name for name in ELEVEN if name in available] + sorted(available - set(ELEVEN))


# Methods: from a seed to an estimator


def _aeon(name: str) -> Callable[[int], Any]:
    def make(seed: int) -> Any:
        import aeon.classification.convolution_based as family

        return getattr(family, name)(random_state=seed, n_jobs=1)

    return make


METHODS: dict[str, Callable[[int], Any]] = {
    "elastic": lambda seed: ElasticFeatureClassifier(random_state=seed, n_jobs=1),
    "elastic filters": lambda seed: ElasticFeatureClassifier(
        n_shapelets=0, random_state=seed, n_jobs=1
    ),
    "elastic third": lambda seed: ElasticFeatureClassifier(keep=1 / 3, random_state=seed, n_jobs=1),
    "elastic fast": lambda seed: ElasticFeatureClassifier(2000, random_state=seed, n_jobs=1),
    "elastic m=1": lambda seed: ElasticFeatureClassifier(
        10_000, elasticities=(1,), n_shapelets=0, random_state=seed, n_jobs=1
    ),
    "ROCKET": _aeon("RocketClassifier"),
    "MiniRocket": _aeon("MiniRocketClassifier"),
    "MR-Hydra": _aeon("MultiRocketHydraClassifier"),
    "1-NN DTW": lambda seed: DTWNeighborsClassifier(n_jobs=1),
}
NEEDS = {"ROCKET": ["aeon"], "MiniRocket": ["aeon"], "MR-Hydra": ["aeon", "torch"]}
SEEDLESS = ("1-NN DTW",)


def _installed(method: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in NEEDS.get(method, []))


def _measure(method: str, name: str, seed: int) -> dict[str, Any]:
    """One row: error and times, or why there are none."""
    row: dict[str, Any] = {"dataset": name, "method": method, "seed": seed}
    X, y = _read(name, "TRAIN")
    X_test, y_test = _read(name, "TEST")
    try:
        _warm_up(method, name)
        model = METHODS[method](seed)
        begin = time.perf_counter()
        model.fit(X, y)
        fitted = time.perf_counter()
        predicted = model.predict(X_test)
        end = time.perf_counter()
    except (ValueError, TypeError, IndexError) as problem:
        if method not in NEEDS:
            raise
        return row | {"problem": str(problem).splitlines()[0][:120]}
    error = 100 * float(np.mean(np.asarray(predicted) != y_test))
    return row | {"error": error, "fit": fitted - begin, "predict": end - fitted}


@cache
def _read(name: str, split: str) -> Any:
    return read_set(name, split)


@cache
def _warm_up(method: str, name: str) -> None:
    """Compile for series of this kind: all of them for our methods, a few for others."""
    (X, y), (X_test, _) = _read(name, "TRAIN"), _read(name, "TEST")
    # Ours compile what the data need: as many lanes as series, only features with a factor above 0.
    all_of_them = method not in NEEDS
    most = len(y) if all_of_them else 3
    few = np.sort(np.concatenate([np.flatnonzero(y == c)[:most] for c in np.unique(y)]))
    some = [X[i] for i in few] if isinstance(X, list) else X[few]
    METHODS[method](0).fit(some, y[few]).predict(X_test if all_of_them else X_test[:20])


def compare(options: argparse.Namespace) -> None:
    methods = [m for m in options.methods if _installed(m)]
    for method in set(options.methods) - set(methods):
        print(f"{method} is left out: needs {' and '.join(NEEDS[method])}")
    rows = stored(options.results)
    done = {(row["dataset"], row["method"], row["seed"]) for row in rows}
    cannot = {(row["dataset"], row["method"]) for row in rows if "problem" in row}
    names = options.datasets or sets_with("TEST")
    for name in names:
        for method in methods:
            for seed in range(1 if method in SEEDLESS else options.seeds):
                if (name, method, seed) not in done and (name, method) not in cannot:
                    rows.append(_measure(method, name, seed))
                    keep(options.results, rows[-1])
                    cannot |= {(name, method)} if "problem" in rows[-1] else set()
        _print_row(name, methods, rows)
        _read.cache_clear()
    _summarize(names, methods, rows)


def _means(rows: list[dict[str, Any]], name: str, method: str) -> tuple[float, float] | None:
    """Mean error and time of `fit` and `predict`."""
    of = [r for r in rows if (r["dataset"], r["method"]) == (name, method) and "error" in r]
    if not of:
        return None
    return (
        float(np.mean([r["error"] for r in of])),
        float(np.mean([r["fit"] + r["predict"] for r in of])),
    )


def _print_row(name: str, methods: list[str], rows: list[dict[str, Any]]) -> None:
    cells = [_means(rows, name, method) for method in methods]
    texts = [f"{c[0]:7.2f} {c[1]:8.2f}s" if c else f"{'-':>7s} {'':9s}" for c in cells]
    print(f"{name:22s}" + "".join(f"{cell:>19s}" for cell in texts), flush=True)


def _summarize(names: list[str], methods: list[str], rows: list[dict[str, Any]]) -> None:
    eleven = [name for name in names if name in ELEVEN]
    all_can = [n for n in names if all(_means(rows, n, m) for m in methods)]
    for title, group in ((f"the {len(eleven)} of the paper", eleven), ("all can", all_can)):
        print(f"\nmean over {len(group)} sets, {title}: error in %, seconds in total")
        for method in methods:
            cells = [c for name in group if (c := _means(rows, name, method))]
            if len(cells) == len(group) > 0:
                error, seconds = np.mean([c[0] for c in cells]), sum(c[1] for c in cells)
                print(f"  {method:12s} {error:6.2f} {seconds:9.2f} s")
    _verdicts(eleven, rows)
    problems = {(r["method"], r["dataset"]): r["problem"] for r in rows if "problem" in r}
    for (method, name), problem in problems.items():
        print(f"{method} cannot do {name}: {problem}")


def _verdicts(names: list[str], rows: list[dict[str, Any]]) -> None:
    def column(method: str) -> np.ndarray | None:
        cells = [_means(rows, name, method) for name in names]
        return None if None in cells or not cells else np.array(cells)

    ours, fast, one = column("elastic"), column("elastic fast"), column("elastic m=1")
    if ours is None:
        return
    print()
    for peer in ("ROCKET", "MiniRocket"):
        if (theirs := column(peer)) is not None:
            at_most(f"mean error less that of {peer}", (ours - theirs)[:, 0].mean(), 0)
    if (filters := column("elastic filters")) is not None:
        at_most("mean error less that of filters alone", (ours - filters)[:, 0].mean(), 0)
        at_most("times the time of filters alone", ours[:, 1].sum() / filters[:, 1].sum(), 2.5)
    if fast is not None and (theirs := column("MiniRocket")) is not None:
        at_most("fast: mean error less that of MiniRocket", (fast - theirs)[:, 0].mean(), 0)
        ratio = theirs[:, 1].sum() / fast[:, 1].sum()
        at_least("fast: times faster than MiniRocket", ratio, 1)
    if (neighbour := column("1-NN DTW")) is not None:
        at_least("sets on which 1-NN DTW is beaten", (ours < neighbour)[:, 0].sum(), 10)
        print(f"  and equalled on {(ours == neighbour)[:, 0].sum()}")
    if (rocket := column("ROCKET")) is not None:
        at_least("defaults: times faster than ROCKET", rocket[:, 1].sum() / ours[:, 1].sum(), 10)
        at_least("  on the set where it is least", (rocket / ours)[:, 1].min(), 1)
        if one is not None:
            ratio = rocket[:, 1].sum() / one[:, 1].sum()
            at_least("m = 1, 10,000 filters: times faster than ROCKET", ratio, 8)
            at_least("  on the set where it is least", (rocket / one)[:, 1].min(), 8)


# Choice of the defaults


def _elastic(n_filters: int | None = None, **settings: Any) -> Callable[[int], Any]:
    return lambda seed: ElasticFeatureClassifier(n_filters, random_state=seed, n_jobs=1, **settings)


def _one_regression(*representations: str) -> Callable[[int], Any]:
    """Plain scikit-learn on the features of all representations."""

    def make(seed: int) -> Any:
        features = ElasticFeatures(representations=representations, random_state=seed, n_jobs=1)
        alphas = np.array(DEFAULT_ALPHAS) * features.n_filters * len(features.poolings)
        return make_pipeline(features, StandardScaler(), RidgeClassifierCV(alphas))

    return make


CANDIDATES: dict[str, Callable[[int], Any]] = {
    "defaults": _elastic(),
    "one regression, two representations": _one_regression("raw", "differences"),
    "one regression, four representations": _one_regression(*REPRESENTATIONS),
    "raw, differences": _elastic(representations=("raw", "differences")),
    "raw, differences, second": _elastic(representations=tuple(REPRESENTATIONS)[:3]),
    "raw, differences, smooth": _elastic(representations=("raw", "differences", "smooth")),
    "MiniRocket": _aeon("MiniRocketClassifier"),
    "no shapelets": _elastic(n_shapelets=0),
    "2,000 shapelets": _elastic(n_shapelets=2000),
    "4,000 filters": _elastic(4000),
    "3,600 filters, 1,200 shapelets": _elastic(3600, n_shapelets=1200),
    "four tenths of the work kept": _elastic(keep=0.4),
    "2,000 filters": _elastic(2000),
    "m = 1": _elastic(elasticities=(1,)),
    "wins, losses": _elastic(poolings=("wins", "losses")),
    "share": _elastic(poolings=("share",)),
}
_MOST_CASES = 300  # of a training file, for time's sake


def choose(options: argparse.Namespace) -> None:
    """Two folds, twice, where differences show, and ten folds, nearer to the use."""
    print("mean error in % of cross-validation on the training files: half and nine tenths of the")
    print("series to learn from; all sets, the paper's, others; less the defaults', standard error")
    rows = stored(options.results)
    errors_of = {(row["dataset"], row["candidate"]): row["errors"] for row in rows}
    names = options.datasets or sets_with("TRAIN")
    for label in [label for label in CANDIDATES if _installed(label)]:
        for name in names:
            if (name, label) not in errors_of:
                errors_of[name, label] = _cross_validated(name, CANDIDATES[label])
                row = {"dataset": name, "candidate": label, "errors": errors_of[name, label]}
                keep(options.results, row)
        _print_choice(label, names, errors_of)


def _print_choice(label: str, names: list[str], errors_of: dict[tuple[str, str], Any]) -> None:
    can = [name for name in names if errors_of[name, label] is not None]
    errors = np.array([errors_of[name, label] for name in can])
    paper = np.array([name in ELEVEN for name in can])
    line = f"{label:38s}"
    for kind in range(errors.shape[1]):
        for group in (slice(None), paper, ~paper):
            line += f"{errors[group, kind].mean() if len(errors[group]) else np.nan:7.2f}"
        less = errors[:, kind] - np.array([errors_of[name, "defaults"][kind] for name in can])
        line += (
            f"{less.mean():+8.2f} {less.std(ddof=1) / len(can) ** 0.5 if len(can) > 1 else 0:.2f}"
        )
    print(line + (f"   ({len(can)} sets)" if len(can) < len(names) else ""), flush=True)


def _cross_validated(name: str, make: Callable[[int], Any]) -> list[float] | None:
    """Mean errors with half, and with nine tenths of the series to learn from; None if it can't."""
    X, y = read_set(name, "TRAIN")
    take = (lambda at: [X[i] for i in at]) if isinstance(X, list) else X.__getitem__
    kept = np.arange(len(y))
    if len(y) > _MOST_CASES:
        split = StratifiedShuffleSplit(1, train_size=_MOST_CASES, random_state=0).split(y, y)
        kept = np.sort(next(split)[0])
    most = int(np.unique(y, return_counts=True)[1].max())
    mean_errors = []
    for folds, times in ((2, 2), (min(10, most), 1)):
        errors = []
        splits = RepeatedStratifiedKFold(n_splits=folds, n_repeats=times, random_state=0)
        for seed, (fit, test) in enumerate(splits.split(kept, y[kept])):
            fit, test = kept[fit], kept[test]
            try:
                predicted = make(seed).fit(take(fit), y[fit]).predict(take(test))
            except (ValueError, TypeError, IndexError):
                if isinstance(X, list):  # aeon's refuse series of different lengths
                    return None
                raise
            errors.append(np.mean(predicted != y[test]))
        mean_errors.append(100 * float(np.mean(errors)))
    return mean_errors


# Shrinking


def shrink(options: argparse.Namespace) -> None:
    sizes = (4000, 2000, 1000, 400, 200)
    print("test error in % with so many filters left, and with as many drawn at random instead\n")
    print(f"{'':22s}" + "".join(f"{size:>16d}" for size in (8000, *sizes)))
    total = []
    for name in options.datasets or [n for n in ELEVEN if n in sets_with("TEST")]:
        (X, y), (X_test, y_test) = read_set(name, "TRAIN"), read_set(name, "TEST")
        cells = []
        for seed in range(options.seeds):
            model = METHODS["elastic filters"](seed).fit(X, y)
            cells.append([(model.score(X_test, y_test),) * 2])
            for size in sizes:
                model = model.shrink(X, y, size)
                drawn = clone(model).set_params(n_filters=size).fit(X, y)
                cells[-1].append((model.score(X_test, y_test), drawn.score(X_test, y_test)))
        total.append(100 * (1 - np.mean(cells, axis=0)))
        print(f"{name:22s}" + "".join(f"{a:8.2f}{b:8.2f}" for a, b in total[-1]), flush=True)
    print(f"{'mean':22s}" + "".join(f"{a:8.2f}{b:8.2f}" for a, b in np.mean(total, axis=0)))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks features",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--datasets", nargs="+", help="by default all in WARPLEARN_DATA")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, help="file to keep finished rows in")
    parser.add_argument("--choose", action="store_true", help="how the defaults were chosen")
    parser.add_argument("--shrink", action="store_true", help="what dropping filters costs")
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    print(describe_machine("scikit-learn", "aeon", "torch"))
    if _installed("MR-Hydra"):
        import torch

        torch.set_num_threads(1)
    with threadpool_limits(1):
        if options.choose:
            choose(options)
        elif options.shrink:
            shrink(options)
        else:
            print(f"\ntest error in %, seconds of fit and predict; {options.seeds} seeds")
            print(f"{'':22s}" + "".join(f"{method:>19s}" for method in options.methods))
            compare(options)
