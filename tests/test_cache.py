"""Quick to start: importing is light and compiles nothing, and compiled kernels are found again."""

import pytest

from warplearn import warmup

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


def test_compiling_is_announced_once_and_not_when_kernels_are_on_disk(run_python):
    script = """
import io, json, sys
import warplearn
from warplearn._kernels.simd import listeners
listeners._PATIENCE = 0.0
sys.stderr = io.StringIO()
warplearn.band_mask(5, 4, 2)
warplearn.elastic.bands.narrowest(5, 4)  # another kernel
print(json.dumps([sys.stderr.getvalue(), listeners.MESSAGE]))
"""
    said, message = run_python(script)
    assert said == message + "\n"
    assert run_python(script) == ["", message]


@pytest.mark.slow
def test_warmup_compiles_what_common_calls_need(run_python):
    warm = """
import json, warplearn
warplearn.warmup(["distances", "linear"], dtypes=["float64"])
print(json.dumps(None))
"""
    use = """
import numpy as np
import warplearn
rng = np.random.default_rng(1)
X, y = rng.normal(size=(150, 110)), np.arange(150) % 3
warplearn.dtw(X[0], X[1, :70])
warplearn.warping_path(X[0], X[1])
warplearn.pairwise_dtw(X[:30], band="20%")
warplearn.pairwise_dtw(X, X[:20])
warplearn.ElasticLogisticRegression(max_iter=3).fit(X, y).predict_proba(X)
warplearn.ElasticMarginPerceptron(max_iter=3).fit(X, y == 1).predict(X)
print(json.dumps(count()))
"""
    run_python(warm)
    _, hits, misses = run_python(COUNT + use)
    assert misses == 0
    assert hits >= 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"families": ["distance"]}, r"families must be a list of some of distances, linear, .*"),
        ({"families": "linear"}, r"families must be a list of some of .*, got 'linear'"),
        (
            {"dtypes": ["int8"]},
            r"dtypes must be a list of some of float32, float64, got \['int8'\]",
        ),
        ({"processes": 0}, r"processes must be a positive integer, got 0"),
    ],
)
def test_warmup_refuses(parameters, message):
    with pytest.raises(ValueError, match=message):
        warmup(**parameters)
