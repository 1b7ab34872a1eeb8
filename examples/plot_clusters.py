"""
Which kinds of days are there? Clusters
=======================================

ItalyPowerDemand: the electricity used in Italy over a day. K-means under warping groups the days by
the shape of their curve, without knowing the season.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from warplearn import ElasticKMeans, datasets
from warplearn.plotting import ClustersDisplay

days = datasets.load("ItalyPowerDemand", "train")
model = ElasticKMeans(3, n_init=5, random_state=0).fit(days.X)
for cluster in range(3):
    winter = np.mean(days.y[model.labels_ == cluster] == 1)
    print(f"cluster {cluster}: {np.sum(model.labels_ == cluster)} days, {winter:.0%} in winter")
print(f"adjusted Rand index with the season: {adjusted_rand_score(days.y, model.labels_):.2f}")

ClustersDisplay.from_estimator(model, days.X).plot()
plt.show()
