"""
Elastic layers in PyTorch: what does a deep network look at?
============================================================

The first layer of this network slides small elastic filters along the series, two ordinary
convolutions follow, and the output is linear in the means over time. So the output is a mean of
contributions of the time points, and these can be drawn. Needs ``pip install 'warplearn[torch]'``.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from warplearn import datasets
from warplearn.torch import ElasticConvNetClassifier

torch.set_num_threads(1)
train, test = datasets.load("ItalyPowerDemand", "train"), datasets.load("ItalyPowerDemand", "test")
model = ElasticConvNetClassifier(random_state=0, max_iter=40).fit(train.X, train.y)
print(f"{100 * (1 - model.score(test.X, test.y)):.1f} % errors on {len(test.y)} test series")


def contributions(x):
    """Contribution of each time point of a series to the second class."""
    net = model.net()
    features = torch.as_tensor((x[:, None] - model.mean_) / model.scale_, dtype=torch.float32)
    features = features.T[None]
    with torch.no_grad():
        for block in net.blocks:
            features = block(features, None)
        difference = net.output.weight[1] - net.output.weight[0]
        return (difference[:, None] * features[0]).sum(dim=0).numpy()


# %%
# Days in winter (class 1) and in summer (class 2), coloured by what each hour contributes.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharey=True)
for axis, label in zip(axes, model.classes_, strict=True):
    for case in np.flatnonzero(test.y == label)[:5]:
        x = test.X[int(case)]
        points = axis.scatter(
            np.arange(len(x)), x, c=contributions(x), cmap="coolwarm", vmin=-0.5, vmax=0.5, s=14
        )
    axis.set(title=f"class {label}", xlabel="hour")
figure.colorbar(points, ax=axes, label=f"contribution to class {model.classes_[1]}")
plt.show()
