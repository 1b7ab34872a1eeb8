"""How kernels are compiled: what their parts get, and from whom; what imports leave behind."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from warplearn._kernels.simd.arrays import empty
from warplearn._kernels.simd.compiling import entry, inlined, inner


class _Pair(NamedTuple):
    table: Any
    factor: float


class _Nested(NamedTuple):
    pair: Any
    nothing: tuple[()]
    wanted: bool


@inlined
def _element(nested, place):
    return nested.pair.table[place] * nested.pair.factor


@inner
def _total(nested, places):
    total = 0.0
    if nested.wanted:
        for i in range(len(places)):
            total += _element(nested, (places[i], i))
    return total


@inner
def _halves(places):
    half = empty(len(places), places)
    for i in range(len(places)):
        half[i] = places[i] // 2
    return half


def _call(table, factor, wanted, places):
    nested = _Nested(_Pair(table, factor), (), wanted)
    return _total(nested, places), _total(nested, _halves(places))


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("compiled", [entry, njit], ids=["entry", "njit"])
def test_a_part_gets_arrays_and_tuples_from_whoever_calls_it(compiled, wanted, rng, request):
    _nrt_python.memsys_enable_stats()
    request.addfinalizer(_nrt_python.memsys_disable_stats)
    before = rtsys.get_allocation_stats()
    table, places = rng.normal(size=(4, 3))[:, ::-1], np.array([3, 0, 2])
    ref = [2.5 * sum(table[p, range(3)]) * wanted for p in (places, places // 2)]
    np.testing.assert_allclose(compiled(_call)(table, 2.5, wanted, places), ref)
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


_IMPORT = """
import gc, json
{before}
from warplearn import dtw
print(json.dumps([gc.isenabled(), gc.get_freeze_count() > 0]))
"""


@pytest.mark.parametrize(
    ("before", "enabled", "frozen"),
    [("", True, False), ("gc.disable()", False, False), ("gc.freeze()", True, True)],
)
def test_an_import_leaves_the_garbage_collector_as_it_was(before, enabled, frozen, run_python):
    assert run_python(_IMPORT.format(before=before)) == [enabled, frozen]
