"""The lane kernels as a function that autograd knows, for tensors on the CPU.

Nothing but the operands is kept for the way back, which repeats the recursion with its steps
recorded: that takes little longer than the steps alone, and a batch needs no memory for its grids.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import FunctionCtx

from warplearn._kernels.drive import Evaluation, evaluate
from warplearn.torch import diagonal


def scores(
    cost: Any, x: Tensor, w: Tensor, lengths: NDArray[np.int64], radius: float | None = None
) -> Tensor:
    """Scores (series, matrices), as `diagonal.scores` at temperature 0."""
    return _Scores.apply(x, w, lengths, cost, radius)


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx,
        x: Tensor,
        w: Tensor,
        lengths: NDArray[np.int64],
        cost: Any,
        radius: float | None,
    ) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.grids = (cost, lengths, radius)
        return torch.from_numpy(_evaluate(x, w, *ctx.grids).values)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        x, w = ctx.saved_tensors
        to_x, to_w = ctx.needs_input_grad[:2]
        if torch.is_grad_enabled():  # derivatives of derivatives are wanted
            return _differentiable_gradients(ctx, upstream, x, w)
        found = _evaluate(
            x, w, *ctx.grids,
            upstream=upstream.numpy(), want_series=to_x, want_matrix=to_w,
        )  # fmt: skip
        return (
            torch.from_numpy(found.series_gradient) if to_x else None,
            torch.from_numpy(found.matrix_gradient) if to_w else None,
            None, None, None,
        )  # fmt: skip


def _differentiable_gradients(
    ctx: Any, upstream: Tensor, x: Tensor, w: Tensor
) -> tuple[Tensor | None, ...]:
    cost, lengths, radius = ctx.grids
    wanted = [tensor for tensor in (x, w) if tensor.requires_grad]
    values = diagonal.scores(cost, x, w, lengths, radius)
    found = iter(torch.autograd.grad(values, wanted, upstream, create_graph=True))
    return tuple(next(found) if tensor.requires_grad else None for tensor in (x, w)) + (None,) * 3


def _evaluate(
    x: Tensor,
    w: Tensor,
    cost: Any,
    lengths: NDArray[np.int64],
    radius: float | None,
    **options: Any,
) -> Evaluation:
    operands = x.detach().numpy(), lengths, w.detach().numpy()
    return evaluate(cost, *operands, radius=radius, n_jobs=torch.get_num_threads(), **options)
