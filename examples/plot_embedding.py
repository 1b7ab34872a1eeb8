"""
Principal components of series
==============================

Series are embedded around their mean: along its best warping path each is brought to the time of
the mean, and so becomes an ordinary vector. What is known for vectors then applies, here principal
components.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from warplearn import ElasticEmbedding, datasets

train = datasets.load("GunPoint", "train")
embedding = ElasticEmbedding("series").fit(train.X)
components = make_pipeline(embedding, PCA(2)).fit(train.X)
points = components.transform(train.X)
share = components[-1].explained_variance_ratio_.sum()
print(f"two components carry {share:.0%} of the variance")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for x in train.X:
    left.plot(x, color="0.8", linewidth=0.5)
left.plot(embedding.base_, color="k")
left.set_title("GunPoint: series and their mean")
for label, name in ((1, "gun"), (2, "point")):
    right.scatter(*points[train.y == label].T, s=16, label=name)
right.set_title("first two components")
right.legend()
plt.show()
