"""
Several channels at once
========================

BasicMotions: a smart watch records acceleration and rotation, six channels, while its wearer
stands, walks, runs or plays badminton. An array (cases, channels, time) is all it takes.
"""

import matplotlib.pyplot as plt
import numpy as np

from warplearn import ElasticFeatureClassifier, datasets

train, test = datasets.load("BasicMotions", "train"), datasets.load("BasicMotions", "test")
model = ElasticFeatureClassifier(random_state=0).fit(train.X, train.y)
print(f"{train.X}\n{100 * model.score(test.X, test.y):.1f} % of the test series are right")

figure, axes = plt.subplots(2, 2, figsize=(10, 5), layout="constrained", sharex=True)
for axis, label in zip(axes.flat, np.unique(train.y), strict=True):
    axis.plot(train.X[train.y == label][0].T, linewidth=0.9)
    axis.set_title(label)
axes[0, 0].legend([f"channel {c}" for c in range(6)], ncol=2, fontsize="x-small")
plt.show()
