"""The recursion in PyTorch alone, an anti-diagonal of the grids at a time, on any device.

Cells of an anti-diagonal do not depend on each other, so a grid of k x m cells takes k + m - 1
steps, each a few operations on all grids of a batch.  Autograd gives the way back, twice if need
be.  Ties are broken as in the kernels: diagonally, else straight up, else from the left.

With a temperature t > 0 the maximum of a, b and c is `t log(exp(a/t) + exp(b/t) + exp(c/t))`, and
the score of a grid `t log(sum over paths of exp(score/t))`, smooth and never below the maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from warplearn._kernels.recursion.grid import Band, row_limits
from warplearn._kernels.recursion.local import Absolute, Gaussian, Product, Squared

Best: TypeAlias = Callable[[Tensor, Tensor, Tensor], Tensor]


def scores(
    cost: Any,
    x: Tensor,
    w: Tensor,
    lengths: NDArray[np.int64],
    band: Band | None = None,
    temperature: float = 0.0,
) -> Tensor:
    """Scores (series, matrices) of all series against all matrices.

    Parameters
    ----------
    cost : local score
        One of `LOCAL_SCORES`.
    x : tensor (series, time, channels)
    w : tensor (matrices, rows, columns, channels)
    lengths : array (series,)
    band : Band, optional
    temperature : float
        0 is the exact maximum.
    """
    k, m = x.shape[1], w.shape[2]
    ends = torch.from_numpy(lengths).to(x.device)
    outside = torch.arange(k, device=x.device) >= ends[:, None]
    # What stands behind the end of a series must not be seen, not even by a factor of 0.
    x = x.masked_fill(outside[:, :, None], 0)
    local = LOCAL_SCORES[type(cost)](cost, x, w[:, :k])
    # Less than any score, yet so many of them can be added without overflow.
    nothing = -(torch.finfo(x.dtype).max ** 0.5)
    if band is not None:
        inside = torch.from_numpy(_band(band, lengths, k, m)).to(x.device)
        local = local.where(inside, nothing)
    best: Best = partial(_smooth, temperature) if temperature > 0 else _hard
    diagonals = _diagonals(local, nothing)
    value = diagonals[0]
    diagonal = torch.full_like(value, nothing)
    last_column = [value[-1]]
    for scores_here in diagonals[1:]:
        left = F.pad(value[:-1], (0, 0, 0, 0, 1, 0), value=nothing)
        value = best(value, diagonal, left) + scores_here
        diagonal = left
        last_column.append(value[-1])
    series = torch.arange(len(x), device=x.device)
    return torch.stack(last_column[m - 1 :])[ends - 1, series]


def slide(
    cost: Any,
    x: Tensor,
    w: Tensor,
    stride: int,
    dilation: int,
    band: Band | None = None,
    temperature: float = 0.0,
) -> Tensor:
    """Scores (series, matrices, positions) of the windows of series (series, channels, time)."""
    k = w.shape[1]
    windows = x.unfold(2, (k - 1) * dilation + 1, stride)[..., ::dilation].permute(0, 2, 3, 1)
    lengths = np.full(windows.shape[0] * windows.shape[1], k, np.int64)
    found = scores(cost, windows.flatten(0, 1), w, lengths, band, temperature)
    return found.unflatten(0, windows.shape[:2]).transpose(1, 2)


def _hard(up: Tensor, diagonal: Tensor, left: Tensor) -> Tensor:
    above = torch.where(diagonal >= up, diagonal, up)
    return torch.where(above >= left, above, left)


def _smooth(temperature: float, up: Tensor, diagonal: Tensor, left: Tensor) -> Tensor:
    # The largest is a constant that cancels; without it numbers would overflow.
    top = _hard(up, diagonal, left).detach()
    terms = sum(torch.exp((term - top) / temperature) for term in (up, diagonal, left))
    return top + temperature * torch.log(terms)


def _diagonals(local: Tensor, nothing: float) -> tuple[Tensor, ...]:
    """Anti-diagonals (m, ...) of grids (k, m, ...): element j of number p is cell (p - j, j)."""
    k, m = local.shape[:2]
    column = torch.arange(m, device=local.device)
    row = torch.arange(k + m - 1, device=local.device)[:, None] - column
    cell = torch.where((row >= 0) & (row < k), row * m + column, k * m)
    cells = F.pad(local.flatten(0, 1), (0, 0, 0, 0, 0, 1), value=nothing)
    return cells[cell.flatten()].unflatten(0, cell.shape).unbind()


def _band(band: Band, lengths: NDArray[np.int64], k: int, m: int) -> NDArray[np.bool_]:
    """Which cells (k, m, series, 1) are in the band of each series' own grid."""
    inside = np.zeros((len(lengths), k, m), bool)
    for length in np.unique(lengths):
        low, high = np.empty(length, np.int64), np.empty(length, np.int64)
        row_limits(band, length, m, low, high)
        column = np.arange(m)
        mask = (low[:, None] <= column) & (column <= high[:, None])
        inside[lengths == length, :length] = mask
    return np.ascontiguousarray(inside.transpose(1, 2, 0))[..., None]


# Local scores (k, m, series, matrices) of x (series, k, channels) and w (matrices, k, m, channels).


def _product(cost: Any, x: Tensor, w: Tensor) -> Tensor:
    return torch.einsum("sic,uijc->ijsu", x, w)


def _of_channels(score: Callable[[Any, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Add the scores of the channels, one after the other for the sake of memory."""

    def added(cost: Any, x: Tensor, w: Tensor) -> Tensor:
        of_x, of_w = x.permute(2, 1, 0)[:, :, None, :, None], w.permute(3, 1, 2, 0)[:, :, :, None]
        total = score(cost, of_x[0], of_w[0])
        for c in range(1, len(of_x)):
            total = total + score(cost, of_x[c], of_w[c])
        return total

    return added


LOCAL_SCORES: dict[type, Callable[[Any, Tensor, Tensor], Tensor]] = {
    Product: _product,
    Squared: _of_channels(lambda cost, x, w: -((x - w) ** 2)),
    Absolute: _of_channels(lambda cost, x, w: -(x - w).abs()),
    Gaussian: _of_channels(lambda cost, x, w: 2 * torch.exp(-cost.gamma * (x - w) ** 2) - 2),
}
