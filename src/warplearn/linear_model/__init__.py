"""Elastic linear models."""

from warplearn.linear_model.classifiers import (
    ElasticAdaline,
    ElasticLinearSVC,
    ElasticLogisticRegression,
    ElasticMarginPerceptron,
    ElasticPerceptron,
)
from warplearn.linear_model.cross_validation import (
    ElasticLinearSVCCV,
    ElasticLogisticRegressionCV,
)
from warplearn.linear_model.explanation import (
    Explanation,
)
from warplearn.linear_model.polarity import (
    Ensemble,
    Polarity,
)
from warplearn.linear_model.regressors import (
    ElasticLinearRegression,
)

__all__ = [
    "ElasticAdaline",
    "ElasticLinearRegression",
    "ElasticLinearSVC",
    "ElasticLinearSVCCV",
    "ElasticLogisticRegression",
    "ElasticLogisticRegressionCV",
    "ElasticMarginPerceptron",
    "ElasticPerceptron",
    "Ensemble",
    "Explanation",
    "Polarity",
]
