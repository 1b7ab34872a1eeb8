"""
Predict a number from a series
==============================

How much electricity will be used this evening? From the first 18 hours of a day (ItalyPowerDemand),
predict the peak of the last six. A feature regressor is fitted in a fraction of a second.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from warplearn import ElasticFeatureRegressor, datasets

days = datasets.load("ItalyPowerDemand")
values = np.array(list(days.X))
X, y = values[:, :18], values[:, 18:].max(axis=1)
train, test = slice(0, 300), slice(300, None)

features = ElasticFeatureRegressor(n_filters=1000, random_state=0).fit(X[train], y[train])
plain = RidgeCV(np.logspace(-3, 3, 13)).fit(X[train], y[train])
always = np.full(len(y[test]), y[train].mean())
for name, predicted in {
    "always the mean": always,
    "ridge regression": plain.predict(X[test]),
    "elastic features": features.predict(X[test]),
}.items():
    print(f"{name}: mean absolute error {np.abs(predicted - y[test]).mean():.3f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(values[:40].T, color="0.7", linewidth=0.7)
left.axvspan(18, 23, color="C1", alpha=0.2)
left.set(title="predict the peak of the shaded part", xlabel="hour")
right.scatter(y[test], features.predict(X[test]), s=6)
right.axline((0, 0), slope=1, color="0.5")
right.set(title="elastic features", xlabel="used", ylabel="predicted")
plt.show()
