"""Layers and functions for PyTorch: what the library's own functions give, or an error that says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import warplearn
from warplearn.torch import ElasticConv1d, ElasticConvNet, ElasticDistance, ElasticLinear
from warplearn.torch import functional as F  # noqa: N812

from .contract import Case, choice, close, outcome, refused
from .inputs import hostile, values


def _tensors(rng: np.random.Generator, dtype: Any) -> tuple[Any, Any]:
    """Series (batch, channels, time), matrices (units, rows, columns, channels)."""
    cases, channels, time, units, columns = (int(rng.integers(1, 4)) for _ in range(5))
    x = values(rng, (cases, channels, 2 + time), dtype)
    W = values(rng, (units, 2 + time + int(rng.integers(2)), columns, channels), dtype)
    return x, W


def functions(rng: np.random.Generator) -> None:
    """Values and gradients are those of the library."""
    dtype = choice(rng, (np.float32, np.float64))
    x, W = _tensors(rng, dtype)
    bank = W if W.shape[-1] > 1 else W[..., 0]
    cost = choice(rng, ("product", "squared"))
    weight = torch.tensor(W, requires_grad=True)
    if cost == "product":
        got = F.elastic_inner_product(torch.tensor(x), weight)
    else:
        got = F.elastic_distance(torch.tensor(x), weight)
    ref = warplearn.value_and_gradient(x, bank, cost=cost)
    close(got.detach().numpy(), ref.values, dtype)
    got.sum().backward()
    close(weight.grad.numpy().reshape(ref.W.shape), ref.W, dtype)


def smooth(rng: np.random.Generator) -> None:
    """A smooth maximum is above the maximum, and as near to it as the temperature is low."""
    x, W = rng.normal(size=(2, 1, 5)), rng.normal(size=(3, 5, 2, 1))
    t = 10.0 ** rng.uniform(-6, 2)
    hard = F.elastic_inner_product(torch.tensor(x), torch.tensor(W))
    soft = F.elastic_inner_product(torch.tensor(x), torch.tensor(W), temperature=t)
    assert bool(torch.isfinite(soft).all())
    assert bool((soft >= hard - 1e-9).all())
    assert bool((soft <= hard + t * 3 * np.log(5) + 1e-9).all()), "more paths than there are"


def _layers(rng: np.random.Generator) -> tuple[Any, dict[str, Any], Any]:
    """A layer, its arguments, and what it takes."""
    x = torch.tensor(rng.normal(size=(2, 1, 6)), dtype=torch.float32)
    one = {
        "length": 6,
        "elasticity": 2,
        "units": 2,
        "channels": 1,
        "band": None,
        "temperature": 0.0,
    }
    return choice(
        rng,
        (
            (ElasticLinear, {**one, "bias": True}, x),
            (ElasticDistance, {**one, "cost": "squared", "root": True}, x),
            (ElasticConv1d, {**one, "length": 3, "stride": 1, "dilation": 1, "padding": 0}, x),
            (
                ElasticConvNet,
                {
                    "channels": 1, "outputs": 2, "units": 2, "length": 3, "elasticity": 2,
                    "dilations": (1,), "widths": (4,), "filter_lengths": (3,),
                },
                x,
            ),
        ),
    )  # fmt: skip


def malformed(rng: np.random.Generator) -> None:
    """An argument of a layer is something else."""
    layer, arguments, x = _layers(rng)
    name = choice(rng, sorted(arguments))
    changed = {**arguments, name: hostile(rng)}
    try:
        outcome(lambda: layer(**changed)(x), *arguments, "x", "rows")
    except RuntimeError as error:  # as PyTorch says that there is not enough memory
        assert "allocate" in str(error) or "overflowed" in str(error), error


def tensors(rng: np.random.Generator) -> None:
    """A layer is given something else."""
    layer, arguments, x = _layers(rng)
    shape = [int(size) for size in rng.integers(0, 8, int(rng.integers(0, 5)))]
    kinds = (torch.float16, torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64)
    given = choice(
        rng, (torch.ones(shape, dtype=choice(rng, kinds)), x.double(), x[:, :0], hostile(rng))
    )
    try:
        result = outcome(lambda: layer(**arguments)(given), "x", "input", "Tensor")
    except RuntimeError as error:  # PyTorch's own layers
        assert layer is ElasticConvNet and str(error), layer
        return
    assert refused(result) or bool(torch.isfinite(result).all())


CASES: dict[str, Case] = {
    "functions": functions, "smooth": smooth, "malformed": malformed, "tensors": tensors,
}  # fmt: skip
