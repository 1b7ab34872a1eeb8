"""
What an elastic classifier has learned, and why it decides as it does
=====================================================================

An elastic linear classifier holds a matrix of weights for each class. A series is scored along its
best path through the matrix: the path says where in the learned pattern each time step is, and the
weights under it what the step contributes to the decision.

The series are those of the set named on the command line, by default generated ones.
"""

import sys

import matplotlib.pyplot as plt

from warplearn import ElasticLogisticRegression, datasets
from warplearn.plotting import (
    ContributionsDisplay,
    LearningCurveDisplay,
    WeightMatrixDisplay,
)


def main(name="CylinderBellFunnel", case=0):
    train, test = datasets.load(name, "train"), datasets.load(name, "test")
    model = ElasticLogisticRegression(learning_rate_init=0.03, alpha=0.001, random_state=0).fit(
        train.X, train.y
    )
    print(f"{name}: accuracy {model.score(test.X, test.y):.2f} on {len(test.X)} test series")
    x = test.X[[int(case)]]
    units = len(model.coef_)
    figure, axes = plt.subplots(
        2, max(2, units), figsize=(4 * max(2, units), 6), layout="constrained", squeeze=False
    )
    for unit in range(units):
        WeightMatrixDisplay.from_estimator(model, x, unit=unit).plot(axes[0, unit])
    ContributionsDisplay.from_estimator(model, x).plot(axes[1, 0])
    LearningCurveDisplay.from_estimator(model).plot(axes[1, 1])
    for ax in [*axes[0, units:], *axes[1, 2:]]:
        ax.set_axis_off()
    figure.suptitle(f"{name}, test series {case} of class {test.y[int(case)]}")
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:3])
    plt.show()
