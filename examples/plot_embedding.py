"""
Principal components and a Gaussian mixture of time series
==========================================================

Series are embedded around their mean: along its best warping path each is brought to the time of
the mean, and so becomes an ordinary vector. What is known for vectors then applies: here five
principal components, and a mixture of Gaussians that is compared with the classes it never saw.

The series are those of the set named on the command line, by default generated ones; with
SyntheticControl they are those of the archive.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from warplearn import ElasticEmbedding, datasets


def load(name):
    train = datasets.load(name, "train")
    return train.name, train.X.values[:, :, 0], train.y


def main(name="ControlCharts"):
    name, X, labels = load(name)
    embedding = ElasticEmbedding("series").fit(X)
    components = make_pipeline(embedding, PCA(5)).fit(X)
    points = components.transform(X)
    count = len(np.unique(labels))
    mixture = GaussianMixture(count, n_init=10, random_state=0).fit(points)
    found = mixture.predict(points)
    score = adjusted_rand_score(labels, found)
    share = components[-1].explained_variance_ratio_.sum()
    print(f"{name}: five components carry {share:.0%} of the variance")
    print(f"adjusted Rand index of the mixture and the classes: {score:.2f}")

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    left.plot(X.T, color="0.8", linewidth=0.5)
    left.plot(embedding.base_, color="k")
    left.set_title(f"{name}: series and their mean")
    middle.scatter(*points.T[:2], c=labels, cmap="viridis", s=14)
    middle.set_title("first two components, by class")
    right.scatter(*points.T[:2], c=found, cmap="plasma", s=14)
    right.scatter(*mixture.means_.T[:2], marker="x", color="k")
    right.set_title(f"by mixture (adjusted Rand {score:.2f})")
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:2])
    plt.show()
