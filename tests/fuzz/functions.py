"""Functions: valid input gives what the slow references give, other input an error that says why."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np

import warplearn
from warplearn.elastic.bands import band_of

from .calls import CALLS
from .contract import Case, choice, close, outcome, refused
from .inputs import collection, hostile, in_some_form, kind_of, values


def some_band(rng: np.random.Generator) -> Any:
    """A band, often none; some leave no path."""
    return choice(rng, (None, None, 0, 1, 3, 0.2, "30%", 2**70))


def for_reference(band: Any, k: int, m: int) -> Any:
    """A band as the references take it, a radius in cells."""
    found = band_of(band, max(k, m))
    return None if found is None else max(found.cells, naive.radius_in_cells(k, m, found.share))


def reference(x: Any, y: Any, band: Any, cost: str) -> float | None:
    """The distance of two series, None if a band leaves no path."""
    k, m = np.shape(x)[-1], np.shape(y)[-1]
    radius = for_reference(band, k, m)
    if not naive.has_path(k, m, radius):
        return None
    return naive.dtw(x, y, radius, cost)


def distances(rng: np.random.Generator) -> None:
    """`dtw`, `warping_path`, `pairwise_dtw`, blocks of it, and `nearest_neighbors`."""
    dtype, channels, cost = kind_of(rng)
    X = collection(rng, dtype, channels, int(rng.integers(1, 6)))
    Y = collection(rng, dtype, channels, int(rng.integers(1, 5)))
    scale = max(float(np.abs(x).max()) for x in X)
    Y = [(y.astype(float) / (float(np.abs(y).max()) or 1.0) * scale).astype(dtype) for y in Y]
    band = some_band(rng)
    table = [[reference(x, y, band, cost) for y in Y] for x in X]
    given = (in_some_form(rng, X), in_some_form(rng, Y))
    got = outcome(lambda: warplearn.pairwise_dtw(*given, band, cost), "band")
    if any(None in row for row in table):
        assert refused(got), "a band that leaves no path was taken"
        return
    ref = np.array(table, float)
    close(got, ref, dtype)
    close(warplearn.dtw(X[0], Y[0], band, cost), ref[0, 0], dtype)
    path, distance = warplearn.warping_path(X[0], Y[0], band, cost)
    close(distance, ref[0, 0], dtype)
    assert naive.is_path(path, X[0].shape[-1], Y[0].shape[-1])
    blocks = [b for _, b in warplearn.pairwise_dtw_blocks(*given, band, cost, rows=2)]
    np.testing.assert_array_equal(np.concatenate(blocks), got)
    neighbours = warplearn.nearest_neighbors(given[1], given[0], 1, band, cost=cost)
    close(neighbours.distances[:, 0], ref.min(axis=1), dtype)
    within = outcome(lambda: warplearn.pairwise_dtw(given[0], None, band, cost), "band")
    if not refused(within):
        own = [[reference(a, b, band, cost) for b in X] for a in X]
        close(within, np.array(own, float), dtype)


def elastic(rng: np.random.Generator) -> None:
    """Elastic functions of a bank of matrices, their paths and gradients."""
    dtype, channels, distance = kind_of(rng)
    X = collection(rng, dtype, channels, int(rng.integers(1, 4)), longest=6)
    rows, columns = max(x.shape[-1] for x in X) + int(rng.integers(2)), int(rng.integers(1, 4))
    shape = (2, rows, columns) + ((channels,) if channels > 1 else ())
    W, cost = values(rng, shape, dtype), choice(rng, ("product", distance))
    given = in_some_form(rng, X)
    tall = [np.atleast_2d(x).T.astype(float) for x in X]
    deep = W.reshape(2, rows, columns, channels).astype(float)
    ref = np.array([[naive.elastic(x, w, cost) for w in deep] for x in tall])
    if cost == "product":
        got = warplearn.elastic_inner_product(given, W)
    else:
        got = warplearn.elastic_distance(given, W, cost=cost)
    # Sums of products of either sign lose digits to cancellation.
    size = max(float(np.abs(x).max()) for x in X) * float(np.abs(W).max()) or 1.0
    if cost == "product":
        close(np.asarray(got, float) / size, ref / size, dtype)
    else:
        close(got, ref, dtype)
    result = outcome(lambda: warplearn.value_and_gradient(given, W, cost=cost))
    assert not refused(result), f"refused: {result}"
    path = warplearn.active_path(X[0], W[0], cost=cost)
    assert naive.is_path(path, len(tall[0]), columns)
    if cost == "product":
        to_x, _ = naive.gradient_along(path, tall[0], deep[0], naive.SLOPES["product"])
        alone = warplearn.value_and_gradient([X[0]], W[0], cost=cost).X[0]
        close(np.atleast_2d(alone).T[: len(to_x)], to_x, dtype)


def masks(rng: np.random.Generator) -> None:
    """Cells of a band."""
    k, m, band = int(rng.integers(1, 12)), int(rng.integers(1, 12)), some_band(rng)
    radius = for_reference(band, k, m)
    ref = [[naive.in_band(i, j, k, m, radius) for j in range(m)] for i in range(k)]
    np.testing.assert_array_equal(warplearn.band_mask(k, m, band), ref)


def means(rng: np.random.Generator) -> None:
    """A mean is no worse than the series that it starts from."""
    dtype, channels, cost = kind_of(rng)
    X = collection(rng, dtype, channels, int(rng.integers(2, 5)), longest=6)
    seed = int(rng.integers(100))
    got = outcome(lambda: warplearn.elastic_mean(X, cost=cost, max_iter=3, random_state=seed))
    assert not refused(got), f"refused: {got}"


def malformed(rng: np.random.Generator) -> None:
    """One argument of a valid call is something else."""
    function, arguments, *words = CALLS[choice(rng, sorted(CALLS))](rng)
    changed = {**arguments, choice(rng, sorted(arguments)): hostile(rng)}
    # Arguments must agree with each other, so another one may be to blame.
    outcome(lambda: function(**changed), *arguments, "X", *words)


def sound(rng: np.random.Generator) -> None:
    """The calls that `malformed` changes are valid."""
    function, arguments, *_ = CALLS[choice(rng, sorted(CALLS))](rng)
    result = outcome(lambda: function(**arguments))
    assert not refused(result), f"refused: {result}"


CASES: dict[str, Case] = {
    "distances": distances, "elastic": elastic, "masks": masks, "means": means,
    "malformed": malformed, "malformed again": malformed, "sound": sound,
}  # fmt: skip
