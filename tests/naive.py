"""Slow, obvious references: paths are enumerated, sums are loops, definitions are copied.

A grid has as many rows as the series x has elements and as many columns as the matrix w.  Here x
has shape (k, d), w has shape (n, m, d), and a series in the place of a matrix is one with equal
rows (`stacked`).  Everything is a score, of which the greatest is best; costs are negated.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np

# Local scores of one channel, and their derivatives with respect to x and w.


def gaussian(gamma):
    return lambda x, w: 2 * math.exp(-gamma * (x - w) ** 2) - 2


SCORES = {
    "product": lambda x, w: x * w,
    "squared": lambda x, w: -((x - w) ** 2),
    "absolute": lambda x, w: -abs(x - w),
    "mismatch": lambda x, w: -float(x != w),
    "gaussian": gaussian(1.0),
}
SLOPES = {
    "product": lambda x, w: (w, x),
    "squared": lambda x, w: (-2 * (x - w), 2 * (x - w)),
    "absolute": lambda x, w: (-np.sign(x - w), np.sign(x - w)),
    "mismatch": lambda x, w: (0.0, 0.0),
    "gaussian": lambda x, w: (
        -4 * (x - w) * math.exp(-((x - w) ** 2)),
        4 * (x - w) * math.exp(-((x - w) ** 2)),
    ),
}
ROOT = {"squared", "gaussian"}


def value_of(cost, score):
    """What a score means: itself, or the distance it negates."""
    if cost == "product":
        return score
    return math.sqrt(max(-score, 0.0)) if cost in ROOT else -score


# Paths


@cache
def all_paths(k, m):
    """Every warping path of a k x m grid, by recursion over its last step."""
    if (k, m) == (1, 1):
        return [((0, 0),)]
    before = [(k - 1, m - 1), (k - 1, m), (k, m - 1)]
    return [
        (*path, (k - 1, m - 1)) for a, b in before if a > 0 and b > 0 for path in all_paths(a, b)
    ]


def is_path(path, k, m):
    """The paper's definition: boundary conditions and warping conditions."""
    cells = [tuple(map(int, cell)) for cell in path]
    steps = [(c - a, d - b) for (a, b), (c, d) in itertools.pairwise(cells)]
    return (
        cells[0] == (0, 0)
        and cells[-1] == (k - 1, m - 1)
        and all(step in {(1, 0), (0, 1), (1, 1)} for step in steps)
    )


# Bands


def radius_in_cells(k, m, band):
    """Integers are cells; floats are fractions of the longer side, as the decimals they are."""
    return math.floor(Fraction(repr(band)) * max(k, m)) if isinstance(band, float) else band


def in_band(i, j, k, m, band):
    if band is None:
        return True
    reach = radius_in_cells(k, m, band) * (min(k, m) - 1)
    return abs(i * (m - 1) - j * (k - 1)) <= reach


def has_path(k, m, band):
    """Whether the corners of a grid are joined inside a band: flood the cells."""
    reached = np.zeros((k, m), bool)
    for i in range(k):
        for j in range(m):
            here = i == j == 0 or reached[max(i - 1, 0) : i + 1, max(j - 1, 0) : j + 1].any()
            reached[i, j] = here and in_band(i, j, k, m, band)
    return bool(reached[-1, -1])


# Scores


def stacked(y, k):
    """The matrix whose k rows all equal the series y."""
    return np.stack([y] * k)


def local_scores(x, w, score):
    """The k x m grid of local scores: the channels' scores, added."""
    k, d = x.shape
    m = w.shape[1]
    return np.array(
        [
            [sum(score(float(x[i, c]), float(w[i, j, c])) for c in range(d)) for j in range(m)]
            for i in range(k)
        ]
    )


def score_along(local, path):
    return sum(local[i, j] for i, j in path)


def best_by_enumeration(local, band=None):
    """The greatest score of any path in the band, and all paths that attain it."""
    k, m = local.shape
    scores = {
        path: score_along(local, path)
        for path in all_paths(k, m)
        if all(in_band(i, j, k, m, band) for i, j in path)
    }
    best = max(scores.values(), default=-math.inf)
    return best, [p for p, score in scores.items() if math.isclose(score, best, abs_tol=1e-12)]


def best(local, band=None):
    """The textbook dynamic program: score, path, and how near another path came.

    Ties go diagonally, then up (to the smaller i), then left.  The gap is the least distance
    between the best and the second best neighbour of any cell on the path.
    """
    k, m = local.shape
    grid = local.tolist()
    S = [[-math.inf] * (m + 1) for _ in range(k + 1)]
    S[0][0] = 0.0
    for i in range(k):
        for j in range(m):
            if in_band(i, j, k, m, band):
                S[i + 1][j + 1] = grid[i][j] + max(S[i][j], S[i][j + 1], S[i + 1][j])
    i, j, path, gap = k, m, [], math.inf
    while (i, j) != (0, 0):
        path.append((i - 1, j - 1))
        before = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        scores = [S[a][b] for a, b in before]
        _, second, first = sorted(scores)
        if second > -math.inf:
            gap = min(gap, first - second)
        i, j = before[scores.index(first)]
    return S[k][m], path[::-1], gap


def elastic(x, w, cost, band=None):
    """Value of an elastic function of a series at a matrix."""
    score, _, _ = best(local_scores(x, w, SCORES[cost]), band)
    return value_of(cost, score)


def dtw(x, y, band=None, cost="squared", score=None):
    """Distance of two series of shape (time,) or (channels, time)."""
    x, y = np.atleast_2d(x).T, np.atleast_2d(y).T
    found, _, _ = best(local_scores(x, stacked(y, len(x)), score or SCORES[cost]), band)
    return value_of(cost, found)


def pairwise(X, Y, band=None, cost="squared", score=None):
    return np.array([[dtw(x, y, band, cost, score) for y in Y] for x in X])


# Embedding and derivatives


def embed(x, Z, path):
    """x_i in the cells (i, j) of the path, Z elsewhere; x and Z without or with channels."""
    matrix = np.array(Z, dtype=float)
    for i, j in path:
        matrix[i, j] = x[i]
    return matrix


def gradient_along(path, x, w, slopes):
    """Derivatives of the score along a path with respect to x and w."""
    to_x, to_w = np.zeros(x.shape), np.zeros(w.shape)
    for i, j in path:
        for c in range(x.shape[1]):
            x_slope, w_slope = slopes(float(x[i, c]), float(w[i, j, c]))
            to_x[i, c] += x_slope
            to_w[i, j, c] += w_slope
    return to_x, to_w


def finite_differences(function, at, step=1e-6):
    """Central differences of a function of an array."""
    at = np.array(at, dtype=float)
    slopes = np.zeros(at.shape)
    for index in np.ndindex(at.shape):
        ahead, behind = at.copy(), at.copy()
        ahead[index] += step
        behind[index] -= step
        slopes[index] = (function(ahead) - function(behind)) / (2 * step)
    return slopes
