"""What this CPU can do: the operations of the recursion on registers alone.

Eight interleaved chains of two maxima and a fused product and sum; nothing is loaded or stored, and
no operation repeats another.  The limit is the best over vectors of one, two and four registers:
no kernel with these operations can be faster.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from benchmarks.measure import best_times, describe_machine
from warplearn._kernels.simd.constants import Static, value_of
from warplearn._kernels.simd.target import TARGET
from warplearn._kernels.simd.vector import load, maximum, store

CELLS = 8


@njit(nogil=True, cache=True)
def _on_registers(lanes, numbers, rounds, out):
    size = value_of(lanes)
    x = load(lanes, numbers, 0)
    a, b = load(lanes, numbers, size), load(lanes, numbers, 2 * size)
    c, d, e, f, g, h = a + x, b + x, a - x, b - x, a * x, b * x
    for _ in range(rounds):
        a = maximum(maximum(b, c), a) + x * d
        b = maximum(maximum(c, d), b) + x * e
        c = maximum(maximum(d, e), c) + x * f
        d = maximum(maximum(e, f), d) + x * g
        e = maximum(maximum(f, g), e) + x * h
        f = maximum(maximum(g, h), f) + x * a
        g = maximum(maximum(h, a), g) + x * b
        h = maximum(maximum(a, b), h) + x * c
    store(out, 0, a + b + c + d + e + f + g + h)


def _call(dtype, lanes: Static, rounds: int):
    numbers = np.random.default_rng(0).uniform(-1e-3, 1e-3, size=3 * lanes.value).astype(dtype)
    out = np.empty(lanes.value, dtype)
    return lambda: _on_registers(lanes, numbers, rounds, out)


def limit_run(dtype, rounds: int = 50_000):
    """A call of the limit loop in its fastest layout, and how many cells it stands for."""
    one = TARGET.register_bytes // np.dtype(dtype).itemsize
    layouts = [Static(one), Static(2 * one), Static(4 * one)]
    times = best_times({str(i): _call(dtype, lanes, rounds) for i, lanes in enumerate(layouts)})
    lanes = max(layouts, key=lambda each: each.value / times[str(layouts.index(each))])
    return _call(dtype, lanes, rounds), rounds * CELLS * lanes.value


def main(arguments: list[str]) -> None:
    print(describe_machine())
    for dtype in (np.float32, np.float64):
        call, cells = limit_run(dtype)
        seconds = best_times({"limit": call})["limit"]
        print(f"{np.dtype(dtype).name}: {cells / seconds / 1e9:.1f} billion cells a second")
