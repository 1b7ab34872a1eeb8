"""
What does warping do?
=====================

Two recordings of the same gesture do not run at the same pace. Dynamic time warping finds which
elements belong together: a path through the grid of all pairs, along which the sum of the
differences is smallest.
"""

import matplotlib.pyplot as plt

from warplearn import datasets, dtw
from warplearn.plotting import AlignmentDisplay, WarpingPathDisplay

train = datasets.load("GunPoint", "train")
x, y = train.X[train.y == 1][0], train.X[train.y == 1][7]
straight = float(((x - y) ** 2).sum() ** 0.5)
print(f"Euclidean distance {straight:.2f}, under warping {dtw(x, y):.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
AlignmentDisplay.from_series(x, y).plot(left)
WarpingPathDisplay.from_series(x, y).plot(right)
right.set_title("the path on the grid of all pairs")
plt.show()
