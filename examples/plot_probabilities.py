"""
Can the probabilities be trusted?
=================================

Feature classifiers calibrate their probabilities by leave-one-out predictions of the training
series. A reliability diagram compares them with how often they are right.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import log_loss

from warplearn import ElasticFeatureClassifier, ElasticLogisticRegression, datasets

train, test = (datasets.load("ItalyPowerDemand", split) for split in ("train", "test"))
models = {
    "elastic features": ElasticFeatureClassifier(n_filters=2000, random_state=0),
    "elastic logistic regression": ElasticLogisticRegression(random_state=0),
}
figure, axis = plt.subplots(figsize=(5, 4.6), layout="constrained")
for name, model in models.items():
    P = model.fit(train.X, train.y).predict_proba(test.X)
    loss = log_loss(test.y, P)
    print(f"{name}: accuracy {model.score(test.X, test.y):.3f}, log loss {loss:.3f}")
    CalibrationDisplay.from_predictions(
        test.y == model.classes_[1], P[:, 1], n_bins=8, strategy="quantile", name=name, ax=axis
    )
axis.set(xlabel="predicted probability", ylabel="share that is of the class")
plt.show()
