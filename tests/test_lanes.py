"""The vector type: every operation of every lane is NumPy's."""

import pickle
import platform
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from warplearn._kernels.drivers import blocks
from warplearn._kernels.recursion.steps import (
    bit_of,
    in_lanes,
    places_of,
    record_step,
    set_above,
    set_diagonal,
    step_at,
    step_bytes,
)
from warplearn._kernels.simd import target
from warplearn._kernels.simd.arrays import CACHE_LINE, empty, zeros
from warplearn._kernels.simd.constants import NO, Static, constants, value_of
from warplearn._kernels.simd.numbers import greater, lesser
from warplearn._kernels.simd.reductions import (
    largest_lane,
    store_largest,
    store_totals,
    total,
)
from warplearn._kernels.simd.target import lanes_for, register_lanes
from warplearn._kernels.simd.vector import (
    BANK,
    BATCH,
    absolute,
    add_to_matrix,
    add_to_series,
    counted,
    exponential,
    like,
    load,
    matrix_at,
    maximum,
    minimum,
    root,
    series_at,
    splat,
    store,
    where,
)

SIZES = [(8, np.float32), (16, np.float32), (8, np.float64), (64, np.float64)]
sizes = pytest.mark.parametrize(("lanes", "dtype"), SIZES)


@njit
def _operate(lanes, a, b, out):
    n = value_of(lanes)
    x, y = load(lanes, a, 0), load(lanes, b, 0)
    one, zero = like(x, 1.0), like(x, 0.0)
    store(out, 0 * n, x + y)
    store(out, 1 * n, x - y)
    store(out, 2 * n, x * y)
    store(out, 3 * n, x / y)
    store(out, 4 * n, -x)
    store(out, 5 * n, 2.5 - x)
    store(out, 6 * n, x * 3)
    store(out, 7 * n, maximum(x, y))
    store(out, 8 * n, absolute(x))
    store(out, 9 * n, root(absolute(x)))
    store(out, 10 * n, exponential(x))
    store(out, 11 * n, where(x > y, one, zero))
    store(out, 12 * n, where(x >= y, one, zero))
    store(out, 13 * n, where(x < y, one, zero))
    store(out, 14 * n, where(x <= y, one, zero))
    store(out, 15 * n, where(x == y, one, zero))
    store(out, 16 * n, splat(lanes, a[3]))
    store(out, 17 * n, splat(lanes, largest_lane(y)))


REFERENCES = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negate": lambda a, b: -a,
    "scalar first": lambda a, b: a.dtype.type(2.5) - a,
    "scalar second": lambda a, b: a * a.dtype.type(3),
    "maximum": np.maximum,
    "absolute": lambda a, b: np.abs(a),
    "root": lambda a, b: np.sqrt(np.abs(a)),
    "exponential": lambda a, b: np.exp(a),
    "greater": lambda a, b: a > b,
    "greater or equal": lambda a, b: a >= b,
    "less": lambda a, b: a < b,
    "less or equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b,
    "splat": lambda a, b: np.full_like(a, a[3]),
    "largest lane": lambda a, b: np.full_like(b, b.max()),
}


def operands(lanes, dtype):
    rng = np.random.default_rng(lanes)
    a, b = rng.normal(size=(2, lanes)).astype(dtype)
    b[::4] = a[::4]  # some are equal
    a[1], a[2], b[5] = np.inf, -np.inf, -np.inf
    return a, b


@pytest.fixture(scope="module")
def results():
    found = {}
    for lanes, dtype in SIZES:
        out = np.full(len(REFERENCES) * lanes, 99, dtype)
        _operate(Static(lanes), *operands(lanes, dtype), out)
        found[lanes, dtype] = dict(zip(REFERENCES, out.reshape(-1, lanes), strict=True))
    return found


@sizes
@pytest.mark.parametrize("name", REFERENCES)
def test_operations(name, lanes, dtype, results):
    ref = REFERENCES[name](*operands(lanes, dtype))
    got = results[lanes, dtype][name]
    if name == "exponential":  # libraries differ in the last bits
        np.testing.assert_allclose(got, ref, rtol=4 * np.finfo(dtype).eps)
    else:
        np.testing.assert_array_equal(got, ref)


@njit
def _move(lanes, source, target):
    store(target, 3, load(lanes, source, 5))
    return total(load(lanes, source, 5))


@sizes
def test_load_and_store_at_any_offset(lanes, dtype):
    source, target = np.arange(lanes + 7, dtype=dtype), np.full(lanes + 5, -1, dtype)
    added = _move(Static(lanes), source, target)
    np.testing.assert_array_equal(target[3:-2], source[5:-2])
    assert target[:3].tolist() == [-1] * 3
    assert target[-2:].tolist() == [-1] * 2
    assert added == source[5:-2].sum()


@njit
def _steps(lanes, up, diagonal, left, steps, above, diagonally, forced):
    """Record and read a step, as numbers 0 and 1; then set steps for all lanes, or for none."""
    a, b, c = load(lanes, up, 0), load(lanes, diagonal, 0), load(lanes, left, 0)
    one, places = like(a, 1.0), places_of(a)
    record_step(steps, 1, a, b, c)
    first, second = step_at(a, steps, 1)
    store(above, 0, in_lanes(places, first, one))
    store(diagonally, 0, in_lanes(places, second, one))
    singles = 0
    for lane in range(value_of(lanes)):
        own = bit_of(a, lane)
        if (first & own != 0) == (max(up[lane], diagonal[lane]) >= left[lane]):
            singles += 1
    for i, value in enumerate((True, False)):
        set_above(a, steps, 1, value)
        set_diagonal(a, steps, 1, not value)
        first, second = step_at(a, steps, 1)
        store(forced, 2 * i * value_of(lanes), in_lanes(places, first, one))
        store(forced, (2 * i + 1) * value_of(lanes), in_lanes(places, second, one))
    return step_bytes(a), singles


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [8, 16, 32, 64])
def test_steps_are_read_as_they_were_recorded(lanes, dtype, rng):
    up, diagonal, left = rng.integers(0, 3, size=(3, lanes)).astype(dtype)  # many ties
    up[-1], diagonal[-1], left[-1] = 1, 2, 0  # the highest bit must not be taken for a sign
    steps = np.zeros(3 * 2 * 64, np.uint8)
    above, diagonally, forced = (
        np.empty(lanes, dtype),
        np.empty(lanes, dtype),
        np.empty((4, lanes), dtype),
    )
    size, singles = _steps(
        Static(lanes), up, diagonal, left, steps, above, diagonally, forced.reshape(-1)
    )
    np.testing.assert_array_equal(above, np.maximum(up, diagonal) >= left)
    np.testing.assert_array_equal(diagonally, diagonal >= up)
    assert singles == lanes
    assert forced[:, 0].tolist() == [1, 0, 0, 1]
    assert (forced == forced[:, :1]).all()
    assert not steps[:size].any()  # nothing is written before or behind
    assert not steps[2 * size :].any()


@njit
def _roles(lanes, role, x, w, to_x, to_w):
    value = series_at(role, lanes, x, 1) * matrix_at(role, lanes, w, 2)
    add_to_series(role, to_x, 1, value)
    add_to_matrix(role, to_w, 2, value)


@pytest.mark.parametrize("role", [BATCH, BANK], ids=["batch", "bank"])
def test_the_role_says_which_operand_is_laned(role, rng):
    lanes = 8
    laned, shared = rng.integers(-9, 9, size=(3, lanes)).astype(float), np.array([2.0, 3.0, 5.0])
    to_laned, to_shared = np.ones(laned.shape), np.ones(3)
    if role is BATCH:
        at_laned, at_shared = 1, 2
        _roles(Static(lanes), role, laned.ravel(), shared, to_laned.ravel(), to_shared)
    else:
        at_laned, at_shared = 2, 1
        _roles(Static(lanes), role, shared, laned.ravel(), to_shared, to_laned.ravel())
    product = laned[at_laned] * shared[at_shared]
    ref_laned, ref_shared = np.ones(laned.shape), np.ones(3)
    ref_laned[at_laned] += product
    ref_shared[at_shared] += product.sum()
    np.testing.assert_array_equal(to_laned, ref_laned)
    np.testing.assert_array_equal(to_shared, ref_shared)


@njit
def _pack(lanes, source, starts, first, size, block):
    blocks.pack(lanes, source, starts, first, size, block)


@njit
def _unpack(lanes, block, first, many, size, target):
    blocks.unpack(lanes, block, first, many, size, target)


@njit
def _unpack_lane(lanes, block, lane, size, target, start):
    blocks.unpack_lane(lanes, block, lane, size, target, start)


@njit
def _empty(shape, dtype):
    return empty(shape, dtype)


@njit
def _zeros(shape, dtype):
    return zeros(shape, dtype)


@sizes
def test_items_are_packed_into_lanes_and_back(lanes, dtype, rng):
    for size, first in ((1, 0), (3, 2), (4, 1), (7, 0), (8, 5), (15, 0), (16, 3), (33, 7), (40, 0)):
        items = rng.normal(size=(lanes + 2, 40)).astype(dtype)
        order = rng.permutation(lanes + 2)[:lanes]
        block = np.full((size + 1, lanes), 99, dtype)
        _pack(Static(lanes), items.ravel(), order * 40, first, size, block.ravel())
        np.testing.assert_array_equal(block[:size], items[order, first : first + size].T)
        assert (block[size] == 99).all()  # nothing is written behind the end
        target = np.ones(size + 3, dtype)
        _unpack_lane(Static(lanes), block.ravel(), 5, size, target, 2)
        np.testing.assert_array_equal(target[2:-1], 1 + items[order[5], first : first + size])
        assert target[[0, 1, -1]].tolist() == [1, 1, 1]
        some = np.full(8 * size + 1, 99, dtype)
        _unpack(Static(lanes), block.ravel(), lanes - 8, 8, size, some)
        np.testing.assert_array_equal(some[:-1].reshape(8, size), block[:size, lanes - 8 :].T)
        assert some[-1] == 99


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [0, 1, 100, (0, 3), (3, 5), (2, 3, 4)])
def test_work_space_starts_on_a_cache_line(dtype, shape):
    for make in (_empty, _zeros):
        array = make(shape, np.empty(0, dtype))
        assert array.shape == np.empty(shape).shape
        assert array.flags.c_contiguous
        assert array.dtype == dtype
        assert array.ctypes.data % CACHE_LINE == 0


def test_work_space_can_be_zero():
    for dtype in (np.int64, np.uint8, np.bool_, np.float64):
        used = [_empty(1000, dtype) for _ in range(3)]
        for array in used:
            array[:] = 1
        del used, array  # what is allocated next probably lies there
        np.testing.assert_array_equal(_zeros(1000, dtype), np.zeros(1000, dtype))


def test_work_space_is_given_back(request):
    _nrt_python.memsys_enable_stats()
    request.addfinalizer(_nrt_python.memsys_disable_stats)
    before = rtsys.get_allocation_stats()
    arrays = [_zeros((10, 10), np.float64), _empty(7, np.int64)]
    del arrays
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free >= 2


@njit
def _lesser_and_greater(a, b):
    return lesser(a, b), greater(a, b)


@pytest.mark.parametrize(
    ("a", "b"), [(3, -4), (np.int32(-5), 2**40), (1.5, 2), (np.float32(2), np.float32(1))]
)
def test_lesser_and_greater(a, b):
    assert _lesser_and_greater(a, b) == (min(a, b), max(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lane_count_suits_the_dtype(dtype):
    assert lanes_for(dtype).value in (8, 16, 32, 64)
    assert lanes_for(np.float32).value >= lanes_for(np.float64).value
    assert register_lanes(dtype).value <= lanes_for(dtype).value


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 CPUs")
@pytest.mark.parametrize(
    ("name", "expected"), [("x86-64", (16, 16)), ("x86-64-v3", (16, 32)), ("x86-64-v4", (32, 64))]
)
def test_registers_are_those_of_the_target(name, expected, monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_NAME", name)
    monkeypatch.setattr(numba.config, "CPU_FEATURES", "")
    assert target._detect()[:2] == expected


def test_statics_are_types():
    @njit
    def double(count):
        return 2 * value_of(count)

    assert double(Static(3)) == double(3) == 6
    assert double(Static(4)) == 8
    assert len(double.signatures) == 3


def test_there_is_one_static_for_each_value():
    assert Static(3) is Static(np.int64(3))
    assert Static(False) is NO
    assert pickle.loads(pickle.dumps(Static(3))) is Static(3)


@constants
class Pair(NamedTuple):
    known: Static
    plain: Static | int


def test_named_constants_are_one_argument():
    @njit
    def total_of(pair):
        return value_of(pair.known) + value_of(pair.plain)

    assert total_of(Pair(Static(2), Static(1))) == 3
    assert total_of(Pair(Static(2), 1)) == 3
    assert total_of(Pair(Static(2), 5)) == 7
    assert len(total_of.signatures) == 2


@njit
def _reduce(vectors, lanes, a, b, counts, smaller, sums, largest):
    n = value_of(lanes)
    for i in range(value_of(vectors)):
        x, y = load(lanes, a, i * n), load(lanes, b, i * n)
        store(smaller, i * n, minimum(x, y))
        store(counts, i * n, counted(counted(splat(lanes, np.int32(0)), x > y), x > 0.0))
    factor = a.dtype.type(0.5)
    store_totals(counts, 0, vectors, lanes, factor, sums, 1, 3)
    store_largest(a, 0, vectors, lanes, factor, largest, 1, 3)


@sizes
@pytest.mark.parametrize("vectors", [1, 2, 8, 16])
def test_lanes_of_several_vectors_are_reduced(vectors, lanes, dtype, rng):
    a, b = (rng.normal(size=(vectors, lanes)).astype(dtype) for _ in range(2))
    smaller, counts = np.empty(a.size, dtype), np.empty(a.size, np.int32)
    sums, largest = (np.full(3 * vectors, np.nan, dtype) for _ in range(2))
    _reduce(Static(vectors), Static(lanes), a.ravel(), b.ravel(), counts, smaller, sums, largest)
    assert smaller.tolist() == np.minimum(a, b).ravel().tolist()
    assert sums[1::3].tolist() == (0.5 * ((a > b).sum(axis=1) + (a > 0).sum(axis=1))).tolist()
    assert largest[1::3].tolist() == (dtype(0.5) * a.max(axis=1)).tolist()
    assert np.isnan(sums[0::3]).all()  # nothing else is written
    assert np.isnan(largest[2::3]).all()
