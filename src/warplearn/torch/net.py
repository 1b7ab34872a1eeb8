"""A deep network that is elastic in its first layer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from warplearn.torch.layers import ElasticConv1d

__all__ = ["ElasticNet"]


class _Normalized(nn.Module):
    """A layer, batch normalization over the elements that are there, and a rectifier."""

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer, self.norm = layer, nn.BatchNorm1d(width)

    def forward(self, x: Tensor, inside: Tensor | None) -> Tensor:
        """Features (batch, width, time), 0 where a series has ended."""
        found = self.layer(x)
        if inside is None:
            return torch.relu(self.norm(found))
        rows = found.transpose(1, 2)
        normalized = torch.zeros_like(rows)
        normalized[inside] = torch.relu(self.norm(rows[inside]))
        return normalized.transpose(1, 2)


class _Side(nn.Module):
    """Layers side by side on the same input."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features of all layers."""
        return torch.cat([layer(x) for layer in self.layers], dim=1)


class ElasticNet(nn.Module):
    """Elastic convolutions, ordinary ones on what they find, the mean over time, a linear output.

    Parameters
    ----------
    channels : int
        Of the series.
    outputs : int
        Of the network, such as the number of classes.
    units : int, default=16
        Elastic units for each dilation.
    length : int, default=9
        Rows of their matrices, elements of a window.
    elasticity : int or float, default=3
        Columns of their matrices; 1 makes it an ordinary convolutional network.
    dilations : sequence of int, default=(1, 2, 4)
        How far apart the elements of a window are.
    widths : sequence of int, default=(64, 64)
        Filters of the convolutions behind the elastic layer.
    kernel_sizes : sequence of int, default=(5, 3)
        And their sizes, which must be odd.

    Examples
    --------
    >>> net = ElasticNet(channels=2, outputs=3)
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
        elasticity: float = 3,
        dilations: Sequence[int] = (1, 2, 4),
        widths: Sequence[int] = (64, 64),
        kernel_sizes: Sequence[int] = (5, 3),
    ) -> None:
        super().__init__()
        if not dilations:
            raise ValueError(f"dilations must have at least one element, got {dilations!r}")
        if len(widths) != len(kernel_sizes):
            raise ValueError(
                f"kernel_sizes must be as many as widths, {len(widths)}, got {kernel_sizes!r}"
            )
        if any(size % 2 == 0 for size in kernel_sizes):
            raise ValueError(f"kernel_sizes must be odd, got {kernel_sizes!r}")
        # Batch normalization takes the mean away: biases would do nothing.
        elastic = [
            ElasticConv1d(
                length, elasticity, units, channels, dilation=d, padding="same", bias=False
            )
            for d in dilations
        ]
        width = units * len(elastic)
        self.blocks = nn.ModuleList([_Normalized(_Side(elastic), width)])
        for wider, size in zip(widths, kernel_sizes, strict=True):
            layer = nn.Conv1d(width, wider, size, padding="same", bias=False)
            self.blocks.append(_Normalized(layer, wider))
            width = wider
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
        found: Tensor = self.output(x.sum(dim=2) / count)
        return found
