"""
Why was it classified like this?
================================

The decision value of an elastic linear model is a bias plus what each time step contributes along
the path of the series. So a decision can be read step by step, and checked against what a
specialist sees in the series.
"""

import matplotlib.pyplot as plt

from warplearn import ElasticLogisticRegression, datasets
from warplearn.plotting import ContributionsDisplay

train, test = datasets.load("ECG200", "train"), datasets.load("ECG200", "test")
model = ElasticLogisticRegression(random_state=0).fit(train.X, train.y)
predicted = model.predict(test.X)

# %%
# A normal heartbeat (class 1) and one of an infarction (class -1) that are recognized, and one that
# is mistaken. Bars above zero speak for class 1, bars below for class -1.

cases = [
    ((predicted == test.y) & (test.y == 1)).argmax(),
    ((predicted == test.y) & (test.y == -1)).argmax(),
    (predicted != test.y).argmax(),
]
figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
for axis, case in zip(axes, cases, strict=True):
    ContributionsDisplay.from_estimator(model, test.X[[case]]).plot(axis)
    axis.set_title(f"class {test.y[case]}, predicted {predicted[case]}")
plt.show()
