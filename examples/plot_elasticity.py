"""
How elastic should a linear model be? A grid search in lanes
============================================================

The elasticity is the number of columns of the weight matrix: 1 is the ordinary linear model. A grid
search trains all candidates in all folds side by side, in the SIMD lanes of the CPU.
"""

import matplotlib.pyplot as plt
import numpy as np

from warplearn import ElasticGridSearchCV, ElasticLogisticRegression, datasets

train, test = datasets.load("ECG200", "train"), datasets.load("ECG200", "test")
grid = {"elasticity": [1, 2, 3, 5, 10, 20]}
search = ElasticGridSearchCV(ElasticLogisticRegression(random_state=0), grid, cv=5)
search.fit(train.X, train.y)
error = 100 * (1 - search.score(test.X, test.y))
print(f"chosen: {search.best_params_}, test error {error:.1f} %")

scores = 100 * (1 - search.cv_results_["mean_test_score"])
spread = 100 * search.cv_results_["std_test_score"] / np.sqrt(5)
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.errorbar(grid["elasticity"], scores, spread, marker="o", capsize=3)
axis.set(title="ECG200, five folds", xlabel="elasticity (columns)", ylabel="error, %", xscale="log")
plt.show()
