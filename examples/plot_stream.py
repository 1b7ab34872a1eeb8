"""
When can a decision be taken? Following a stream
================================================

An elastic linear model follows a series while it is recorded: each sample adds one row to the
dynamic program, at a cost that does not depend on what came before. So the decision value is known
at any time, long before the series is complete.
"""

import matplotlib.pyplot as plt
import numpy as np

from warplearn import ElasticLogisticRegression, datasets

train, test = datasets.load("ECG200", "train"), datasets.load("ECG200", "test")
model = ElasticLogisticRegression(random_state=0).fit(train.X, train.y)

online = model.stream()
values = np.empty((len(test.X), test.X.max_length))
for case, x in enumerate(test.X):
    online.reset()
    for time, sample in enumerate(x):
        values[case, time] = np.ravel(online.push([sample]))[-1]
np.testing.assert_allclose(values[:, -1], model.decision_function(test.X), atol=1e-8)

# %%
# After how many samples is the final class reached? The right panel counts the test series for
# which the sign of the decision value is right, sample by sample.

right = (values > 0) == (test.y == model.classes_[1])[:, None]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for label, colour in zip(model.classes_, ("C3", "C0"), strict=True):
    axes[0].plot(values[test.y == label][:12].T, color=colour, linewidth=0.8)
    axes[0].plot([], color=colour, label=f"class {label}")
axes[0].axhline(0, color="0.5", linewidth=0.8)
axes[0].set(title="decision value of 24 heartbeats", xlabel="samples seen")
axes[0].legend()
axes[1].plot(100 * right.mean(axis=0), color="k")
axes[1].set(title="share of right decisions", xlabel="samples seen", ylabel="%", ylim=(0, 100))
plt.show()
