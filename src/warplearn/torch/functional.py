"""Elastic functions of tensors, with gradients.

Series are a tensor (batch, channels, time).  Matrices are a tensor (units, rows, columns,
channels), one matrix W of the paper, n x m, for each unit.

On the CPU the compiled kernels of the library are used, in as many threads as
`torch.set_num_threads` allows.  On other devices, and everywhere at a temperature above 0, the
recursion in PyTorch operations is used (`diagonal`).  Both give the same results.

Tensors of half precision, float16 or bfloat16, are computed in float32, also inside
`torch.autocast`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from warplearn.elastic.bands import BandLike, resolve_band
from warplearn.elastic.costs import resolve, resolve_distance
from warplearn.series.numbers import LARGEST, check_count, check_flag
from warplearn.torch import diagonal, kernels

__all__ = ["elastic_conv1d", "elastic_distance", "elastic_inner_product"]

LARGEST_SIZE = 2**31  # of a dimension


def elastic_inner_product(
    x: Tensor,
    weight: Tensor,
    lengths: Tensor | Sequence[int] | None = None,
    *,
    bias: Tensor | None = None,
    band: BandLike = None,
    temperature: float = 0.0,
) -> Tensor:
    """Elastic inner products of all series with all matrices.

    Parameters
    ----------
    x : tensor (batch, channels, time)
    weight : tensor (units, rows, columns, channels)
        At least as many rows as x has time points.
    lengths : tensor or list (batch,), optional
        Number of time points of each series; by default all.  Values past the end are ignored.
    bias : tensor (units,), optional
        Added to the values.
    band : int, float or str, optional
        Sakoe-Chiba band: an integer is a radius in cells, a float below 1 or a text such as "10%"
        a share of the longer side of the grid.  None: no band.
    temperature : float, default=0.0
        With t > 0 the maximum over paths is the smooth one, `t log(sum of exp(score / t))`.

    Returns
    -------
    tensor (batch, units)

    Examples
    --------
    >>> W = torch.tensor([[[1.0, -1.0], [2.0, 0.0], [0.0, 3.0]]])[..., None]
    >>> elastic_inner_product(torch.ones(1, 1, 3), W)
    tensor([[6.]])
    """
    values = _scores("product", x, weight, lengths, band, temperature)
    return values if bias is None else values + bias


def elastic_distance(
    x: Tensor,
    weight: Tensor,
    lengths: Tensor | Sequence[int] | None = None,
    *,
    cost: Any = "squared",
    root: bool = True,
    band: BandLike = None,
    temperature: float = 0.0,
) -> Tensor:
    """Elastic distances of all series to all matrices.

    Parameters
    ----------
    x, weight, lengths, band
        As for `elastic_inner_product`; `weight` holds the prototypes.
    cost : {"squared", "absolute", "gaussian"} or local score, default="squared"
    root : bool, default=True
        Whether to take the square root of the summed costs, if the cost is one that has a root.
        Its derivative at a distance of 0 is set to 0.
    temperature : float, default=0.0
        With t > 0 the minimum over paths is the smooth one, `-t log(sum of exp(-cost / t))`.  It
        can be negative, so it needs `root=False`.

    Returns
    -------
    tensor (batch, units)

    Examples
    --------
    >>> prototype = torch.tensor([[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]])[..., None]
    >>> elastic_distance(torch.tensor([[[1.0, 1.0, 2.0]]]), prototype)
    tensor([[0.]])
    """
    _, traits = resolve_distance(cost)
    check_temperature(temperature)
    check_flag(root, "root")
    rooted = root and traits.root
    if rooted and temperature > 0:
        raise ValueError(
            f"root must be False at a temperature above 0, where a smooth minimum of the cost "
            f"{cost!r} can be negative; got root=True and temperature={temperature}"
        )
    costs = 0 - _scores(cost, x, weight, lengths, band, temperature)
    if not rooted:
        return costs
    positive = costs > 0
    return torch.where(positive, costs.where(positive, 1).sqrt(), 0)


def elastic_conv1d(
    x: Tensor,
    weight: Tensor,
    *,
    bias: Tensor | None = None,
    stride: int = 1,
    dilation: int = 1,
    padding: int | str = 0,
    band: BandLike = None,
    temperature: float = 0.0,
) -> Tensor:
    """Elastic inner products of short matrices with the windows of series.

    Parameters
    ----------
    x : tensor (batch, channels, time)
    weight : tensor (units, rows, columns, channels)
        A window has as many elements as there are rows; with one column this is a convolution as
        in `torch.nn.functional.conv1d`.
    bias : tensor (units,), optional
    stride : int, default=1
        Distance of neighbouring windows.
    dilation : int, default=1
        Distance of neighbouring elements of a window.
    padding : int or "same", default=0
        Zeros added on either side; "same" gives as many windows as the series has elements.
    band, temperature
        As for `elastic_inner_product`.

    Returns
    -------
    tensor (batch, units, positions)

    Examples
    --------
    >>> W = torch.ones(1, 3, 1, 1)  # one column: a moving sum of three
    >>> elastic_conv1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), W)
    tensor([[[6., 9.]]])
    """
    _check_operands(x, weight, window=True)
    stride, dilation = check_window(stride, dilation, padding)
    rows = weight.shape[1]
    span = (rows - 1) * dilation + 1
    before = (span - 1) // 2 if padding == "same" else int(padding)
    x = F.pad(x, (before, span - 1 - before if padding == "same" else before))
    if x.shape[2] < span:
        raise ValueError(
            f"x must be at least as long as a window, {span} elements, "
            f"got {x.shape[2]} with its padding"
        )
    values = _slide(x, weight, stride, dilation, band, temperature)
    return values if bias is None else values + bias[:, None]


def check_window(stride: Any, dilation: Any, padding: int | str) -> tuple[int, int]:
    """Check the parameters that place windows on a series; stride and dilation."""
    stride, dilation = check_size(stride, "stride"), check_size(dilation, "dilation")
    same = isinstance(padding, str) and padding == "same"
    is_count = isinstance(padding, int) and not isinstance(padding, bool)
    if not same and not (is_count and 0 <= int(padding) < LARGEST_SIZE):
        raise ValueError(f"padding must be an integer of at least 0 or 'same', got {padding!r}")
    if same and stride != 1:
        raise ValueError(f"padding='same' needs stride=1, got stride={stride}")
    return stride, dilation


def check_size(value: Any, name: str) -> int:
    """A size of a tensor."""
    return check_count(value, name, below=LARGEST_SIZE)


def check_temperature(temperature: Any) -> None:
    """A finite number of at least 0."""
    real = isinstance(temperature, Real)
    if not real or not 0 <= temperature <= LARGEST[4]:
        raise ValueError(
            f"temperature must be a number from 0 to {LARGEST[4]:.0e}, got {temperature!r}"
        )


@torch.compiler.disable  # `torch.compile` cannot look into kernels; the same for `_slide`
def _scores(
    cost: Any,
    x: Tensor,
    weight: Tensor,
    lengths: Tensor | Sequence[int] | None,
    band: BandLike,
    temperature: float,
) -> Tensor:
    """Check the operands, and compute the scores of series on their device."""
    local, _ = resolve(cost)
    if type(local) not in diagonal.LOCAL_SCORES:
        known = sorted(kind.__name__ for kind in diagonal.LOCAL_SCORES)
        raise ValueError(f"cost must be one of {known} in warplearn.torch, got {cost!r}")
    _check_operands(x, weight)
    counts = check_lengths(lengths, len(x), x.shape[2])
    resolved = resolve_band(band, counts, np.array([weight.shape[2]]), "x")

    def series_scores(module: Any, x: Tensor, weight: Tensor, *options: float) -> Tensor:
        return module.scores(local, x.transpose(1, 2), weight, counts, resolved, *options)

    values = _compute(series_scores, x, weight, temperature)
    ends = torch.from_numpy(counts).to(x.device)[:, None, None]
    inside = torch.arange(x.shape[2], device=x.device) < ends
    bad_series = (~x.isfinite() & inside).flatten(1).any(dim=1)
    return _nan_where(bad_series[:, None] | _bad_units(weight), values)


@torch.compiler.disable
def _slide(
    x: Tensor, weight: Tensor, stride: int, dilation: int, band: BandLike, temperature: float
) -> Tensor:
    """Compute the scores of the windows of series on their device."""
    local, _ = resolve("product")
    resolved = resolve_band(
        band, np.array(weight.shape[1:2]), np.array(weight.shape[2:3]), "windows"
    )

    def window_scores(module: Any, x: Tensor, weight: Tensor, *options: float) -> Tensor:
        return module.slide(local, x, weight, stride, dilation, resolved, *options)

    values = _compute(window_scores, x, weight, temperature)
    elements = (~x.isfinite()).any(dim=1, keepdim=True).to(torch.float32)
    bad_windows = F.max_pool1d(elements, weight.shape[1], stride, dilation=dilation) > 0
    return _nan_where(bad_windows | _bad_units(weight)[:, None], values)


def _bad_units(weight: Tensor) -> Tensor:
    """Which units have weights that are not finite."""
    return ~weight.isfinite().flatten(1).all(dim=1)


def _nan_where(bad: Tensor, values: Tensor) -> Tensor:
    """NaN where an operand is not finite, as elsewhere in PyTorch.

    The recursion alone may not give NaN, as the best path may avoid the element.
    """
    if values.device.type == "cpu" and not bad.any():
        return values
    return values + torch.where(bad, math.nan, 0.0).to(values.dtype)


def _compute(
    scores: Callable[..., Tensor], x: Tensor, weight: Tensor, temperature: float
) -> Tensor:
    """Call `scores` with the module for this device and temperature, in full precision."""
    check_temperature(temperature)
    dtype = torch.promote_types(x.dtype, weight.dtype)
    precise = torch.promote_types(dtype, torch.float32)
    with _full_precision(x.device.type):
        operands = x.to(precise), weight.to(precise)
        if x.device.type == "cpu" and temperature == 0 and len(x):
            values = scores(kernels, *operands)
        else:
            values = scores(diagonal, *operands, float(temperature))
    return values.to(dtype)


def _full_precision(device_type: str) -> AbstractContextManager[Any]:
    if torch.amp.is_autocast_available(device_type):
        return torch.autocast(device_type, enabled=False)
    return nullcontext()


def _check_operands(x: Tensor, weight: Tensor, *, window: bool = False) -> None:
    for name, given in (("x", x), ("weight", weight)):
        if not isinstance(given, Tensor):
            raise TypeError(f"{name} must be a tensor, got {type(given).__name__}")
    if x.ndim != 3 or not x.is_floating_point() or 0 in x.shape[1:]:
        raise ValueError(
            "x must be a floating-point tensor (batch, channels, time), "
            f"got shape {tuple(x.shape)} of {x.dtype}"
        )
    if weight.ndim != 4 or not weight.is_floating_point() or 0 in weight.shape:
        raise ValueError(
            "weight must be a floating-point tensor (units, rows, columns, channels), "
            f"got shape {tuple(weight.shape)} of {weight.dtype}"
        )
    if x.shape[1] != weight.shape[3]:
        raise ValueError(f"x must have {weight.shape[3]} channel(s), got {x.shape[1]}")
    if not window and x.shape[2] > weight.shape[1]:
        raise ValueError(
            f"x must have at most {weight.shape[1]} time points, the rows of the weights, "
            f"got {x.shape[2]}"
        )
    if x.device != weight.device:
        raise ValueError(f"x must be on {weight.device}, where the weights are, got {x.device}")


def check_lengths(
    lengths: Tensor | Sequence[int] | None, batch: int, time: int
) -> NDArray[np.int64]:
    """Check the lengths of a batch, by default the number of time points of x."""
    if lengths is None:
        return np.full(batch, time, np.int64)
    counts = lengths.detach().cpu().numpy() if isinstance(lengths, Tensor) else np.asarray(lengths)
    if counts.shape != (batch,) or (batch and counts.dtype.kind not in "iu"):
        raise ValueError(
            f"lengths must be {batch} integers, one for each series, "
            f"got shape {counts.shape} of {counts.dtype}"
        )
    if batch and not 1 <= counts.min() <= counts.max() <= time:
        raise ValueError(
            f"lengths must be between 1 and {time}, the time points of x, "
            f"got {counts.min()} to {counts.max()}"
        )
    return counts.astype(np.int64)
