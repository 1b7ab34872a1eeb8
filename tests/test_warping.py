"""Dynamic time warping: distances, paths, all pairs."""

import itertools
import tracemalloc

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warplearn import (
    Alphabet,
    SeriesCollection,
    band_mask,
    dtw,
    pairwise_dtw,
    pairwise_dtw_blocks,
    warping_path,
)
from warplearn._kernels.drivers.evaluate import run_serial
from warplearn.elastic import warping

DISTANCES = [cost for cost in naive.SCORES if cost != "product"]
digits = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=5)


def ragged(rng, count=7, low=3, high=12, channels=None):
    lengths = rng.integers(low, high, size=count)
    return [rng.normal(size=n if channels is None else (channels, n)) for n in lengths]


# --- Distances


@settings(max_examples=60)
@given(x=digits, y=digits)
@pytest.mark.parametrize("cost", DISTANCES)
def test_dtw_is_the_best_of_all_paths(cost, x, y):
    x, y = np.array(x)[:, None], np.array(y)[:, None]
    local = naive.local_scores(x, naive.stacked(y, len(x)), naive.SCORES[cost])
    ref, _ = naive.best_by_enumeration(local)
    assert dtw(x.T, y.T, cost=cost) == pytest.approx(naive.value_of(cost, ref), abs=1e-6)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 40),
    m=st.integers(1, 40),
    how=st.sampled_from([(1, None), (3, None), (1, 0), (1, 1), (1, 5), (1, 0.1), (1, 0.5)]),
)
def test_dtw_is_the_textbook_program(seed, k, m, how):
    channels, band = how
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(channels, k)), rng.normal(size=(channels, m))
    if naive.has_path(k, m, band):
        assert dtw(x, y, band) == pytest.approx(naive.dtw(x, y, band))
    else:
        with pytest.raises(ValueError, match="leaves no warping path"):
            dtw(x, y, band)


@pytest.mark.parametrize("radius", [None, 0, 1, 4])
def test_dtw_equals_other_libraries(radius, rng):
    tslearn = pytest.importorskip("tslearn.metrics")
    dtai = pytest.importorskip("dtaidistance.dtw")
    x, y = rng.normal(size=(2, 30))
    constraint = {}
    if radius is not None:
        constraint = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": radius}
    got = dtw(x, y, radius)
    assert got == pytest.approx(tslearn.dtw(x, y, **constraint))
    window = None if radius is None else radius + 1
    assert got == pytest.approx(dtai.distance(x, y, window=window))


def test_dtw_of_channels_equals_other_libraries(rng):
    tslearn = pytest.importorskip("tslearn.metrics")
    dtai = pytest.importorskip("dtaidistance.dtw_ndim")
    x, y = rng.normal(size=(3, 20)), rng.normal(size=(3, 17))
    assert dtw(x, y) == pytest.approx(tslearn.dtw(x.T, y.T))
    assert dtw(x, y) == pytest.approx(dtai.distance(x.T, y.T))


@pytest.mark.parametrize("cost", DISTANCES)
def test_symmetry_identity_and_reversal(cost, rng):
    x, y = rng.integers(-3, 4, size=30).astype(float), rng.integers(-3, 4, size=23).astype(float)
    assert dtw(x, y, cost=cost) == dtw(y, x, cost=cost) > 0
    assert dtw(x, x, cost=cost) == 0
    assert dtw(x[::-1], y[::-1], cost=cost) == pytest.approx(dtw(x, y, cost=cost))


def test_a_distance_of_zero_has_no_sign():
    for cost in DISTANCES:
        assert str(dtw([1.0, 2.0], [1.0, 2.0], cost=cost)) == "0.0"
        assert not np.signbit(pairwise_dtw([[1.0, 2.0]] * 2, cost=cost)).any()


@pytest.mark.parametrize("cost", ["squared", "absolute"])
@pytest.mark.parametrize("factor", [-2.0, 0.3, 1e3])
def test_scaling(cost, factor, rng):
    x, y = rng.normal(size=30), rng.normal(size=23)
    scaled = dtw(factor * x, factor * y, cost=cost)
    assert scaled == pytest.approx(abs(factor) * dtw(x, y, cost=cost))


def test_repeated_elements_cost_nothing(rng):
    x = rng.normal(size=10)
    assert dtw(x, np.repeat(x, rng.integers(1, 5, size=10))) == 0


def test_one_channel_is_a_plain_series(rng):
    x, y = rng.normal(size=10), rng.normal(size=8)
    assert dtw(x[None], y[None]) == dtw(x, y) == dtw(x.tolist(), y)


def test_equal_channels_add_up(rng):
    x, y = rng.normal(size=10), rng.normal(size=8)
    assert dtw([x, x, x], [y, y, y]) == pytest.approx(np.sqrt(3) * dtw(x, y))


def test_the_largest_values_do_not_overflow(rng):
    x = rng.choice([-1e15, 1e15], size=30).astype(np.float32)
    y = -x[:20]
    ref = naive.dtw(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(dtw(x, y), ref, rtol=1e-5)
    found = warping_path(x, y)
    np.testing.assert_allclose(found.distance, ref, rtol=1e-5)
    assert naive.is_path(found.path, 30, 20)
    with pytest.raises(ValueError, match="x must be between"):
        dtw(2 * x, y)


# --- Paths


@pytest.mark.parametrize(
    ("channels", "band", "dtype"),
    [(1, None, np.float64), (1, None, np.float32), (3, 8, np.float64), (3, 0.4, np.float64)],
)
def test_the_path_is_valid_and_costs_what_it_says(channels, band, dtype, rng):
    for k, m in [(1, 1), (1, 6), (6, 1), (20, 20), (33, 18), (18, 33)]:
        x, y = rng.normal(size=(channels, k)), rng.normal(size=(channels, m))
        path, distance = warping_path(x.astype(dtype), y.astype(dtype), band)
        assert naive.is_path(path, k, m)
        assert band_mask(k, m, band)[tuple(path.T)].all()
        along = np.sqrt(sum(((x[:, i] - y[:, j]) ** 2).sum() for i, j in path))
        tolerance = 1e-12 if dtype == np.float64 else 1e-5
        assert distance == pytest.approx(along, rel=tolerance)
        assert distance == pytest.approx(naive.dtw(x, y, band), rel=tolerance)
        assert distance == dtw(x.astype(dtype), y.astype(dtype), band)


def test_the_path_equals_that_of_tslearn(rng):
    tslearn = pytest.importorskip("tslearn.metrics")
    for k, m in [(20, 20), (33, 18), (18, 33)]:
        x, y = rng.normal(size=k), rng.normal(size=m)
        ref, _ = tslearn.dtw_path(x, y)
        assert warping_path(x, y).path.tolist() == [list(cell) for cell in ref]


@settings(max_examples=60)
@given(x=digits, y=digits)
def test_ties_go_diagonally_then_up(x, y):
    local = naive.local_scores(
        np.array(x)[:, None], naive.stacked(np.array(y)[:, None], len(x)), naive.SCORES["squared"]
    )
    _, ref, _ = naive.best(local)
    assert [tuple(cell) for cell in warping_path(x, y).path] == ref


@pytest.mark.parametrize(("k", "m"), [(4, 4), (7, 3), (3, 7), (40, 20)])
def test_where_all_paths_tie_the_diagonal_is_taken_from_the_end(k, m):
    path = warping_path(np.ones(k), np.ones(m)).path
    steps = max(k, m)
    ref = [[max(k - steps + t, 0), max(m - steps + t, 0)] for t in range(steps)]
    assert path.tolist() == ref


# --- All pairs


@pytest.mark.parametrize("cost", DISTANCES)
def test_pairs_equal_one_by_one(cost, rng):
    X, Y = ragged(rng, 20), ragged(rng, 3)
    ref = np.array([[dtw(x, y, cost=cost) for y in X + Y] for x in X + Y])
    np.testing.assert_array_equal(pairwise_dtw(X + Y, cost=cost), ref)
    np.testing.assert_array_equal(pairwise_dtw(X, Y, cost=cost), ref[:20, 20:])
    np.testing.assert_array_equal(pairwise_dtw(Y, X, cost=cost), ref[20:, :20])


@pytest.mark.parametrize("band", [None, 9])
def test_one_half_of_the_pairs_is_computed_for_both(band, rng):
    X = ragged(rng, 150)  # more than there are lanes
    np.testing.assert_array_equal(pairwise_dtw(X, band=band), pairwise_dtw(X, X, band))


@pytest.mark.parametrize(("channels", "band"), [(None, 9), (3, None)])
def test_pairs_equal_the_reference(channels, band, rng):
    X, Y = ragged(rng, 40, channels=channels), ragged(rng, 3, channels=channels)
    np.testing.assert_allclose(pairwise_dtw(X, Y, band), naive.pairwise(X, Y, band))
    np.testing.assert_allclose(pairwise_dtw(X[:9], band=band), naive.pairwise(X[:9], X[:9], band))


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [("f4", "f4", "f4"), ("f4", "f8", "f8"), ("f8", "f4", "f8"), ("f2", "f4", "f4")],
)
def test_float32_stays_float32(first, second, result, rng):
    X, Y = rng.normal(size=(4, 9)), rng.normal(size=(3, 8))
    got = pairwise_dtw(X.astype(first), Y.astype(second))
    assert got.dtype == np.dtype(result)
    np.testing.assert_allclose(got, naive.pairwise(X, Y), rtol=1e-2 if first == "f2" else 1e-5)
    assert pairwise_dtw(X.astype(first)).dtype == (np.float64 if first == "f8" else np.float32)


@pytest.mark.parametrize("rows", [1, 4, 7, 100, None])
@pytest.mark.parametrize("own", [True, False])
def test_blocks_are_rows_of_the_matrix(rows, own, rng):
    X, Y = ragged(rng, 7), None if own else ragged(rng, 5)
    parts = list(pairwise_dtw_blocks(X, Y, rows=rows))
    np.testing.assert_array_equal(np.concatenate([b for _, b in parts]), pairwise_dtw(X, Y))
    covered = [i for part, block in parts for i in np.arange(7)[part]]
    assert covered == list(range(7))
    assert all(len(block) <= (rows or 7) for _, block in parts)


def test_blocks_are_computed_when_asked_for(rng, monkeypatch):
    calls = []

    def counted(*arguments, **options):
        calls.append(1)
        return evaluate(*arguments, **options)

    evaluate = warping.evaluate
    monkeypatch.setattr(warping, "evaluate", counted)
    blocks = pairwise_dtw_blocks(ragged(rng, 6), rows=2)
    assert not calls
    next(blocks)
    assert len(calls) == 1
    assert len(list(blocks)) == 2
    assert len(calls) == 3


def test_blocks_need_the_memory_of_one(rng):
    X = rng.normal(size=(500, 6))
    for _, block in pairwise_dtw_blocks(X[:5], X, rows=5):
        size = block.nbytes
    tracemalloc.start()
    try:
        total = sum(block.sum() for _, block in pairwise_dtw_blocks(X, rows=5))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == pytest.approx(pairwise_dtw(X).sum())
    assert peak < 10 * size < 500 * 500 * 8 / 5


def test_default_blocks_fit_in_64_mib():
    X = np.zeros((3000, 1), np.float32)
    part, block = next(pairwise_dtw_blocks(X, np.zeros((50_000, 1), np.float32)))
    assert 2**25 < block.nbytes <= 2**26
    assert part == slice(0, len(block))


def test_blocks_refuse_before_the_first_is_asked_for():
    with pytest.raises(ValueError, match="rows must be a positive integer, got 0"):
        pairwise_dtw_blocks(np.zeros((3, 4)), rows=0)
    with pytest.raises(ValueError, match="leaves no warping path"):
        pairwise_dtw_blocks([np.zeros(20), np.zeros(3)], band=1)


def test_no_form_of_input_compiles_anew(rng, tmp_path):
    X = rng.normal(size=(12, 10))
    ref = pairwise_dtw(X)
    known = list(run_serial.signatures)
    read_only = X.copy()
    read_only.flags.writeable = False
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    collection = SeriesCollection.of(np.repeat(X, 2, axis=0))
    forms = [read_only, mapped, np.asfortranarray(X), X[:, None], list(X), collection[::2]]
    frozen = np.full(12, 10)
    frozen.flags.writeable = False
    forms.append(SeriesCollection(X[:, :, None], frozen))
    for form in forms:
        np.testing.assert_array_equal(pairwise_dtw(form), ref)
        np.testing.assert_array_equal(pairwise_dtw(form, form), ref)
    assert run_serial.signatures == known
    assert not read_only.flags.writeable


# --- Symbols


WORDS = ["GATTACA", "CAT", "TAGACAT", "A", "CCGT"]


def test_mismatches_of_symbols():
    codes = Alphabet("ACGT", encoding="codes").encode(WORDS)
    got = pairwise_dtw(codes, cost="mismatch")
    small = [(p, q) for p, q in itertools.product(range(5), repeat=2) if p in (1, 3, 4)]
    for p, q in small:
        local = -np.array([[float(a != b) for b in WORDS[q]] for a in WORDS[p]])
        ref, _ = naive.best_by_enumeration(local)
        assert got[p, q] == -ref == dtw(codes[p : p + 1], codes[q : q + 1], cost="mismatch")


def test_one_hot_vectors_count_every_mismatch_twice():
    codes = Alphabet("ACGT", encoding="codes").encode(WORDS)
    onehot = Alphabet("ACGT").encode(WORDS)
    np.testing.assert_allclose(pairwise_dtw(onehot) ** 2, 2 * pairwise_dtw(codes, cost="mismatch"))


def test_a_kernel_over_the_alphabet(rng):
    factor = rng.normal(size=(4, 3))
    K = factor @ factor.T
    got = pairwise_dtw(Alphabet("ACGT", kernel=K).encode(WORDS))
    for p, q in itertools.product(range(5), repeat=2):
        a, b = (["ACGT".index(symbol) for symbol in WORDS[word]] for word in (p, q))
        ref, _, _ = naive.best(-np.array([[K[s, s] - 2 * K[s, t] + K[t, t] for t in b] for s in a]))
        assert got[p, q] ** 2 == pytest.approx(-ref, abs=1e-9)


# --- Errors


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[1.0], [2.0]], [1.0]), ValueError, "x and y must have the same number of channels"),
        (([1.0, np.nan], [1.0]), ValueError, "x must be finite, but contains NaN at case 0"),
        (([1.0], [np.inf]), ValueError, "y must be finite, but contains infinity"),
        (([], [1.0]), ValueError, "x: Found array with 0"),
        (([1j], [1.0]), ValueError, "x: Complex data not supported"),
        ((np.zeros((2, 3, 4)), [1.0]), ValueError, "x must be one series"),
        (([1.0], [1.0], None, "product"), ValueError, "cost must be a distance.*'product'"),
        (([1.0], [1.0], None, "manhattan"), ValueError, "cost must be one of .*got 'manhattan'"),
        (([1.0], [1.0], None, 3), TypeError, "cost must be one of .*got 3"),
    ],
)
def test_what_is_refused(arguments, error, message):
    for function in (dtw, warping_path):
        with pytest.raises(error, match=message):
            function(*arguments)


def test_pairs_refuse_other_numbers_of_channels():
    for function in (pairwise_dtw, lambda X, Y: next(pairwise_dtw_blocks(X, Y))):
        with pytest.raises(ValueError, match=r"X and Y must have the same .*channels, got 2 and 3"):
            function(np.zeros((4, 2, 5)), np.zeros((4, 3, 5)))
