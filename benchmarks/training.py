"""Training and prediction: lanes against one after the other, and against plain loops."""

from __future__ import annotations

import argparse
import tracemalloc
import warnings
from functools import partial

import numpy as np
from numba import njit
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.data import bumps, gunpoint
from benchmarks.limit import limit_run
from benchmarks.measure import at_least, at_most, best_times, describe_machine
from warplearn import SeriesCollection, pairwise_dtw
from warplearn._kernels.simd.threads import thread_count
from warplearn.linear_model.classifiers import ElasticLinearSVC, ElasticLogisticRegression
from warplearn.model_selection import ElasticGridSearchCV
from warplearn.training.incremental import Bank
from warplearn.training.losses import Logistic
from warplearn.training.plan import (
    Examples,
    Model,
    Objective,
    Plan,
    Procedure,
    Stopping,
    group_plans,
)
from warplearn.training.schedules import Decay
from warplearn.training.train import train

# No model is at its end before the last epoch: everybody does the same work.
_ALL_EPOCHS = {"monitor": "loss", "perfect": False, "patience": None}


def _models(X: SeriesCollection, m: int, count: int) -> list[Model]:
    rng = np.random.RandomState(0)
    shape = (1, X.max_length, m, 1)
    return [
        Model(rng.uniform(-0.01, 0.01, shape).astype(X.dtype), rng.uniform(-0.01, 0.01, 1), 0.1)
        for _ in range(count)
    ]


def _plan(X: SeriesCollection, y: np.ndarray, models: list[Model], epochs: int) -> Plan:
    """Logistic models on all series."""
    stopping = Stopping(max_iter=epochs, **_ALL_EPOCHS)
    procedure = Procedure(schedule=Decay(), stopping=stopping)
    examples = Examples(np.arange(len(X)), np.ones(len(X)))
    return Plan(X, y[None], Objective(Logistic()), procedure, examples, tuple(models))


def epoch_against_limit() -> None:
    print("\nAn epoch of 16 logistic models in lanes (m = 15, float32) against the CPU's limit")
    X, y = gunpoint()
    epochs = 20
    ((group, _),) = group_plans([_plan(X, y, _models(X, 15, 16), 10**9)])
    bank = Bank(group, n_jobs=1)
    limit, limit_cells = limit_run(np.float32)
    times = best_times({"limit": limit, "epochs": lambda: bank.run(epochs)}, repeats=15)
    # Every epoch trains on all series, and scores all of them once more to compute the risk.
    cells = epochs * 2 * len(X) * X.max_length * 15 * 16
    rate, fastest = cells / times["epochs"], limit_cells / times["limit"]
    print(f"  limit {fastest / 1e9:.1f}, ours {rate / 1e9:.1f} billion cells/s")
    at_least("  share of the limit", rate / fastest, 0.25)


def search_against_sklearn() -> None:
    threads = thread_count(-1)
    print(
        "\nGrid search, 11 rates x 10 lambdas x 10 folds, elastic SVM, 100 epochs, "
        f"against scikit-learn's with {threads} threads"
    )
    X, y = gunpoint()
    estimator = ElasticLinearSVC(
        max_iter=100, monitor="loss", tol=None, polarity="first", random_state=0, n_jobs=1
    )
    grid = {"learning_rate_init": 2.0 ** np.arange(-10, 1), "alpha": 2.0 ** np.arange(-10, 0)}
    cv = StratifiedKFold(10)
    table = X.values[:, :, 0]

    def ours() -> ElasticGridSearchCV:
        return ElasticGridSearchCV(estimator, grid, cv=cv, refit=False, n_jobs=-1).fit(table, y)

    def theirs() -> GridSearchCV:
        from joblib import parallel_backend

        with parallel_backend("threading", n_jobs=threads):
            return GridSearchCV(estimator, grid, cv=cv, refit=False, n_jobs=threads).fit(table, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = np.array_equal(
            ours().cv_results_["mean_test_score"], theirs().cv_results_["mean_test_score"]
        )
        times = best_times({"ours": ours, "theirs": theirs}, repeats=3)
    print(f"  the same scores: {same}; ours {times['ours']:.2f} s, theirs {times['theirs']:.2f} s")
    at_least("  times faster", times["theirs"] / times["ours"], 5)


@njit(nogil=True, cache=True)
def _plain_scores(x, W, S):
    k, m = len(x), W.shape[1]
    S[0, 0] = x[0] * W[0, 0]
    for j in range(1, m):
        S[0, j] = S[0, j - 1] + x[0] * W[0, j]
    for i in range(1, k):
        S[i, 0] = S[i - 1, 0] + x[i] * W[i, 0]
        for j in range(1, m):
            S[i, j] = max(S[i - 1, j], S[i - 1, j - 1], S[i, j - 1]) + x[i] * W[i, j]
    return S[k - 1, m - 1]


@njit(nogil=True, cache=True)
def _plain_fit(X, y, W, b, eta, decay, orders):
    """The algorithm of `ElasticLogisticRegression`, as one would first write it."""
    S = np.empty(W.shape, X.dtype)
    best, best_b, lowest = W.copy(), b, np.inf
    for t in range(len(orders)):
        rate = eta / (1.0 + decay * t)
        for case in orders[t]:
            x = X[case]
            f = _plain_scores(x, W, S) + b
            step = rate * y[case] / (1.0 + np.exp(y[case] * f))
            i, j = W.shape[0] - 1, W.shape[1] - 1
            while True:
                W[i, j] += step * x[i]
                if i == 0 and j == 0:
                    break
                if i == 0:
                    j -= 1
                elif j == 0:
                    i -= 1
                elif S[i - 1, j - 1] >= S[i - 1, j] and S[i - 1, j - 1] >= S[i, j - 1]:
                    i -= 1
                    j -= 1
                elif S[i - 1, j] >= S[i, j - 1]:
                    i -= 1
                else:
                    j -= 1
            b += step
        risk = 0.0
        for case in range(len(X)):
            f = _plain_scores(X[case], W, S) + b
            risk += np.log1p(np.exp(-y[case] * f))
        if risk < lowest:
            lowest, best_b = risk, b
            best[:] = W
    return best, best_b


def _orders(cases: int, epochs: int) -> np.ndarray:
    """The order of the examples in each epoch."""
    rng = np.random.RandomState(0)
    return np.stack([rng.permutation(cases) for _ in range(epochs)])


def lanes_against_turns() -> None:
    print("\n16 logistic models in lanes against the same 16 one after the other (20 epochs)")
    X, y = gunpoint()
    epochs, table = 20, X.values[:, :, 0]
    models, orders = _models(X, 15, 16), _orders(len(X), epochs)

    def run(models: list[Model]) -> None:
        train([_plan(X, y, models, epochs)], n_jobs=1)

    def turns() -> None:
        for model in models:
            run([model])

    def plain() -> None:
        for model in models:
            _plain_fit(table, y, model.W[0, :, :, 0].copy(), model.b[0], 0.1, 0.1, orders)

    def lanes() -> None:
        run(models)

    times = best_times({"lanes": lanes, "turns": turns})
    at_least("  times faster", times["turns"] / times["lanes"], 4)
    # As much as both marks, of lanes and of a single fit with m = 15, ask for together.
    times = best_times({"lanes": lanes, "plain": plain})
    at_least("  times faster than plain Numba loops", times["plain"] / times["lanes"], 4 * 1.4)


def lone_fit_against_plain_loop() -> None:
    print("\nOne incremental binary fit (30 epochs) against a plain Numba loop of the algorithm")
    for length, m, least in ((150, 15, 1.4), (426, 43, 2.5)):
        X, y = bumps(50, length)
        series = SeriesCollection.of(X)
        model = _models(series, m, 1)[0]
        orders, found = _orders(len(X), 30), {}

        def ours(model=model, series=series, y=y, found=found):
            ((solution,),) = train([_plan(series, y, [model], 30)], n_jobs=1)
            found["ours"] = solution.W[0, :, :, 0]

        def plain(X=X, y=y, model=model, orders=orders, found=found):
            W = model.W[0, :, :, 0].copy()
            found["plain"] = _plain_fit(X, y, W, model.b[0], 0.1, 0.1, orders)[0]

        times = best_times({"ours": ours, "plain": plain}, repeats=9)
        gap = abs(found["ours"] - found["plain"]).max()
        print(f"  length {length}, m = {m}: largest difference of the weights {gap:.1e}")
        at_least(f"  m = {m}: times faster", times["plain"] / times["ours"], least)


def prediction_against_neighbours() -> None:
    print("\nPrediction of 10,000 series against 1-NN DTW over 50 training series (our kernels)")
    X, y = bumps(50, 150)
    many, _ = bumps(10_000, 150, seed=1)
    model = ElasticLogisticRegression(polarity="first", random_state=0, n_jobs=1).fit(X, y)
    times = best_times(
        {
            "elastic": partial(model.predict, many),
            "neighbours": lambda: y[pairwise_dtw(many, X, n_jobs=1).argmin(axis=1)],
        },
        repeats=3,
    )
    at_least("  times faster", times["neighbours"] / times["elastic"], 30)


def memory() -> None:
    print("\nMemory of a fit against the weights in all lanes and the data")
    X, y = bumps(200, 1000)
    series = SeriesCollection.of(X)
    models = _models(series, 100, 32)
    weights = 32 * models[0].W.nbytes
    plan = _plan(series, y, models, 2)
    train([plan], n_jobs=1)
    ((group, _),) = group_plans([plan])
    tracemalloc.start()
    bank = Bank(group, n_jobs=1)
    bank.run(2)
    solutions = bank.solutions()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del solutions
    at_most("  peak / (weights + data)", peak / (weights + series.values.nbytes), 3)


def main(arguments: list[str]) -> None:
    parts = {
        "lanes": lanes_against_turns,
        "epoch": epoch_against_limit,
        "search": search_against_sklearn,
        "lone": lone_fit_against_plain_loop,
        "prediction": prediction_against_neighbours,
        "memory": memory,
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks training", description=__doc__)
    parser.add_argument("--only", choices=parts, action="append", help="run one part")
    chosen = parser.parse_args(arguments).only or list(parts)
    print(describe_machine("scikit-learn"))
    for name in chosen:
        parts[name]()
