"""Compile the common kernels ahead of time: for containers, servers and tests.

Kernels are compiled when they are first called, for the dtypes of that call, and kept on disk.  So
compiling ahead means calling: the table below has a call, on small random series, for each of the
usual uses of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

import warplearn
from warplearn._kernels.simd.listeners import unannounced

DTYPES = ("float32", "float64")
_CASES, _LENGTH = 96, 80  # enough for the kernels that larger sets use


class _Sample(NamedTuple):
    """Series to call with: their labels, and the number of threads."""

    X: Any
    y: Any
    n_jobs: int | None

    def fit(self, name: str, classes: int = 2, **parameters: Any) -> None:
        """Fit an estimator, and predict or transform."""
        model = getattr(warplearn, name)(n_jobs=self.n_jobs, **parameters)
        model.fit(self.X, self.y % classes)
        (model.predict if hasattr(model, "predict") else model.transform)(self.X)


_CALLS: dict[str, dict[str, Callable[[_Sample], Any]]] = {
    "distances": {
        "dtw": lambda s: warplearn.dtw(s.X[0], s.X[1]),
        "dtw in a band": lambda s: warplearn.dtw(s.X[0], s.X[1], band=0.1),
        "warping_path": lambda s: warplearn.warping_path(s.X[0], s.X[1]),
        "pairwise_dtw": lambda s: warplearn.pairwise_dtw(s.X, n_jobs=s.n_jobs),
        "pairwise_dtw in a band": lambda s: warplearn.pairwise_dtw(s.X, band=0.1, n_jobs=s.n_jobs),
    },
    "linear": {
        "two classes": lambda s: s.fit("ElasticLogisticRegression", max_iter=2),
        "three classes": lambda s: s.fit("ElasticLogisticRegression", 3, max_iter=2),
        "perceptrons": lambda s: s.fit("ElasticPerceptron", max_iter=2),
        "support vectors": lambda s: s.fit("ElasticLinearSVC", max_iter=2),
        "regression": lambda s: s.fit("ElasticLinearRegression", max_iter=2),
    },
    "features": {
        "classifier": lambda s: s.fit("ElasticFeatureClassifier", n_filters=256, n_shapelets=256),
    },
    "networks": {
        "two classes": lambda s: s.fit("ElasticMLPClassifier", max_iter=2),
        "three classes": lambda s: s.fit("ElasticMLPClassifier", 3, max_iter=2),
    },
    "neighbors": {
        "few series": lambda s: warplearn.nearest_neighbors(s.X, s.X, n_jobs=s.n_jobs),
        "many series": lambda s: warplearn.nearest_neighbors(
            np.tile(s.X, (4, 1)), s.X, n_jobs=s.n_jobs
        ),
        "in a band": lambda s: warplearn.nearest_neighbors(
            np.tile(s.X, (4, 1)), s.X, band=0.1, n_jobs=s.n_jobs
        ),
    },
    "clusters": {
        "mean": lambda s: warplearn.elastic_mean(s.X, max_iter=2, n_jobs=s.n_jobs),
        "k-means": lambda s: s.fit("ElasticKMeans", n_clusters=2, max_iter=2),
    },
}
FAMILIES = tuple(_CALLS)


class Call(NamedTuple):
    """A call that compiles: its family and name in the table, the dtype, the number of threads."""

    family: str
    name: str
    dtype: str
    n_jobs: int | None

    def __str__(self) -> str:
        return f"{self.family}: {self.name}, {self.dtype}"

    def run(self) -> Call:
        """Call, and so compile."""
        rng = np.random.default_rng(0)
        y = np.arange(_CASES) % 6
        X = rng.normal(size=(_CASES, _LENGTH)).cumsum(axis=1) + y[:, None]
        with unannounced():
            _CALLS[self.family][self.name](_Sample(X.astype(self.dtype), y, self.n_jobs))
        return self


def common_calls(
    families: Sequence[str] | None = None,
    dtypes: Sequence[str] = DTYPES,
    n_jobs: int | None = None,
) -> list[Call]:
    """The calls of these families; see `warmup`."""
    for given, known, name in ((families or (), FAMILIES, "families"), (dtypes, DTYPES, "dtypes")):
        unknown = [each for each in given if each not in known]
        if isinstance(given, str) or unknown:
            raise ValueError(f"{name} must be a list of some of {', '.join(known)}, got {given!r}")
    return [
        Call(family, name, dtype, n_jobs)
        for dtype in dtypes
        for family in families or FAMILIES
        for name in _CALLS[family]
    ]


def compile_calls(calls: Sequence[Call], processes: int = 1) -> Iterator[Call]:
    """Compile, and give each call when it is done."""
    if processes == 1:
        for call in calls:
            yield call.run()
        return
    # Not forked: threads that this process has started would be missing in a fork.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(call.run) for call in calls]):
            yield future.result()


def warmup(
    families: Sequence[str] | None = None,
    *,
    dtypes: Sequence[str] = DTYPES,
    n_jobs: int | None = None,
    processes: int = 1,
) -> None:
    """Compile the kernels of common calls, and keep them on disk.

    What is compiled already takes no time.  Other calls, such as those with a cost of one's own,
    still compile when they are first made.

    Parameters
    ----------
    families : sequence of str, optional
        What to compile for: "distances", "linear", "features", "networks", "neighbors" and
        "clusters"; by default all.
    dtypes : sequence of {"float32", "float64"}, default=("float32", "float64")
    n_jobs : int, optional
        The number of threads that calls will have: kernels that run in several threads are
        compiled on their own.  None is 1, -1 all cores.
    processes : int, default=1
        How many processes compile side by side.  With more than one, a script must guard its
        main part by ``if __name__ == "__main__":``, as for `multiprocessing`.

    Examples
    --------
    >>> warmup(["distances"], dtypes=["float64"])
    """
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 1:
        raise ValueError(f"processes must be a positive integer, got {processes!r}")
    for _ in compile_calls(common_calls(families, dtypes, n_jobs), processes):
        pass
