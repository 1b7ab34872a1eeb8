"""The compiled kernels as functions that autograd can differentiate, for tensors on the CPU.

The forward pass keeps only its operands.  The backward pass repeats the recursion and records the
steps of the paths: this takes little longer than going back along stored steps, and a batch needs
no memory for its grids.  Second derivatives are computed by `diagonal`.
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
    """The same as `diagonal.scores` at temperature 0."""

    def evaluate(x: NDArray[Any], w: NDArray[Any], **options: Any) -> drive.Evaluation:
        return drive.evaluate(cost, x, lengths, w, band=band, **options)

    in_torch = partial(diagonal.scores, cost, lengths=lengths, band=band)
    return _Scores.apply(x, w, evaluate, in_torch)


def slide(
    cost: Any, x: Tensor, w: Tensor, stride: int, dilation: int, band: Band | None = None
) -> Tensor:
    """The same as `diagonal.slide` at temperature 0."""
    evaluate, in_torch = (
        partial(module.slide, cost, stride=stride, dilation=dilation, band=band)
        for module in (convolution, diagonal)
    )
    return _Scores.apply(x, w, evaluate, in_torch)


class _Scores(torch.autograd.Function):
    """Scores by a kernel, `evaluate`; `in_torch` is the same function in PyTorch operations."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor, evaluate: Any, in_torch: Any) -> Tensor:
        ctx.save_for_backward(x, w)
        ctx.evaluate, ctx.in_torch = evaluate, in_torch
        result = evaluate(x.detach().numpy(), w.detach().numpy(), n_jobs=torch.get_num_threads())
        return torch.from_numpy(result.values)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        x, w = ctx.saved_tensors
        need_x, need_w, *_ = ctx.needs_input_grad
        if torch.is_grad_enabled():  # second derivatives may follow
            wanted = [tensor for tensor, need in ((x, need_x), (w, need_w)) if need]
            slopes = torch.autograd.grad(ctx.in_torch(x, w), wanted, upstream, create_graph=True)
            return (slopes[0] if need_x else None), (slopes[-1] if need_w else None), None, None
        gradients = ctx.evaluate(
            x.detach().numpy(), w.detach().numpy(),
            upstream=upstream.numpy(), want_series=need_x, want_matrix=need_w,
            n_jobs=torch.get_num_threads(),
        )  # fmt: skip
        return (
            torch.from_numpy(gradients.series_gradient) if need_x else None,
            torch.from_numpy(gradients.matrix_gradient) if need_w else None,
            None,
            None,
        )
