"""
What is the mean of series that are not in step?
================================================

The arithmetic mean of series blurs what happens at different times. The elastic mean minimizes the
distances under warping instead, and keeps the shape.
"""

import matplotlib.pyplot as plt
import numpy as np

from warplearn import datasets, elastic_mean

train = datasets.load("PickupGestureWiimoteZ", "train")
gestures = train.X[train.y == 3]
print(f"lengths of the {len(gestures)} recordings: {gestures.lengths.tolist()}")
result = elastic_mean(gestures, space="series")
print(f"variation {result.history[0]:.2f} at the start, {result.variation:.2f} at the end")

# %%
# These recordings have different lengths, so for the arithmetic mean they are stretched to the same
# one first.

length = len(result.mean)
stretched = [np.interp(np.linspace(0, 1, length), np.linspace(0, 1, len(x)), x) for x in gestures]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained", sharey=True)
for axis, mean, title in zip(
    axes, (np.mean(stretched, axis=0), result.mean), ("arithmetic", "elastic"), strict=True
):
    for x in gestures:
        axis.plot(x, color="0.8")
    axis.plot(mean, color="C0", linewidth=2)
    axis.set(title=f"{title} mean", xlabel="time")
plt.show()
