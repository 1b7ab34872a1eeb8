"""Elastic layers for PyTorch against the same in PyTorch alone, and against a soft-DTW layer.

One thread on either side.  tslearn, if it is not installed, is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable

import numba
import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.measure import at_least, best_times, describe_machine
from warplearn.elastic.costs import resolve
from warplearn.torch import ElasticConv1d, ElasticLinear, diagonal

BATCH, TIME, ELASTICITY, UNITS = 64, 150, 15, 32


def there_and_back(function: Callable[[], Tensor], *leaves: Tensor) -> Callable[[], None]:
    """Forward, and backward to the leaves."""

    def call() -> None:
        for leaf in leaves:
            leaf.grad = None
        function().sum().backward()

    return call


def linear_layer() -> None:
    print(
        f"\nForward and backward of ElasticLinear({TIME}, {ELASTICITY}, units={UNITS}) "
        f"on a batch of {BATCH}, gradients of weights and input"
    )
    layer = ElasticLinear(TIME, ELASTICITY, UNITS, bias=False)
    x = torch.randn(BATCH, 1, TIME, requires_grad=True)
    product, _ = resolve("product")
    lengths = np.full(BATCH, TIME)

    def in_torch() -> Tensor:
        return diagonal.scores(product, x.transpose(1, 2), layer.weight, lengths)

    kernels = there_and_back(lambda: layer(x), x, layer.weight)
    times = best_times({"kernels": kernels}, repeats=20)
    times |= best_times(
        {"anti-diagonals": there_and_back(in_torch, x, layer.weight)} | _soft_dtw(x), repeats=3
    )
    times["kernels"] = min(
        times["kernels"], best_times({"kernels": kernels}, repeats=20)["kernels"]
    )
    cells = BATCH * UNITS * TIME * ELASTICITY
    for name, seconds in times.items():
        print(
            f"  {name:<36s} {1e3 * seconds:9.3f} ms  {cells / seconds / 1e9:7.3f} billion cells/s"
        )
    for name in times:
        if name != "kernels":
            at_least(f"  times faster than {name}", times[name] / times["kernels"], 20)


def _soft_dtw(x: Tensor) -> dict[str, Callable[[], None]]:
    """The loss of tslearn between all series and prototypes, on grids as large as the layer's."""
    if importlib.util.find_spec("tslearn") is None:
        print("  tslearn is not installed (pip install 'warplearn[bench]')")
        return {}
    from tslearn.metrics import SoftDTWLossPyTorch

    loss = SoftDTWLossPyTorch(gamma=1.0)
    prototypes = torch.randn(UNITS, ELASTICITY, 1, requires_grad=True)

    def layer() -> Tensor:
        series = x.transpose(1, 2).repeat_interleave(UNITS, 0)
        return loss(series, prototypes.repeat(BATCH, 1, 1))

    return {"tslearn's soft-DTW": there_and_back(layer, x, prototypes)}


def convolutions() -> None:
    print(f"\nForward and backward of convolutions, {UNITS} units, on a batch of {BATCH}")
    x = torch.randn(BATCH, 1, TIME, requires_grad=True)
    layers: dict[str, nn.Module] = {
        f"ElasticConv1d(9, {m}, units={UNITS})": ElasticConv1d(9, m, UNITS) for m in (1, 2, 3)
    }
    layers["torch.nn.Conv1d(1, 32, 9)"] = nn.Conv1d(1, UNITS, 9)
    calls = {
        name: there_and_back(lambda layer=layer: layer(x), x, *layer.parameters())
        for name, layer in layers.items()
    }
    for name, seconds in best_times(calls, repeats=20).items():
        print(f"  {name:<36s} {1e3 * seconds:9.3f} ms")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks torch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    print(describe_machine("torch", "tslearn"))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    numba.set_num_threads(1)
    linear_layer()
    convolutions()
