"""Quick to start: importing is light and compiles nothing, and compiled kernels are found again."""

import pytest

COUNT = """
import json, sys
from numba.core.dispatcher import Dispatcher
def count():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("warplearn"):
            for function in vars(module).values():
                if isinstance(function, Dispatcher):
                    found[id(function)] = function
    compiled = sum(len(f.overloads) for f in found.values())
    hits = sum(sum(f.stats.cache_hits.values()) for f in found.values())
    misses = sum(sum(f.stats.cache_misses.values()) for f in found.values())
    return compiled, hits, misses
"""

CALLS = """
import numpy as np
import warplearn
rng = np.random.default_rng(0)
X, W = rng.normal(size=(70, 12)), rng.normal(size=(12, 4))
results = [
    warplearn.dtw(X[0], X[1], band=0.5),
    warplearn.warping_path(X[0], X[1]).distance,
    warplearn.pairwise_dtw(X, n_jobs=2).sum(),
    warplearn.value_and_gradient(X[:5], W).W.sum(),
    warplearn.band_mask(5, 4, 2).sum().item(),
]
print(json.dumps([*count(), results]))
"""


@pytest.mark.slow
def test_a_second_process_compiles_nothing(run_python):
    _, _, misses, results = run_python(COUNT + CALLS)
    assert misses >= 5
    _, hits, misses, again = run_python(COUNT + CALLS)
    assert misses == 0
    assert hits >= 5
    assert again == results


def test_importing_compiles_nothing_and_stays_light(run_python):
    heavy = ["sklearn", "pandas", "polars", "matplotlib", "torch", "dask", "typer", "rich"]
    script = f"""
import numba
before = set(sys.modules)
import warplearn
added = set(sys.modules) - before
wanted = {[*heavy, "scipy"]}
print(json.dumps([*count(), sorted(set(wanted) & added)]))
"""
    assert run_python(COUNT + script) == [0, 0, 0, []]
