"""
Is one method really better? Ranks over data sets
=================================================

Seven methods on twelve data sets, as printed in the paper: nearest neighbours with all series
(NN+ALL) or with prototypes (NN+AHC, NN+KME), and four elastic linear classifiers. A bar joins
methods that do not differ significantly.
"""

import matplotlib.pyplot as plt
import numpy as np

from warplearn.experiments.paper import paper_errors
from warplearn.plotting import CriticalDifferenceDisplay

table = paper_errors()
names = list(dict.fromkeys(name for name, _ in table))
methods = list(dict.fromkeys(method for _, method in table))
errors = np.array([[table[name, method].mean for method in methods] for name in names])
display = CriticalDifferenceDisplay.from_errors(errors, methods)
for name, rank in zip(display.ranking.names, display.ranking.ranks, strict=True):
    print(f"{name}: mean rank {rank:.2f} over {len(names)} data sets")

figure, axis = plt.subplots(figsize=(7, 2.6), layout="constrained")
display.plot(axis)
plt.show()
