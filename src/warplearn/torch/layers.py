"""Elastic layers: modules whose units are weight matrices.

Weights have the shape (units, rows, columns, channels), a paper's W for each unit.  In and out go
what goes into and out of `torch.nn.Conv1d` and `torch.nn.Linear`, so that elastic layers stack with
others, first, last or in between.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from warplearn.elastic.bands import BandLike
from warplearn.elastic.extent import columns_for
from warplearn.torch.functional import (
    check_window,
    elastic_conv1d,
    elastic_distance,
    elastic_inner_product,
)

__all__ = ["ElasticConv1d", "ElasticDistance", "ElasticLinear"]


class _Elastic(nn.Module):
    """What elastic layers share: matrices, and how paths through them are chosen."""

    def __init__(
        self,
        length: int,
        elasticity: float,
        units: int,
        channels: int,
        band: BandLike,
        temperature: float,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        for name, value in (("length", length), ("units", units), ("channels", channels)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, got {value!r}")
        self.length, self.units, self.channels = length, units, channels
        self.elasticity = columns_for(elasticity, length)
        self.band, self.temperature = band, temperature
        shape = (units, length, self.elasticity, channels)
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

    def extra_repr(self) -> str:
        """What `print` shows."""
        shown = f"{self.length}, {self.elasticity}, units={self.units}, channels={self.channels}"
        shown += "" if self.band is None else f", band={self.band}"
        return shown + (f", temperature={self.temperature}" if self.temperature else "")


class _Products(_Elastic):
    """Layers of inner products: a bias, and weights to start from."""

    def __init__(self, *args: Any, bias: bool) -> None:
        super().__init__(*args)
        self.bias = nn.Parameter(self.weight.new_empty(self.units)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights, of a size that gives outputs of unit order for standardized series.

        Weights are normal with variance 1 / (length channels), as for a linear layer.  The best of
        many paths does not have mean 0, though: on long series it behaves like the largest
        eigenvalue of a random Hermitian matrix of m rows, about 2 sqrt(m) - 1.77 m^(-1/6), and the
        bias takes nine tenths of that, which fits short series too, back.
        """
        nn.init.normal_(self.weight, std=(self.length * self.channels) ** -0.5)
        if self.bias is not None:
            m = self.elasticity
            largest = 2 * math.sqrt(m) - 1.77 * m ** (-1 / 6) if m > 1 else 0.0
            nn.init.constant_(self.bias, -0.9 * largest)


class ElasticLinear(_Products):
    """Elastic inner products with a matrix for each unit, `b + sigma_W(x)`.

    Parameters
    ----------
    length : int
        Rows of the matrices: time points of the longest series.
    elasticity : int or float
        Columns of the matrices: a number, or a ratio to the length, rounded up.  With 1 this is
        `torch.nn.Linear`.
    units : int
        How many matrices.
    channels : int, default=1
    band : int or float, optional
        Sakoe-Chiba band: a radius in cells, or a fraction of the longer side.
    temperature : float, default=0.0
        Above 0 the maximum over paths is the smooth `t log(sum of exp(score / t))`.
    bias : bool, default=True
    device, dtype
        As for all modules.

    Attributes
    ----------
    weight : parameter (units, length, columns, channels)
    bias : parameter (units,), or None

    Examples
    --------
    >>> layer = ElasticLinear(150, 0.1, units=32)
    >>> layer
    ElasticLinear(150, 15, units=32, channels=1)
    >>> layer(torch.randn(64, 1, 150)).shape
    torch.Size([64, 32])
    """

    def __init__(
        self,
        length: int,
        elasticity: float,
        units: int,
        channels: int = 1,
        band: BandLike = None,
        *,
        temperature: float = 0.0,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            length, elasticity, units, channels, band, temperature, device, dtype, bias=bias
        )

    def forward(self, x: Tensor, lengths: Tensor | Sequence[int] | None = None) -> Tensor:
        """Values (batch, units) of the first `lengths` of series (batch, channels, time)."""
        return elastic_inner_product(
            x, self.weight, lengths,
            bias=self.bias, band=self.band, temperature=self.temperature,
        )  # fmt: skip


class ElasticConv1d(_Products):
    """Elastic inner products of short matrices with the windows of a series.

    Parameters
    ----------
    length : int
        Rows of the matrices: elements of a window.
    elasticity : int or float
        Columns of the matrices.  With 1 this is `torch.nn.Conv1d`.
    units : int
    channels : int, default=1
    stride, dilation : int, default=1
        From one window to the next; from one element of a window to the next.
    padding : int or "same", default=0
        Zeros on either side; with "same" as many as give a position for each element.
    band, temperature, bias, device, dtype
        As for `ElasticLinear`.

    Attributes
    ----------
    weight : parameter (units, length, columns, channels)
    bias : parameter (units,), or None

    Examples
    --------
    >>> layer = ElasticConv1d(9, 3, units=32, padding="same")
    >>> layer(torch.randn(64, 1, 150)).shape
    torch.Size([64, 32, 150])
    """

    def __init__(
        self,
        length: int,
        elasticity: float,
        units: int,
        channels: int = 1,
        *,
        stride: int = 1,
        dilation: int = 1,
        padding: int | str = 0,
        band: BandLike = None,
        temperature: float = 0.0,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            length, elasticity, units, channels, band, temperature, device, dtype, bias=bias
        )
        check_window(stride, dilation, padding)
        self.stride, self.dilation, self.padding = stride, dilation, padding

    def forward(self, x: Tensor) -> Tensor:
        """Values (batch, units, positions) of the windows of series (batch, channels, time)."""
        return elastic_conv1d(
            x, self.weight,
            bias=self.bias, stride=self.stride, dilation=self.dilation, padding=self.padding,
            band=self.band, temperature=self.temperature,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """What `print` shows."""
        own = f", stride={self.stride}, dilation={self.dilation}, padding={self.padding!r}"
        return super().extra_repr() + own


class ElasticDistance(_Elastic):
    """Elastic distances to a prototype matrix for each unit.

    Parameters
    ----------
    length, elasticity, units, channels, band, device, dtype
        As for `ElasticLinear`.
    cost : {"squared", "absolute", "gaussian"} or local score, default="squared"
    root : bool, default=True
        Whether to take the root of the summed costs, with costs that have one.
    temperature : float, default=0.0
        Above 0 the minimum over paths is the smooth `-t log(sum of exp(-cost / t))`; this needs
        `root=False`.

    Attributes
    ----------
    weight : parameter (units, length, columns, channels)

    Examples
    --------
    >>> layer = ElasticDistance(4, 2, units=1)
    >>> x = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    >>> layer.start_at(x)(x)
    tensor([[0.]], grad_fn=<WhereBackward0>)
    """

    def __init__(
        self,
        length: int,
        elasticity: float,
        units: int,
        channels: int = 1,
        band: BandLike = None,
        *,
        cost: Any = "squared",
        root: bool = True,
        temperature: float = 0.0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(length, elasticity, units, channels, band, temperature, device, dtype)
        self.cost, self.root = cost, root
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new prototypes: standard normal, like the elements of standardized series."""
        nn.init.normal_(self.weight)

    def start_at(self, series: Tensor) -> ElasticDistance:
        """Let series (units, channels, length) be the prototypes, each column of a matrix one."""
        expected = (self.units, self.channels, self.length)
        if series.shape != expected:
            raise ValueError(
                f"series must have shape {expected} (units, channels, length), "
                f"got {tuple(series.shape)}"
            )
        with torch.no_grad():
            self.weight.copy_(series.transpose(1, 2)[:, :, None])
        return self

    def forward(self, x: Tensor, lengths: Tensor | Sequence[int] | None = None) -> Tensor:
        """Distances (batch, units) of the first `lengths` of series (batch, channels, time)."""
        return elastic_distance(
            x, self.weight, lengths,
            cost=self.cost, root=self.root, band=self.band, temperature=self.temperature,
        )  # fmt: skip
