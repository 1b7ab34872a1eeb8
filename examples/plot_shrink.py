"""
How small can a feature model be?
=================================

A feature model starts with thousands of random filters. `shrink` drops those with the smallest
coefficients, some at a time, and fits the rest again; the leave-one-out score says when to stop.
"""

import matplotlib.pyplot as plt
import numpy as np

from warplearn import DTWNeighborsClassifier, ElasticFeatureClassifier, datasets

train, test = datasets.load("GunPoint", "train"), datasets.load("GunPoint", "test")
model = ElasticFeatureClassifier(n_filters=2000, random_state=0).fit(train.X, train.y)
sizes, errors = [2000], [100 * (1 - model.score(test.X, test.y))]
for n_filters in (800, 320, 128, 56, 24):
    model = model.shrink(train.X, train.y, n_filters=n_filters)
    sizes.append(model.features_.n_filters_)
    errors.append(100 * (1 - model.score(test.X, test.y)))
    print(f"{sizes[-1]} filters, {np.size(model.coef_)} coefficients: {errors[-1]:.1f} % errors")

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(sizes, errors, "o-")
neighbors = DTWNeighborsClassifier(n_neighbors=1).fit(train.X, train.y)
beside = 100 * (1 - neighbors.score(test.X, test.y))
axis.axhline(beside, color="0.5", linestyle="--", label="1-NN DTW")
axis.set(title="GunPoint", xlabel="filters", ylabel="test error, %", xscale="log")
axis.legend()
plt.show()
