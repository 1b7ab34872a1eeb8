"""
Principal components and a Gaussian mixture of time series
==========================================================

Series are embedded around their mean: along its best warping path each is brought to the time of
the mean, and so becomes an ordinary vector. What is known for vectors then applies: here five
principal components, and a mixture of Gaussians that is compared with the classes it never saw.

With the environment variable WARPLEARN_DATA set to a folder of the UCR archive, the series are
those of the set named on the command line, by default SyntheticControl. Otherwise they are made up.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from warplearn.embedding import ElasticEmbedding


def load(name):
    folder = os.environ.get("WARPLEARN_DATA")
    if folder:
        table = np.loadtxt(Path(folder) / name / f"{name}_TRAIN.tsv", delimiter="\t")
        return name, table[:, 1:], table[:, 0].astype(int)
    rng = np.random.default_rng(0)
    labels = np.repeat([1, 2, 3], 30)
    time = np.linspace(0, 1, 80)
    X = np.array([np.sin((3 + 2 * c) * time ** rng.uniform(0.7, 1.4)) for c in labels])
    return "made up", X + 0.1 * rng.normal(size=X.shape), labels


def main(name="SyntheticControl"):
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
