"""
A model of a few kilobytes that beats 1-NN DTW
==============================================

ECG200: is a heartbeat normal? Nearest neighbours keep all training series and align a new one with
each of them. An elastic linear model keeps one narrow matrix for each class, and scores a series
along its best path through it. On these data it is also the better one.
"""

import matplotlib.pyplot as plt

from warplearn import DTWNeighborsClassifier, ElasticLogisticRegression, datasets
from warplearn.plotting import WeightMatrixDisplay

train, test = datasets.load("ECG200", "train"), datasets.load("ECG200", "test")
linear = ElasticLogisticRegression(random_state=0).fit(train.X, train.y)
neighbors = DTWNeighborsClassifier(n_neighbors=1).fit(train.X, train.y)
cells = {
    "elastic logistic regression": linear.coef_[..., 0].size * linear.coef_.shape[2],
    "1-NN DTW": len(train.X) * train.X.max_length**2,
}
for (name, count), model in zip(cells.items(), (linear, neighbors), strict=True):
    error = 100 * (1 - model.score(test.X, test.y))
    print(f"{name}: {error:.0f} % errors, {count:,} cells for each decision")

# %%
# The weights of both classes, and the path of a test series through them. Red weights speak for the
# class where the series is high, blue ones where it is low.

figure, axes = plt.subplots(2, 1, figsize=(9, 4.6), layout="constrained")
for unit, axis in enumerate(axes):
    WeightMatrixDisplay.from_estimator(linear, test.X[:1], unit=unit).plot(axis)
plt.show()
