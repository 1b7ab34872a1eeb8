"""Elastic layers for PyTorch, an optional extra: `pip install 'warplearn[torch]'`.

`ElasticLinear`, `ElasticDistance` and `ElasticConv1d` are modules like those of `torch.nn`; the
functions behind them are in `warplearn.torch.functional`.  `ElasticNet` is a deep network of them,
`ElasticNetClassifier` the same for scikit-learn.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(
        "warplearn.torch needs PyTorch, which is not installed: pip install 'warplearn[torch]'"
    ) from missing

from warplearn.torch import functional
from warplearn.torch.classifier import ElasticNetClassifier
from warplearn.torch.layers import ElasticConv1d, ElasticDistance, ElasticLinear
from warplearn.torch.net import ElasticNet

__all__ = [
    "ElasticConv1d",
    "ElasticDistance",
    "ElasticLinear",
    "ElasticNet",
    "ElasticNetClassifier",
    "functional",
]
