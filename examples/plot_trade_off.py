"""
Accuracy, size and speed: which model?
======================================

Four kinds of model on three data sets. Models to the left are smaller or quicker, models further
down are more accurate. Where a linear model will do, nothing else decides as fast.
"""

import pickle
import time

import matplotlib.pyplot as plt

from warplearn import (
    DTWNeighborsClassifier,
    ElasticFeatureClassifier,
    ElasticLogisticRegression,
    NearestPrototypeClassifier,
    datasets,
)

MODELS = {
    "1-NN DTW": DTWNeighborsClassifier(n_neighbors=1),
    "prototypes": NearestPrototypeClassifier(n_prototypes=3, random_state=0),
    "elastic linear": ElasticLogisticRegression(random_state=0),
    "elastic features": ElasticFeatureClassifier(random_state=0),
}


def measure(model, train, test):
    """Error in percent, bytes, and microseconds for each decision."""
    model.fit(train.X, train.y)
    error = 100 * (1 - model.score(test.X, test.y))
    start = time.perf_counter()
    model.predict(test.X)
    return error, len(pickle.dumps(model)), 1e6 * (time.perf_counter() - start) / len(test.X)


figure, axes = plt.subplots(3, 2, figsize=(9, 8.4), layout="constrained", sharex="col")
for row, name in zip(axes, ("ECG200", "ItalyPowerDemand", "GunPoint"), strict=True):
    train, test = datasets.load(name, "train"), datasets.load(name, "test")
    for label, model in MODELS.items():
        error, size, duration = measure(model, train, test)
        print(f"{name}, {label}: {error:.1f} %, {size / 1e3:.0f} kB, {duration:.0f} µs")
        for axis, value in zip(row, (size / 1e3, duration), strict=True):
            axis.scatter(value, error, s=60, label=label)
    row[0].set(ylabel=f"{name}\nerror, %", xscale="log")
    row[1].set(xscale="log")
    for axis in row:
        axis.set_ylim(bottom=-1)
axes[0, 1].legend(fontsize="small")
axes[-1, 0].set_xlabel("size, kB")
axes[-1, 1].set_xlabel("time of a decision, µs")
plt.show()
