"""The kernels against public libraries, against the CPU's limit, and against themselves.

One thread unless said otherwise.  Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np

from benchmarks.limit import limit_run
from benchmarks.measure import at_least, at_most, best_times, between, describe_machine
from warplearn import SeriesCollection, dtw, elastic_inner_product, pairwise_dtw, warping_path

PEERS = ("aeon", "tslearn", "dtaidistance")


def _aeon(X: np.ndarray) -> Callable[[], Any]:
    from aeon.distances import dtw_pairwise_distance

    return lambda: dtw_pairwise_distance(X)


def _tslearn(X: np.ndarray) -> Callable[[], Any]:
    from tslearn.metrics import cdist_dtw

    return lambda: cdist_dtw(X, n_jobs=1)


def _dtaidistance(X: np.ndarray) -> Callable[[], Any]:
    from dtaidistance import dtw

    X64 = X.astype(np.float64)
    return lambda: dtw.distance_matrix_fast(X64, parallel=False)


_PAIRWISE = {"aeon": _aeon, "tslearn": _tslearn, "dtaidistance": _dtaidistance}


def _of_pairs() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """For each library that is installed, the distance of two series and their path."""
    found: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {}
    if importlib.util.find_spec("aeon") is not None:
        from aeon.distances import dtw_alignment_path, dtw_distance

        found["aeon"] = dtw_distance, dtw_alignment_path
    if importlib.util.find_spec("tslearn") is not None:
        from tslearn import metrics

        found["tslearn"] = metrics.dtw, metrics.dtw_path
    if importlib.util.find_spec("dtaidistance") is not None:
        from dtaidistance import dtw as other

        found["dtaidistance"] = (
            other.distance_fast,
            partial(other.warping_path, use_c=True),
        )
    return found


def pair_against_peers() -> None:
    print("\nTwo series, calls included, against the fastest of", ", ".join(PEERS))
    rng = np.random.default_rng(0)
    peers = _of_pairs()
    for length, least in ((100, 1), (1000, 4)):
        x, y = rng.normal(size=(2, length)).cumsum(axis=1)
        calls = max(1, 200_000 // length**2)
        for place, (name, ours) in enumerate((("dtw", dtw), ("warping_path", warping_path))):

            def repeated(
                function: Callable[..., Any], x: Any = x, y: Any = y, n: int = calls
            ) -> Any:
                return lambda: [function(x, y) for _ in range(n)]

            run = {"ours": repeated(ours)}
            run |= {peer: repeated(both[place]) for peer, both in peers.items()}
            times = best_times(run, repeats=9)
            micro = {key: seconds / calls * 1e6 for key, seconds in times.items()}
            print(
                f"  {name}, length {length}:",
                ", ".join(f"{k} {v:.1f} us" for k, v in micro.items()),
            )
            if peers:
                ratio = min(micro[peer] for peer in peers) / micro["ours"]
                at_least(
                    f"  {name}, length {length}: times faster", ratio, least if not place else 0
                )


def pairwise_against_peers() -> None:
    print("\nPairwise DTW, 200 x 200, against the fastest of", ", ".join(PEERS))
    rng = np.random.default_rng(0)
    for length in (150, 500):
        X = rng.normal(size=(200, length)).cumsum(axis=1)
        ours = {
            "warplearn float32": partial(pairwise_dtw, X.astype(np.float32), n_jobs=1),
            "warplearn float64": partial(pairwise_dtw, X, n_jobs=1),
        }
        peers = {
            name: _PAIRWISE[name](X) for name in PEERS if importlib.util.find_spec(name) is not None
        }
        times = best_times(ours) | best_times(peers, repeats=2)
        again = best_times(ours)
        times |= {name: min(again[name], times[name]) for name in ours}
        cells = 200 * 201 / 2 * length**2
        for name, seconds in times.items():
            print(f"  length {length}: {name:<18s} {cells / seconds / 1e9:6.2f} billion cells/s")
        if not peers:
            print("  no peer is installed (pip install 'warplearn[bench]')")
            continue
        fastest = min(times[name] for name in peers)
        at_least(
            f"  length {length}, float32: times faster", fastest / times["warplearn float32"], 55
        )
        at_least(
            f"  length {length}, float64: times faster", fastest / times["warplearn float64"], 30
        )


def inner_product_against_limit() -> None:
    print("\nElastic inner product, 10,000 series of length 150, m = 15, against the CPU's limit")
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        X = rng.normal(size=(10_000, 150)).astype(dtype)
        W = rng.normal(size=(150, 15)).astype(dtype)
        collection = SeriesCollection.of(X)
        limit, limit_cells = limit_run(dtype)
        times = best_times(
            {
                "limit": limit,
                "collection": lambda c=collection, W=W: elastic_inner_product(c, W, n_jobs=1),
                "array": lambda X=X, W=W: elastic_inner_product(X, W, n_jobs=1),
            },
            repeats=100,
            least=0.002,
        )
        fastest = limit_cells / times["limit"]
        rates = {name: 10_000 * 150 * 15 / times[name] for name in ("collection", "array")}
        name = np.dtype(dtype).name
        ours = rates["collection"]
        print(f"  {name}: limit {fastest / 1e9:.1f}, ours {ours / 1e9:.1f} billion cells/s")
        at_least(f"  {name}: share of the limit", ours / fastest, 0.6)
        share = rates["array"] / fastest
        print(f"  {name}: the same from a raw array, with its check for NaN{share:17.2f}")


def threads() -> None:
    print("\nTwo threads against one")
    X = np.random.default_rng(0).normal(size=(400, 200)).astype(np.float32)
    times = best_times(
        {"1": lambda: pairwise_dtw(X, n_jobs=1), "2": lambda: pairwise_dtw(X, n_jobs=2)}, repeats=15
    )
    if numba.config.NUMBA_NUM_THREADS < 2:
        print("  this machine has one")
        return
    at_least("  pairwise DTW: times faster", times["1"] / times["2"], 1.8)


def ragged() -> None:
    print("\nA ragged batch (lengths uniform in [n/2, n]) against equal lengths, as many cells")
    rng = np.random.default_rng(0)
    n, m = 200, 20
    lengths = rng.integers(n // 2, n + 1, 5000)
    mixed = SeriesCollection.of([rng.normal(size=k).astype(np.float32) for k in lengths])
    equal = SeriesCollection.of(rng.normal(size=(round(lengths.sum() / n), n)).astype(np.float32))
    W = rng.normal(size=(n, m)).astype(np.float32)
    times = best_times(
        {
            "ragged": lambda: elastic_inner_product(mixed, W, n_jobs=1),
            "equal": lambda: elastic_inner_product(equal, W, n_jobs=1),
        },
        repeats=15,
    )
    at_most("  elastic inner product: times the time", times["ragged"] / times["equal"], 1.4)
    Z = SeriesCollection.of(rng.normal(size=(20, n)).astype(np.float32))
    times = best_times(
        {
            "ragged": lambda: pairwise_dtw(mixed, Z, n_jobs=1),
            "equal": lambda: pairwise_dtw(equal, Z, n_jobs=1),
        },
        repeats=3,
    )
    at_most("  DTW to 20 series: times the time", times["ragged"] / times["equal"], 1.4)


def growth() -> None:
    print("\nGrowth of the cost of elastic inner products: fitted exponents")
    rng = np.random.default_rng(0)
    base = {"N": 4000, "n": 200, "m": 48}
    for axis, factors in {"N": (1, 2, 4, 8), "n": (1, 2, 4, 8), "m": (1, 2, 4, 8)}.items():
        contestants, sizes = {}, {}
        for factor in factors:
            size = {**base, axis: base[axis] * factor}
            X = SeriesCollection.of(rng.normal(size=(size["N"], size["n"])).astype(np.float32))
            W = rng.normal(size=(size["n"], size["m"])).astype(np.float32)
            contestants[str(factor)] = lambda X=X, W=W: elastic_inner_product(X, W, n_jobs=1)
            sizes[str(factor)] = size[axis]
        times = best_times(contestants, repeats=9)
        slope = np.polyfit(np.log([sizes[f] for f in times]), np.log(list(times.values())), 1)[0]
        between(f"  in {axis}", slope, 0.9, 1.1)


def main(arguments: list[str]) -> None:
    parts = {
        "peers": pairwise_against_peers,
        "pair": pair_against_peers,
        "limit": inner_product_against_limit,
        "threads": threads,
        "ragged": ragged,
        "growth": growth,
    }
    parser = argparse.ArgumentParser(prog="python -m benchmarks kernels", description=__doc__)
    parser.add_argument("--only", choices=parts, action="append", help="run one part")
    chosen = parser.parse_args(arguments).only or list(parts)
    print(describe_machine(*PEERS))
    for name in chosen:
        parts[name]()
