"""`warplearn bench`: how fast this machine is."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import typer

from warplearn.cli.common import print_json
from warplearn.cli.options import AsJson, Jobs, friendly
from warplearn.cli.terminal import console


def distance_speed(n_jobs: int, cases: int = 200, length: int = 150) -> float:
    """Cells of `pairwise_dtw` a second, in float32, once its kernels are compiled."""
    import numpy as np

    from warplearn import pairwise_dtw

    X, Y = np.random.default_rng(0).normal(size=(2, cases, length)).astype(np.float32)
    times = []
    for _ in range(8):  # the first is the warm-up
        start = perf_counter()
        pairwise_dtw(X, Y, n_jobs=n_jobs)
        times.append(perf_counter() - start)
    return cases**2 * length**2 / min(times[1:])


def training_speed(n_jobs: int, models: int = 64, cases: int = 50, length: int = 150) -> float:
    """Cells a second of a grid search of elastic perceptrons, as many epochs for all."""
    import numpy as np

    from warplearn import ElasticGridSearchCV, ElasticPerceptron

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(cases, length)).astype(np.float32), np.arange(cases) % 2
    everything = np.arange(cases)
    epochs, columns, best = 40, length // 10, np.inf
    estimator = ElasticPerceptron(
        elasticity=columns, polarity="+", max_iter=epochs, monitor="loss", tol=None, random_state=0
    )
    grid = {"learning_rate_init": np.linspace(0.1, 1, models)}
    folds = [(everything, everything[:2])] * 2
    for _ in range(4):
        search = ElasticGridSearchCV(estimator, grid, cv=folds, refit=False, n_jobs=n_jobs)
        start = perf_counter()
        search.fit(X, y)
        best = min(best, perf_counter() - start)
    return 2 * len(folds) * models * epochs * cases * length * columns / best


MEASURES: dict[str, Callable[[int], float]] = {
    "pairwise distances": distance_speed,
    "training in lanes": training_speed,
}


@friendly
def bench(jobs: Jobs = -1, json: AsJson = False) -> None:
    """Measure how many cells of warping grids this machine computes a second.

    Pairwise distances are of 200 x 200 series of length 150; training is a grid search of 128
    elastic perceptrons on 50 series of that length, with every cell of the forward grids counted.

    Example: `warplearn bench --json`
    """
    from warplearn._kernels.simd.threads import thread_count
    from warplearn.experiments.journal import describe_machine, describe_versions

    screen = console()
    speeds: dict[str, Any] = {}
    for name, measure in MEASURES.items():
        for threads in sorted({1, thread_count(jobs)}):
            with screen.status("compiling, the first time only, and measuring"):
                speed = measure(threads)
            speeds.setdefault(name, {})[threads] = speed
            if not json:
                unit = "thread" if threads == 1 else "threads"
                screen.print(f"{name}, {threads} {unit}: {speed / 1e9:.1f} billion cells a second")
    machine, versions = describe_machine(), describe_versions()
    if json:
        print_json({"machine": machine, "versions": versions, "cells_per_second": speeds})
    else:
        screen.print(machine, ", ".join(f"{name} {v}" for name, v in versions.items()), sep="\n")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(bench)
