"""The kernels against the naive references, for a covering set of their specialisations.

Each specialisation takes seconds to compile, so not all are tried: `TABLE` holds every pair of
choices, such as "gaussian with a band" or "32 lanes in a bank", at least once.

Whole numbers make every sum exact, in float32 too.  So scores, paths and gradients must equal the
reference to the last bit, however often paths tie.
"""

import itertools
import sys
import threading
import time
from types import SimpleNamespace
from typing import NamedTuple

import joblib
import naive
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warplearn import pairwise_dtw
from warplearn._kernels.drivers.evaluate import evaluate, evaluate_paths
from warplearn._kernels.simd.threads import thread_count
from warplearn.elastic.bands import band_of
from warplearn.elastic.costs import resolve


class Config(NamedTuple):
    cost: str
    dtype: str
    channels: int
    banded: bool
    role: str
    lanes: int
    output: str


CHOICES = Config(
    tuple(naive.SCORES),
    ("float32", "float64"),
    (1, 3),
    (False, True),
    ("batch", "bank"),
    (8, 16, 32, 64),
    ("scores", "gradients", "paths"),
)
TABLE = [
    Config("squared", "float32", 1, False, "batch", 16, "scores"),
    Config("squared", "float32", 1, False, "batch", 64, "scores"),
    Config("squared", "float32", 1, False, "batch", 8, "gradients"),
    Config("squared", "float32", 1, False, "batch", 16, "gradients"),
    Config("squared", "float32", 1, False, "batch", 32, "gradients"),
    Config("squared", "float32", 1, False, "batch", 64, "gradients"),
    Config("squared", "float32", 3, False, "bank", 8, "scores"),
    Config("squared", "float64", 3, True, "batch", 64, "paths"),
    Config("product", "float64", 3, True, "bank", 8, "gradients"),
    Config("product", "float64", 3, True, "bank", 32, "gradients"),
    Config("product", "float64", 3, True, "bank", 64, "gradients"),
    Config("product", "float32", 1, False, "batch", 16, "scores"),
    Config("product", "float64", 1, True, "batch", 16, "paths"),
    Config("absolute", "float64", 1, False, "bank", 32, "scores"),
    Config("absolute", "float32", 1, True, "bank", 8, "gradients"),
    Config("absolute", "float64", 1, True, "batch", 64, "gradients"),
    Config("absolute", "float32", 3, True, "batch", 16, "paths"),
    Config("mismatch", "float32", 1, True, "bank", 8, "scores"),
    Config("mismatch", "float32", 3, True, "batch", 16, "gradients"),
    Config("mismatch", "float64", 1, False, "batch", 64, "gradients"),
    Config("mismatch", "float64", 1, False, "batch", 32, "paths"),
    Config("gaussian", "float64", 3, False, "bank", 16, "scores"),
    Config("gaussian", "float64", 1, True, "batch", 32, "gradients"),
    Config("gaussian", "float64", 1, False, "bank", 64, "gradients"),
    Config("gaussian", "float32", 1, True, "batch", 8, "paths"),
]
BANDS = (0, 1, 2, 3, 5, 8, 0.0, 0.05, 0.15, 0.29, 0.5, 60)


def test_table_covers_every_pair_of_choices():
    possible = [
        config
        for config in itertools.starmap(Config, itertools.product(*CHOICES))
        if (config.role, config.output) != ("bank", "paths")
    ]

    def pairs(configs):
        return {pair for c in configs for pair in itertools.combinations(enumerate(c), 2)}

    assert pairs(TABLE) == pairs(possible)


# --- The references themselves


@pytest.mark.parametrize("k", range(1, 6))
@pytest.mark.parametrize("m", range(1, 6))
@pytest.mark.parametrize("band", [None, 0, 1, 2, 0.5])
def test_reference_program_equals_enumeration(k, m, band):
    local = np.random.default_rng(10 * k + m).integers(-2, 3, size=(k, m)).astype(float)
    best, paths = naive.best_by_enumeration(local, band)
    assert naive.has_path(k, m, band) == bool(paths)
    if paths:
        score, path, _ = naive.best(local, band)
        assert score == best
        assert tuple(path) in paths
        assert all(naive.is_path(path, k, m) for path in paths)


def test_number_of_paths_is_the_delannoy_number():
    assert [len(naive.all_paths(n, n)) for n in range(1, 6)] == [1, 3, 13, 63, 321]


# --- Problems


def numbers(rng, cost, shape, dtype):
    exact = rng.integers(-4, 5, size=shape)
    return (rng.normal(size=shape) if cost == "gaussian" else exact).astype(dtype)


@st.composite
def problems(draw, config):
    """Series of any lengths and matrices, so many that lanes and blocks are filled or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    many = draw(st.integers(1 if config.role == "batch" else 2, 2 * config.lanes + 3))
    few = draw(st.integers(1, min(3, many if config.role == "batch" else many - 1)))
    n_series, n_matrices = (many, few) if config.role == "batch" else (few, many)
    if config.output == "paths":
        n_matrices = 1
    m = draw(st.integers(1, 7))
    longest = draw(st.sampled_from([1, 2, 4, 5, 9, 18, 23]))
    ragged = draw(st.booleans())
    lengths = rng.integers(1, longest + 1, size=n_series) if ragged else [longest] * n_series
    d = 1 if config.channels == 1 else draw(st.integers(2, 3))
    band = None
    if config.banded:
        wide = [b for b in BANDS if all(naive.has_path(k, m, b) for k in set(lengths))]
        band = draw(st.sampled_from([*wide[:2], *wide]))  # narrow ones are the harder
    x = numbers(rng, config.cost, (n_series, longest, d), config.dtype)
    for series, k in zip(x, lengths, strict=True):
        series[k:] = 0
    n = longest + draw(st.integers(0, 2))
    return SimpleNamespace(
        cost=config.cost,
        x=x,
        lengths=np.array(lengths, np.int64),
        w=numbers(rng, config.cost, (n_matrices, n, m, d), config.dtype),
        band=band,
        upstream=rng.integers(-2, 3, size=(n_series, n_matrices)).astype(config.dtype),
    )


def kernel(problem, *, gradients=False, paths=False, **options):
    if gradients:
        options |= {"want_series": True, "want_matrix": True, "upstream": problem.upstream}
    cost, band = resolve(problem.cost)[0], band_of(problem.band, 10**6)
    function = evaluate_paths if paths else evaluate
    return function(cost, problem.x, problem.lengths, problem.w, band=band, **options)


def assert_near(got, ref):
    """Equal, or for a cost with rounding errors, nearly."""
    tolerance = 1e-12 if got.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(got, ref, rtol=tolerance, atol=20 * tolerance)


# --- Against the references


# Compiling all of the table takes a minute: every third line has all choices.
OFTEN = TABLE[2::3]


def test_every_choice_is_tested_often():
    for possible, chosen in zip(CHOICES, zip(*OFTEN, strict=True), strict=True):
        assert set(chosen) == set(possible)


@pytest.mark.parametrize(
    "config",
    [pytest.param(c, marks=[] if c in OFTEN else pytest.mark.slow) for c in TABLE],
    ids=lambda config: "-".join(map(str, config)),
)
@settings(max_examples=12)
@given(data=st.data())
def test_kernels_equal_the_reference(config, data):
    problem = data.draw(problems(config))
    score, slopes = naive.SCORES[config.cost], naive.SLOPES[config.cost]
    assert_same = assert_near if config.cost == "gaussian" else np.testing.assert_array_equal
    ref = np.zeros(problem.upstream.shape)
    to_x, to_w = np.zeros(problem.x.shape), np.zeros(problem.w.shape)
    locals_, paths = {}, {}
    for (p, k), (q, w) in itertools.product(enumerate(problem.lengths), enumerate(problem.w)):
        x = problem.x[p, :k]
        locals_[p] = naive.local_scores(x, w, score)
        ref[p, q], paths[p], gap = naive.best(locals_[p], problem.band)
        if config.cost == "gaussian" and gap < 1e-3:
            problem.upstream[p, q] = 0  # rounding errors may decide between the paths
        along = naive.gradient_along(paths[p], x, w, slopes)
        to_x[p, :k] += problem.upstream[p, q] * along[0]
        to_w[q] += problem.upstream[p, q] * along[1]

    if config.output == "paths":
        got = kernel(problem, lanes=config.lanes, n_jobs=1, paths=True)
        for p, path in enumerate(got.paths):
            if config.cost == "gaussian":
                assert naive.is_path(path, problem.lengths[p], problem.w.shape[2])
                assert_near(got.values[p, 0], naive.score_along(locals_[p], path))
            else:
                assert path.tolist() == [list(cell) for cell in paths[p]]
    else:
        gradients = config.output == "gradients"
        got = kernel(problem, lanes=config.lanes, n_jobs=1, gradients=gradients)
        if gradients:
            assert_same(got.series_gradient, to_x)
            assert_same(got.matrix_gradient, to_w)
    assert got.values.dtype == problem.x.dtype
    assert_same(got.values, ref)


@pytest.mark.parametrize("cost", naive.SCORES)
def test_scores_equal_enumeration_on_small_grids(cost, rng):
    x = rng.integers(-3, 4, size=(40, 5, 1)).astype(float)
    lengths = np.arange(40) % 5 + 1
    for m in range(1, 6):
        w = rng.integers(-3, 4, size=(1, 5, m, 1)).astype(float)
        got = evaluate(resolve(cost)[0], x, lengths, w, n_jobs=1).values[:, 0]
        for p, k in enumerate(lengths):
            local = naive.local_scores(x[p, :k], w[0], naive.SCORES[cost])
            ref, _ = naive.best_by_enumeration(local)
            assert got[p] == pytest.approx(ref, abs=1e-12)


def test_series_in_the_place_of_matrices(rng):
    x, y = rng.integers(-4, 5, size=(2, 40, 9, 1)).astype(float)
    lengths, columns = rng.integers(1, 10, size=(2, 40))
    series = (resolve("squared")[0], x, lengths, y[:5], columns[:5])
    got = evaluate(*series, n_jobs=1, want_series=True, want_matrix=True)
    visits = evaluate(*series, n_jobs=1, want_visits=True).visits
    to_x, to_y, seen = np.zeros(x.shape), np.zeros((5, 9, 1)), np.zeros((5, 9))
    for (p, k), (q, m) in itertools.product(enumerate(lengths), enumerate(columns[:5])):
        w = naive.stacked(y[q, :m], k)
        ref, path, _ = naive.best(naive.local_scores(x[p, :k], w, naive.SCORES["squared"]))
        along = naive.gradient_along(path, x[p, :k], w, naive.SLOPES["squared"])
        assert got.values[p, q] == ref
        to_x[p, :k] += along[0]
        to_y[q, :m] += along[1].sum(axis=0)  # the rows of the matrix are one and the same
        seen[q] += np.bincount([j for _, j in path], minlength=9)
    np.testing.assert_array_equal(got.series_gradient, to_x)
    np.testing.assert_array_equal(got.matrix_gradient, to_y)
    np.testing.assert_array_equal(visits, seen)


# --- The same bits


def random_problem(rng, dtype, n_series, n_matrices, d, band=None, cost="squared"):
    return SimpleNamespace(
        cost=cost,
        x=rng.normal(size=(n_series, 23, d)).astype(dtype),
        lengths=rng.integers(12, 24, size=n_series),
        w=rng.normal(size=(n_matrices, 23, 7, d)).astype(dtype),
        band=band,
        upstream=rng.normal(size=(n_series, n_matrices)).astype(dtype),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "lanes"), [("batch", 8), ("batch", 16), ("batch", 64), ("bank", 8), ("bank", 64)]
)
def test_lane_count_changes_no_bit(role, lanes, rng):
    batch, bank = (np.float32, 70, 3, 1), (np.float64, 3, 70, 3, 15, "product")
    problem = random_problem(rng, *(batch if role == "batch" else bank))
    ref, got = (kernel(problem, lanes=n, n_jobs=1, gradients=True) for n in (32, lanes))
    np.testing.assert_array_equal(got.values, ref.values)
    # The gradient of what the lanes share is a sum over them: grouped otherwise, rounded otherwise.
    for side, laned in [("series_gradient", "batch"), ("matrix_gradient", "bank")]:
        tolerance = 0 if role == laned else 1e-4
        np.testing.assert_allclose(getattr(got, side), getattr(ref, side), tolerance, tolerance)


@pytest.mark.parametrize("lanes", [16, pytest.param(64, marks=pytest.mark.slow)])
def test_recording_the_path_changes_no_bit_of_the_scores(lanes, rng):
    problem = random_problem(rng, np.float32, 70, 3, 1)
    traced, plain = (kernel(problem, lanes=lanes, n_jobs=1, gradients=g) for g in (True, False))
    np.testing.assert_array_equal(traced.values, plain.values)


def test_a_series_scores_the_same_in_any_company(rng):
    problem = random_problem(rng, np.float32, 70, 3, 1)
    together = kernel(problem, lanes=16, n_jobs=1).values
    order = rng.permutation(70)[:37]
    problem.x, problem.lengths = problem.x[order], problem.lengths[order]
    np.testing.assert_array_equal(kernel(problem, lanes=16, n_jobs=1).values, together[order])


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(
    ("n_series", "n_matrices", "d", "band"), [(300, 3, 1, None), (3, 300, 3, 15)]
)
def test_threads_change_no_bit_of_gradients(n_series, n_matrices, d, band, rng):
    problem = random_problem(rng, np.float64, n_series, n_matrices, d, band, "product")
    one, two = (kernel(problem, n_jobs=n, gradients=True) for n in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.series_gradient, two.series_gradient)
    np.testing.assert_array_equal(one.matrix_gradient, two.matrix_gradient)


@pytest.mark.usefixtures("two_threads")
def test_threads_change_no_bit_of_distances(rng):
    X = rng.normal(size=(90, 20))
    np.testing.assert_array_equal(pairwise_dtw(X, n_jobs=1), pairwise_dtw(X, n_jobs=2))


# --- Threads


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(1, 1), (2, 2), (np.int64(3), 3), (9, 4), (-1, 4), (-2, 3), (-9, 1)]
)
def test_n_jobs(n_jobs, threads, monkeypatch):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 4)
    assert thread_count(n_jobs) == threads


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True])
def test_bad_n_jobs(n_jobs):
    with pytest.raises(ValueError, match=rf"n_jobs must be .* got {n_jobs!r}"):
        pairwise_dtw(np.zeros((2, 3)), n_jobs=n_jobs)


@pytest.mark.usefixtures("two_threads")
def test_n_jobs_none_is_one_or_what_joblib_says():
    assert thread_count(None) == 1
    with joblib.parallel_config(n_jobs=2):
        assert thread_count(None) == 2
        assert thread_count(1) == 1
    with joblib.parallel_config(backend="threading", n_jobs=-1):
        assert thread_count(None) == thread_count(-1)
    assert thread_count(None) == 1


@pytest.mark.usefixtures("two_threads")
def test_no_call_changes_the_setting_of_numba(rng):
    numba.set_num_threads(1)
    pairwise_dtw(rng.normal(size=(90, 20)), n_jobs=2)
    assert numba.get_num_threads() == 1


def test_kernels_release_the_gil(rng):
    X = rng.normal(size=(200, 400)).astype(np.float32)
    pairwise_dtw(X[:2], n_jobs=1)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            time.sleep(1e-3)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # nobody takes the lock by force
    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = len(ticks)
        pairwise_dtw(X, n_jobs=1)
        after = len(ticks)
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert after > before + 5
