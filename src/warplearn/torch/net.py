"""A deep convolutional network whose first layer is elastic."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from warplearn.elastic.extent import ExtentLike
from warplearn.torch.functional import check_size
from warplearn.torch.layers import ElasticConv1d

__all__ = ["ElasticConvNet"]


class _Normalized(nn.Module):
    """A layer, followed by batch normalization over the elements of the series, and a rectifier."""

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer, self.norm = layer, nn.BatchNorm1d(width)

    def forward(self, x: Tensor, inside: Tensor | None) -> Tensor:
        """Features (batch, width, time), 0 past the end of a series.

        `inside` (batch, time) says which elements belong to their series; None: all of them.
        """
        features = self.layer(x)
        if inside is None:
            return torch.relu(self.norm(features))
        rows = features.transpose(1, 2)
        normalized = torch.zeros_like(rows)
        normalized[inside] = torch.relu(self.norm(rows[inside]))
        return normalized.transpose(1, 2)


class _Parallel(nn.Module):
    """Layers that all read the same input; their outputs are concatenated."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of all layers."""
        return torch.cat([layer(x) for layer in self.layers], dim=1)


class ElasticConvNet(nn.Module):
    """Elastic convolutions, ordinary convolutions, the mean over time, and a linear output.

    Every convolution is followed by batch normalization and a rectifier.

    Parameters
    ----------
    channels : int
        Channels of the series.
    outputs : int
        Outputs of the network, such as the number of classes.
    units : int, default=16
        Elastic filters for each dilation.
    length : int, default=9
        Rows of an elastic filter, which are the elements of a window.
    elasticity : int, float or str, default=3
        Columns of an elastic filter: an integer counts them, a float below 1 or a text such as
        "50%" is a share of `length`.  1 makes the network an ordinary convolutional one.
    dilations : sequence of int, default=(1, 2, 4)
        Distances of neighbouring elements of a window; the elastic convolutions of different
        dilations read the same series side by side.
    widths : sequence of int, default=(64, 64)
        Numbers of filters of the ordinary convolutions.
    filter_lengths : sequence of int, default=(5, 3)
        Lengths of the filters of the ordinary convolutions, which must be odd.

    Examples
    --------
    >>> net = ElasticConvNet(channels=2, outputs=3)
    >>> net(torch.randn(8, 2, 100)).shape
    torch.Size([8, 3])
    """

    def __init__(
        self,
        channels: int,
        outputs: int,
        *,
        units: int = 16,
        length: int = 9,
        elasticity: ExtentLike = 3,
        dilations: Sequence[int] = (1, 2, 4),
        widths: Sequence[int] = (64, 64),
        filter_lengths: Sequence[int] = (5, 3),
    ) -> None:
        super().__init__()
        check_size(outputs, "outputs")
        for name, sizes in (
            ("dilations", dilations), ("widths", widths), ("filter_lengths", filter_lengths),
        ):  # fmt: skip
            if isinstance(sizes, str) or not isinstance(sizes, Sequence):
                raise TypeError(f"{name} must be a sequence of integers, got {sizes!r}")
            for size in sizes:
                check_size(size, name)
        if not dilations:
            raise ValueError(f"dilations must have at least one element, got {dilations!r}")
        if len(widths) != len(filter_lengths):
            raise ValueError(
                "filter_lengths must have as many elements as widths, "
                f"{len(widths)}, got {filter_lengths!r}"
            )
        if any(size % 2 == 0 for size in filter_lengths):
            raise ValueError(f"filter_lengths must be odd, got {filter_lengths!r}")
        # No biases: batch normalization subtracts the mean.
        elastic = [
            ElasticConv1d(
                length, elasticity, units, channels, dilation=d, padding="same", bias=False
            )
            for d in dilations
        ]
        width = elastic[0].units * len(elastic)
        self.blocks = nn.ModuleList([_Normalized(_Parallel(elastic), width)])
        for next_width, size in zip(widths, filter_lengths, strict=True):
            layer = nn.Conv1d(width, next_width, size, padding="same", bias=False)
            self.blocks.append(_Normalized(layer, next_width))
            width = next_width
        self.output = nn.Linear(width, outputs)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Outputs (batch, outputs) for the first `lengths` of series (batch, channels, time)."""
        inside = None
        if lengths is not None and bool((lengths < x.shape[2]).any()):
            inside = torch.arange(x.shape[2], device=x.device) < lengths[:, None].to(x.device)
            x = x * inside[:, None]
        for block in self.blocks:
            x = block(x, inside)
        count = x.shape[2] if inside is None else inside.sum(dim=1, keepdim=True)
        outputs: Tensor = self.output(x.sum(dim=2) / count)
        return outputs
