"""Elastic layers: modules in which each unit has a weight matrix.

Weights have the shape (units, rows, columns, channels), one matrix W of the paper for each unit.
Inputs and outputs have the shapes of `torch.nn.Conv1d` and `torch.nn.Linear`, so elastic layers can
be combined with others in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from warplearn.elastic.bands import BandLike
from warplearn.elastic.extent import ExtentLike, columns_for
from warplearn.series.numbers import check_flag
from warplearn.torch.functional import (
    check_size,
    check_temperature,
    check_window,
    elastic_conv1d,
    elastic_distance,
    elastic_inner_product,
)

__all__ = ["ElasticConv1d", "ElasticDistance", "ElasticLinear"]


class _Elastic(nn.Module):
    """Base of all elastic layers: the matrices, the band and the temperature."""

    def __init__(
        self,
        length: int,
        elasticity: ExtentLike,
        units: int,
        channels: int,
        band: BandLike,
        temperature: float,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        check_temperature(temperature)
        self.length, self.units = check_size(length, "length"), check_size(units, "units")
        self.channels = check_size(channels, "channels")
        self.elasticity = columns_for(elasticity, self.length)
        self.band, self.temperature = band, temperature
        shape = (self.units, self.length, self.elasticity, self.channels)
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))

    def extra_repr(self) -> str:
        """The parameters in the text of the module."""
        text = f"{self.length}, {self.elasticity}, units={self.units}, channels={self.channels}"
        text += "" if self.band is None else f", band={self.band!r}"
        return text + (f", temperature={self.temperature}" if self.temperature else "")


class _Products(_Elastic):
    """Base of the layers of inner products: they have a bias, and the same initial weights."""

    def __init__(self, *args: Any, bias: bool) -> None:
        check_flag(bias, "bias")
        super().__init__(*args)
        self.bias = nn.Parameter(self.weight.new_empty(self.units)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights and biases, such that standardized series have outputs near 0 of size 1.

        Weights are normal with variance 1 / (length channels), as for a linear layer.  The maximum
        over many paths does not have mean 0, though.  On long series it behaves like the largest
        eigenvalue of a random Hermitian matrix of m rows, about 2 sqrt(m) - 1.77 m^(-1/6).  The
        bias subtracts nine tenths of this value, which fits short series as well.
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
    elasticity : int, float or str
        Columns of the matrices: an integer counts them, a float below 1 or a text such as "10%" is
        a share of `length`, rounded up.  With 1 column this is `torch.nn.Linear`.
    units : int
        Number of matrices.
    channels : int, default=1
        Channels of the series.
    band : int, float or str, optional
        Sakoe-Chiba band: an integer is a radius in cells, a float below 1 or a text such as "10%"
        a share of the longer side of the grid.  None: no band.
    temperature : float, default=0.0
        With t > 0 the maximum over paths is the smooth one, `t log(sum of exp(score / t))`.
    bias : bool, default=True
        Whether a bias is added to the inner products.
    device, dtype
        As for all modules of PyTorch.

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
        elasticity: ExtentLike,
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
    elasticity : int, float or str
        Columns of the matrices: an integer counts them, a float below 1 or a text such as "50%" is
        a share of `length`, rounded up.  With 1 column this is `torch.nn.Conv1d`.
    units : int
        Number of matrices.
    channels : int, default=1
        Channels of the series.
    stride : int, default=1
        Distance of neighbouring windows.
    dilation : int, default=1
        Distance of neighbouring elements of a window.
    padding : int or "same", default=0
        Zeros added on either side; "same" gives as many windows as the series has elements.
    band : int, float or str, optional
        Sakoe-Chiba band on the grid of a window, as for `ElasticLinear`.
    temperature : float, default=0.0
        With t > 0 the maximum over paths is the smooth one, `t log(sum of exp(score / t))`.
    bias : bool, default=True
        Whether a bias is added to the inner products.
    device, dtype
        As for all modules of PyTorch.

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
        elasticity: ExtentLike,
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
        self.stride, self.dilation = check_window(stride, dilation, padding)
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        """Values (batch, units, positions) of the windows of series (batch, channels, time)."""
        return elastic_conv1d(
            x, self.weight,
            bias=self.bias, stride=self.stride, dilation=self.dilation, padding=self.padding,
            band=self.band, temperature=self.temperature,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The parameters in the text of the module."""
        own = f", stride={self.stride}, dilation={self.dilation}, padding={self.padding!r}"
        return super().extra_repr() + own


class ElasticDistance(_Elastic):
    """Elastic distances to a prototype matrix for each unit.

    Parameters
    ----------
    length : int
        Rows of the matrices: time points of the longest series.
    elasticity : int, float or str
        Columns of the matrices: an integer counts them, a float below 1 or a text such as "10%" is
        a share of `length`, rounded up.
    units : int
        Number of prototypes.
    channels : int, default=1
        Channels of the series.
    band : int, float or str, optional
        Sakoe-Chiba band, as for `ElasticLinear`.
    cost : {"squared", "absolute", "gaussian"} or local score, default="squared"
        Local cost of an element and a weight.
    root : bool, default=True
        Whether to take the square root of the summed costs, if the cost is one that has a root.
    temperature : float, default=0.0
        With t > 0 the minimum over paths is the smooth one, `-t log(sum of exp(-cost / t))`.  It
        needs `root=False`.
    device, dtype
        As for all modules of PyTorch.

    Attributes
    ----------
    weight : parameter (units, length, columns, channels)
        The prototypes.

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
        elasticity: ExtentLike,
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
        check_flag(root, "root")
        self.cost, self.root = cost, root
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new prototypes from the standard normal distribution."""
        nn.init.normal_(self.weight)

    def start_at(self, series: Tensor) -> ElasticDistance:
        """Set the prototypes to series (units, channels, length), in every column of a matrix.

        Parameters
        ----------
        series : tensor (units, channels, length)

        Returns
        -------
        ElasticDistance
            This layer.
        """
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
