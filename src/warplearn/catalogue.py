"""The estimators of the library, in one table.

The lazy imports of the package, the command line, the studies and the tests of scikit-learn's
contract are all made from it: a new estimator is entered here and nowhere else.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """An estimator.

    Attributes
    ----------
    module : str
        Where it is defined.
    task : {"classify", "regress", "cluster", "transform", "search", "detect"}
    command : str
        What the command line calls it; empty if it has no command.
    public : bool
        Whether it can be imported from `warplearn` itself.
    """

    module: str
    task: str
    command: str = ""
    public: bool = True


ESTIMATORS: dict[str, Entry] = {
    "DTWNeighborsClassifier": Entry("warplearn.neighbors.nearest", "classify", "neighbors"),
    "DTWNeighborsRegressor": Entry("warplearn.neighbors.nearest", "regress"),
    "ElasticAdaline": Entry("warplearn.linear_model.classifiers", "classify", "adaline"),
    "ElasticAgglomerative": Entry("warplearn.cluster.trees", "cluster", "tree"),
    "ElasticConvNetClassifier": Entry("warplearn.torch.classifier", "classify", public=False),
    "ElasticDetector": Entry("warplearn.detection.detector", "detect"),
    "ElasticEarlyClassifier": Entry("warplearn.detection.early", "detect"),
    "ElasticEmbedding": Entry("warplearn.embedding", "transform"),
    "ElasticFeatureClassifier": Entry("warplearn.features.models", "classify", "features"),
    "ElasticFeatureRegressor": Entry("warplearn.features.models", "regress"),
    "ElasticFeatures": Entry("warplearn.features.transformer", "transform"),
    "ElasticGridSearchCV": Entry("warplearn.model_selection", "search"),
    "ElasticKMeans": Entry("warplearn.cluster.kmeans", "cluster", "kmeans"),
    "ElasticLVQClassifier": Entry("warplearn.neighbors.prototypes", "classify", "lvq"),
    "ElasticLinearRegression": Entry("warplearn.linear_model.regressors", "regress"),
    "ElasticLinearSVC": Entry("warplearn.linear_model.classifiers", "classify", "svm"),
    "ElasticLinearSVCCV": Entry("warplearn.linear_model.cross_validation", "classify", "svm-cv"),
    "ElasticLogisticRegression": Entry(
        "warplearn.linear_model.classifiers", "classify", "logistic"
    ),
    "ElasticLogisticRegressionCV": Entry(
        "warplearn.linear_model.cross_validation", "classify", "logistic-cv"
    ),
    "ElasticMLPClassifier": Entry("warplearn.neural_network.mlp", "classify", "network"),
    "ElasticMLPRegressor": Entry("warplearn.neural_network.mlp", "regress"),
    "ElasticMarginPerceptron": Entry("warplearn.linear_model.classifiers", "classify", "margin"),
    "ElasticMean": Entry("warplearn.mean", "cluster"),
    "ElasticPerceptron": Entry("warplearn.linear_model.classifiers", "classify", "perceptron"),
    "ElasticSOM": Entry("warplearn.cluster.maps", "cluster", "som"),
    "ElasticShapelets": Entry("warplearn.features.shapelets", "transform"),
    "NearestPrototypeClassifier": Entry("warplearn.neighbors.prototypes", "classify", "prototypes"),
}


def register(name: str, entry: Entry) -> None:
    """Enter an estimator of one's own, so that studies and the command line know it."""
    if name in ESTIMATORS and ESTIMATORS[name] != entry:
        raise ValueError(f"name {name!r} is taken by {ESTIMATORS[name].module}")
    ESTIMATORS[name] = entry


def estimator_class(name: str) -> Any:
    """The class of an estimator; optional libraries are imported only when it is asked for."""
    return getattr(import_module(ESTIMATORS[name].module), name)


def estimators(task: str | None = None) -> list[str]:
    """Names of all estimators, or of those for one task."""
    return [name for name, entry in ESTIMATORS.items() if task in (None, entry.task)]


def commands(task: str) -> dict[str, str]:
    """What the command line calls the estimators for a task, and their names."""
    return {
        entry.command: name
        for name, entry in ESTIMATORS.items()
        if entry.task == task and entry.command
    }
