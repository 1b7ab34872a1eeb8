"""1-NN: our lanes against EAPruned, what a specialist would use, written in scalar Numba.

EAPruned (Herrmann and Webb, "Early abandoning and pruning for elastic distances including dynamic
time warping", 2021) computes only those cells of a grid that a path cheaper than the best so far
can pass, and ends when a row has none.  Around it is the usual cascade: candidates are sorted by
the bound of Keogh, which takes in that of Kim at both ends, the bound with the roles of the two
series exchanged is tried, and the rest of the bound behind a row tightens the cutoff in that row.

Both sides are checked against all distances.  One thread.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numba import njit

from benchmarks.data import read_set
from benchmarks.measure import best_times, describe_machine
from warplearn import nearest_neighbors, pairwise_dtw
from warplearn._kernels.simd.target import TARGET

SETS = ("ECG200", "GunPoint", "TwoLeadECG", "Wafer")
BANDS = (None, 0.1)
_QUERIES = 100


_compiled = njit(cache=True, nogil=True, error_model="numpy")


@_compiled
def eapruned(lines, columns, radius, cutoff, tail, before, row):
    """The summed cost of the best path, or infinity if it exceeds `cutoff`; and cells computed.

    `tail[i]` bounds from below what lines from i on cost; `before` and `row` are room for one
    more number than there are columns.  The first column of a row is at index 1.
    """
    n, cells = len(columns), 0
    before[:] = np.inf
    row[:] = np.inf
    before[0] = 0.0
    start, end = 1, 1  # only cells of the row before from `start` to `end` - 1 can be continued
    for i in range(len(lines)):
        x, most = lines[i], cutoff - tail[i + 1]
        start = max(start, i + 1 - radius)
        stop = min(n + 1, i + 2 + radius)
        row[start - 1] = np.inf
        begin = j = last = start
        while j == start and j < end:  # there is nothing on the left yet
            row[j] = min(before[j - 1], before[j]) + (x - columns[j - 1]) ** 2
            if row[j] <= most:
                last = j + 1
            else:
                start += 1
            j += 1
        while j < end:
            row[j] = min(row[j - 1], before[j - 1], before[j]) + (x - columns[j - 1]) ** 2
            if row[j] <= most:
                last = j + 1
            j += 1
        if j < stop:  # there is nothing above any more
            best = before[j - 1] if j == start else min(before[j - 1], row[j - 1])
            row[j] = best + (x - columns[j - 1]) ** 2
            if row[j] <= most:
                last = j + 1
            elif j == start:
                return np.inf, cells + j + 1 - begin
            j += 1
        elif j == start:
            return np.inf, cells + j - begin
        while j == last and j < stop:  # nor diagonally
            row[j] = row[j - 1] + (x - columns[j - 1]) ** 2
            if row[j] <= most:
                last = j + 1
            j += 1
        cells += j - begin
        end = last
        before, row = row, before
    return (before[n] if end == n + 1 else np.inf), cells


@_compiled
def envelopes(X, radius, lower, upper):
    """The range of each series within `radius` of each index; at both ends the end itself."""
    n = X.shape[1]
    for c in range(len(X)):
        if radius >= n - 1:
            lower[c], upper[c] = X[c].min(), X[c].max()
        else:
            for i in range(n):
                around = X[c, max(0, i - radius) : i + radius + 1]
                lower[c, i], upper[c, i] = around.min(), around.max()
        for i in (0, n - 1):
            lower[c, i] = upper[c, i] = X[c, i]


@_compiled
def keogh(x, lower, upper, most):
    """The bound of Keogh, or more than `most` if it exceeds that."""
    total = x.dtype.type(0)
    for i in range(len(x)):
        if total > most:
            break
        excess = max(x[i] - upper[i], lower[i] - x[i])
        if excess > 0:
            total += excess * excess
    return total


@_compiled
def nearest_of(X, lower, upper, q, q_lower, q_upper, radius, rounding, bounds, tail, room):
    """The nearest series, its squared distance, and how many cells were computed.

    Candidates are the lines, so the cutoff is tightened by what is outside the query's envelope.
    """
    n, cells = X.shape[1], 0
    for c in range(len(X)):
        bounds[c] = keogh(X[c], q_lower, q_upper, np.inf)
    best, nearest = np.inf, -1
    for c in np.argsort(bounds):
        cutoff = best * rounding
        if bounds[c] > cutoff:
            break
        if keogh(q, lower[c], upper[c], cutoff) > cutoff:
            continue
        tail[n] = 0.0
        for i in range(n - 1, -1, -1):
            excess = max(X[c, i] - q_upper[i], q_lower[i] - X[c, i])
            tail[i] = tail[i + 1] + (excess * excess if excess > 0 else 0.0)
        value, computed = eapruned(X[c], q, radius, cutoff, tail, room[0], room[1])
        cells += computed
        if value < best or (value == best and c < nearest):
            best, nearest = value, c
    return nearest, best, cells


@_compiled
def search(X, lower, upper, Q, q_lower, q_upper, radius, rounding, indices, costs):
    """The nearest series of each query; returns how many cells were computed."""
    n, cells = X.shape[1], 0
    bounds, tail, room = np.empty(len(X)), np.empty(n + 1), np.empty((2, n + 1), X.dtype)
    for q in range(len(Q)):
        indices[q], costs[q], computed = nearest_of(
            X, lower, upper, Q[q], q_lower[q], q_upper[q], radius, rounding, bounds, tail, room
        )
        cells += computed
    return cells


class Pruned:
    """A 1-NN search by EAPruned, among series of equal length."""

    def __init__(self, X: np.ndarray, band: float | None) -> None:
        n = X.shape[1]
        self.X, self.radius = X, n if band is None else int(band * n + 1e-9)
        self.bounds = self._envelopes(X)
        self.rounding = 1 + 8 * n * float(np.finfo(X.dtype).eps)

    def _envelopes(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = np.empty_like(X), np.empty_like(X)
        envelopes(X, self.radius, lower, upper)
        return lower, upper

    def __call__(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Indices and squared distances of the nearest, and the cells computed."""
        indices, costs = np.empty(len(Q), np.int64), np.empty(len(Q), Q.dtype)
        cells = search(
            self.X, *self.bounds, Q, *self._envelopes(Q), self.radius, self.rounding,
            indices, costs,
        )  # fmt: skip
        return indices, costs, cells


def compare(name: str, band: float | None, dtype: Any) -> None:
    """Check both against all distances, and print cells and times."""
    X = read_set(name, "TRAIN")[0].astype(dtype)
    Q = read_set(name, "TEST")[0][:_QUERIES].astype(dtype)
    pruned = Pruned(X, band)
    indices, costs, cells = pruned(Q)
    found = nearest_neighbors(X, Q, band=band, n_jobs=1)
    distances = pairwise_dtw(Q, X, band=band, n_jobs=1)
    least = distances.min(axis=1)
    np.testing.assert_allclose(found.distances[:, 0], least, rtol=1e-3)
    np.testing.assert_allclose(np.sqrt(costs), least, rtol=1e-3)
    np.testing.assert_allclose(distances[np.arange(len(Q)), indices], least, rtol=1e-3)
    total = found.cells_computed + found.cells_avoided
    times = best_times(
        {
            "pruned": lambda: pruned(Q),
            "lanes": lambda: nearest_neighbors(X, Q, band=band, n_jobs=1),
        },
        repeats=5,
    )
    print(
        f"{name:<12s} {'none' if band is None else f'{band:.0%}':>5s} {np.dtype(dtype).name:<8s}"
        f" {cells / total:9.1%} {found.cells_computed / total:9.1%}"
        f" {1e3 * times['pruned']:10.2f} {1e3 * times['lanes']:10.2f}"
        f" {times['pruned'] / times['lanes']:8.1f}",
        flush=True,
    )


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks pruned", description=__doc__)
    parser.add_argument("--only", choices=SETS, action="append", help="one set")
    chosen = parser.parse_args(arguments).only or SETS
    print(describe_machine())
    print(f"Code for {TARGET.n_registers} registers of {TARGET.register_bytes} bytes")
    print(f"\n1-NN of {_QUERIES} test series: share of the cells computed, and milliseconds\n")
    print(
        f"{'set':<12s} {'band':>5s} {'':<8s} {'EAPruned':>9s} {'lanes':>9s}"
        f" {'EAPruned':>10s} {'lanes':>10s} {'times':>8s}"
    )
    for name in chosen:
        for band in BANDS:
            for dtype in (np.float32, np.float64):
                compare(name, band, dtype)
