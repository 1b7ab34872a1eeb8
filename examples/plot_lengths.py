"""
Series of different lengths
===========================

JapaneseVowels: nine speakers, twelve channels, 7 to 29 time steps. Nothing has to be cut, padded or
resampled: a list of arrays is a collection of series.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay

from warplearn import ElasticFeatureClassifier, datasets

train, test = datasets.load("JapaneseVowels", "train"), datasets.load("JapaneseVowels", "test")
model = ElasticFeatureClassifier(random_state=0).fit(list(train.X), train.y)
wrong = int((model.predict(test.X) != test.y).sum())
print(f"{train.X}: {wrong} of {len(test.y)} test series wrong")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.hist(train.X.lengths, bins=np.arange(6.5, 30))
left.set(title="lengths of the training series", xlabel="time steps")
ConfusionMatrixDisplay.from_estimator(model, test.X, test.y, ax=right, colorbar=False)
right.set_title("speakers")
plt.show()
