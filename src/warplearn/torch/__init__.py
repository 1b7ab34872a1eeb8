"""Elastic layers for PyTorch, an optional extra: `pip install 'warplearn[torch]'`.

`ElasticLinear`, `ElasticDistance` and `ElasticConv1d` are modules like those of `torch.nn`.  The
functions that they call are in `warplearn.torch.functional`.  `ElasticConvNet` is a deep network
whose first layer is elastic, and `ElasticConvNetClassifier` is a scikit-learn estimator of it.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(
        "warplearn.torch needs PyTorch, which is not installed: pip install 'warplearn[torch]'"
    ) from missing

from warplearn.torch import functional
from warplearn.torch.classifier import ElasticConvNetClassifier
from warplearn.torch.layers import ElasticConv1d, ElasticDistance, ElasticLinear
from warplearn.torch.net import ElasticConvNet

__all__ = [
    "ElasticConv1d",
    "ElasticConvNet",
    "ElasticConvNetClassifier",
    "ElasticDistance",
    "ElasticLinear",
    "functional",
]
