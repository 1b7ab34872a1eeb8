"""The recursion in PyTorch operations, one anti-diagonal of the grids at a time.

This is the same recursion as in the compiled kernels (`warplearn._kernels.recursion` lists all
implementations), written a second time because the kernels cannot do three things:

- run on other devices than the CPU;
- replace the maximum by a smooth one (`temperature`);
- be differentiated twice, which autograd does with PyTorch operations.

On the CPU and at temperature 0 the kernels are used instead (`kernels`), about a hundred times as
fast.  Tests hold the two against each other and against the definition.

Cells of an anti-diagonal do not depend on each other.  A grid of k x m cells therefore takes
k + m - 1 steps, each a few operations on all grids of a batch.  Ties are broken as in the kernels:
the diagonal predecessor is preferred, then the one above, then the one to the left.

With a temperature t > 0 the maximum of a, b and c is `t log(exp(a/t) + exp(b/t) + exp(c/t))`.  The
score of a grid is then `t log(sum over paths of exp(score/t))`, which is smooth and never below the
maximum.
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
        Time points of each series; later ones are ignored.
    band : Band, optional
    temperature : float
        0 is the exact maximum.

    Returns
    -------
    tensor (series, matrices)
    """
    k, m = x.shape[1], w.shape[2]
    ends = torch.from_numpy(lengths).to(x.device)
    outside = torch.arange(k, device=x.device) >= ends[:, None]
    # Values past the end of a series may be NaN, which even a factor of 0 would not remove.
    x = x.masked_fill(outside[:, :, None], 0)
    local = LOCAL_SCORES[type(cost)](cost, x, w[:, :k])
    # Less than any score, but small enough to be added many times without overflow.
    never = -(torch.finfo(x.dtype).max ** 0.5)
    if band is not None:
        inside = torch.from_numpy(_band(band, lengths, k, m)).to(x.device)
        local = local.where(inside, never)
    best: Best = partial(_smooth, temperature) if temperature > 0 else _hard
    diagonals = _diagonals(local, never)
    value = diagonals[0]
    diagonal = torch.full_like(value, never)
    last_column = [value[-1]]
    for scores_here in diagonals[1:]:
        left = F.pad(value[:-1], (0, 0, 0, 0, 1, 0), value=never)
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
    values = scores(cost, windows.flatten(0, 1), w, lengths, band, temperature)
    return values.unflatten(0, windows.shape[:2]).transpose(1, 2)


def _hard(up: Tensor, diagonal: Tensor, left: Tensor) -> Tensor:
    above = torch.where(diagonal >= up, diagonal, up)
    return torch.where(above >= left, above, left)


def _smooth(temperature: float, up: Tensor, diagonal: Tensor, left: Tensor) -> Tensor:
    # The largest term is subtracted and added again, so that exponentials do not overflow.
    top = _hard(up, diagonal, left).detach()
    terms = sum(torch.exp((term - top) / temperature) for term in (up, diagonal, left))
    return top + temperature * torch.log(terms)


def _diagonals(local: Tensor, never: float) -> tuple[Tensor, ...]:
    """Anti-diagonals (m, ...) of grids (k, m, ...).

    Element j of anti-diagonal p is cell (p - j, j), or `never` where the grid has no such cell.
    """
    k, m = local.shape[:2]
    column = torch.arange(m, device=local.device)
    row = torch.arange(k + m - 1, device=local.device)[:, None] - column
    cell = torch.where((row >= 0) & (row < k), row * m + column, k * m)
    cells = F.pad(local.flatten(0, 1), (0, 0, 0, 0, 0, 1), value=never)
    return cells[cell.flatten()].unflatten(0, cell.shape).unbind()


def _band(band: Band, lengths: NDArray[np.int64], k: int, m: int) -> NDArray[np.bool_]:
    """Whether a cell (k, m, series, 1) is in the band of the grid of its series."""
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
    """Add the scores of the channels, one after the other to save memory."""

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
