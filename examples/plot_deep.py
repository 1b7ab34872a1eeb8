"""
A deep elastic network, and what it looks at
============================================

The first layer slides small elastic matrices along the series, two convolutions follow, and the
output is linear in the means over time: so it is a mean of contributions of the time points, which
can be drawn. The network is compared with 1-NN DTW and with elastic logistic regression.

The series are those of the set named on the command line, by default generated ones; with GunPoint
they are those of the archive. Needs `pip install 'warplearn[torch,plot]'`.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import torch

from warplearn import DTWNeighborsClassifier, ElasticLogisticRegression, datasets
from warplearn.torch import ElasticConvNetClassifier


def contributions(model, x):
    """What each time point of a series adds to the output for the second class."""
    net = model.net()
    features = torch.as_tensor((x - model.mean_) / model.scale_, dtype=torch.float32).T[None]
    with torch.no_grad():
        for block in net.blocks:
            features = block(features, None)
        difference = net.output.weight[1] - net.output.weight[0]
        return (difference[:, None] * features[0]).sum(dim=0).numpy()


def main(name="WarpedBumps"):
    train, test = datasets.load(name, "train"), datasets.load(name, "test")
    model = ElasticConvNetClassifier(random_state=0, max_iter=60, verbose=1).fit(train.X, train.y)
    others = DTWNeighborsClassifier(), ElasticLogisticRegression(random_state=0)
    for each in (model, *(other.fit(train.X, train.y) for other in others)):
        error = 100 * (1 - each.score(test.X, test.y))
        print(f"{name}: {type(each).__name__} {error:.1f} % errors on {len(test.y)} test series")

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    axes[0].plot(model.history_)
    axes[0].set(title="loss", xlabel="epoch", yscale="log")
    for axis, label in zip(axes[1:], model.classes_[:2], strict=True):
        case = int(np.flatnonzero(test.y == label)[0])
        x = test.X.values[case, : test.X.lengths[case]]
        speaks = contributions(model, x)
        most = np.abs(speaks).max()
        points = axis.scatter(
            np.arange(len(x)), x[:, 0], c=speaks, cmap="coolwarm", vmin=-most, vmax=most, s=12
        )
        axis.set(title=f"a series of class {label}", xlabel="time")
    figure.colorbar(points, ax=axes[1:], label=f"speaks for {model.classes_[1]}")
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:2])
    plt.show()
