"""
What is most like this one? Search
==================================

The nearest series under dynamic time warping, exactly, with lower bounds that leave out most of the
distances.
"""

import matplotlib.pyplot as plt

from warplearn import datasets, nearest_neighbors

data = datasets.load("ItalyPowerDemand", "test")
query = data.X[[0]]
found = nearest_neighbors(data.X[1:], query, n_neighbors=5)
print(f"distances of the five nearest of {len(data.X) - 1} days: {found.distances[0].round(2)}")
left_out = found.cells_avoided / (found.cells_avoided + found.cells_computed)
print(f"{left_out:.0%} of the cells were left out")

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for place in found.indices[0]:
    axis.plot(data.X[1 + int(place)], color="C0", linewidth=0.8)
axis.plot(query[0], color="k", linewidth=2, label="the day asked for")
axis.plot([], color="C0", label="its nearest neighbours")
axis.set(xlabel="hour", ylabel="demand, standardized")
axis.legend()
plt.show()
