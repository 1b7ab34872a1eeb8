"""The lane kernels as functions that autograd knows, for tensors on the CPU.

Nothing but the operands is kept for the way back, which repeats the recursion with its steps
recorded: that takes little longer than the steps alone, and a batch needs no memory for its grids.
Where derivatives of derivatives are wanted, the way back is that of `diagonal`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from warplearn._kernels.drivers import convolution
from warplearn._kernels.drivers import evaluate as drive
from warplearn._kernels.recursion.grid import Band
from warplearn.torch import diagonal


def scores(
    cost: Any, x: Tensor, w: Tensor, lengths: NDArray[np.int64], band: Band | None = None
) -> Tensor:
    """As `diagonal.scores` at temperature 0."""

    def evaluate(x: NDArray[Any], w: NDArray[Any], **options: Any) -> drive.Evaluation:
        return drive.evaluate(cost, x, lengths, w, band=band, **options)

    again = partial(diagonal.scores, cost, lengths=lengths, band=band)
    return _Scores.apply(x, w, evaluate, again)


def slide(
    cost: Any, x: Tensor, w: Tensor, stride: int, dilation: int, band: Band | None = None
) -> Tensor:
    """As `diagonal.slide` at temperature 0."""
    evaluate, again = (
        partial(module.slide, cost, stride=stride, dilation=dilation, band=band)
        for module in (convolution, diagonal)
    )
    return _Scores.apply(x, w, evaluate, again)


class _Scores(torch.autograd.Function):
    """`evaluate` computes, `again` does the same in PyTorch alone."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, evaluate: Any, again: Any) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.evaluate, ctx.again = evaluate, again
        found = evaluate(x.detach().numpy(), w.detach().numpy(), n_jobs=torch.get_num_threads())
        return torch.from_numpy(found.values)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        x, w = ctx.saved_tensors
        to_x, to_w, *_ = ctx.needs_input_grad
        if torch.is_grad_enabled():
            wanted = [tensor for tensor, want in ((x, to_x), (w, to_w)) if want]
            found = torch.autograd.grad(ctx.again(x, w), wanted, upstream, create_graph=True)
            return (found[0] if to_x else None), (found[-1] if to_w else None), None, None
        gradients = ctx.evaluate(
            x.detach().numpy(), w.detach().numpy(),
            upstream=upstream.numpy(), want_series=to_x, want_matrix=to_w,
            n_jobs=torch.get_num_threads(),
        )  # fmt: skip
        return (
            torch.from_numpy(gradients.series_gradient) if to_x else None,
            torch.from_numpy(gradients.matrix_gradient) if to_w else None,
            None,
            None,
        )
