"""
Which gesture is it? A first classifier
=======================================

GunPoint: where a hand is, from left to right, while it draws a gun or only points a finger. The two
movements differ in details that come earlier or later in each recording. Nearest neighbours under
dynamic time warping are the usual answer; random elastic features make fewer mistakes, with no
parameter to set.
"""

import matplotlib.pyplot as plt
import numpy as np

from warplearn import DTWNeighborsClassifier, ElasticFeatureClassifier, datasets

train, test = datasets.load("GunPoint", "train"), datasets.load("GunPoint", "test")
features = ElasticFeatureClassifier(random_state=0).fit(train.X, train.y)
neighbors = DTWNeighborsClassifier(n_neighbors=1).fit(train.X, train.y)
for model in (features, neighbors):
    wrong = int((model.predict(test.X) != test.y).sum())
    print(f"{type(model).__name__}: {wrong} of {len(test.y)} test series wrong")

# %%
# The series that 1-NN DTW mistakes are drawn in colour over the training series of the class that
# they were taken for.

predicted = neighbors.predict(test.X)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
for axis, label, name in zip(axes, (1, 2), ("gun", "point"), strict=True):
    axis.plot(np.array(list(train.X[train.y == label])).T, color="0.8", linewidth=0.7)
    for x in test.X[(predicted == label) & (test.y != label)]:
        axis.plot(x, color="C3", linewidth=0.9)
    axis.set(title=f"taken for '{name}' by 1-NN DTW, wrongly (red)", xlabel="time")
plt.show()
