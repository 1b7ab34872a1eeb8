"""Where the training of elastic linear models may begin: at the best model without warping.

Steps from random weights find a model that tells the few training series apart, and there are
many.  A ridge regression finds the one with small weights, at once, and chooses its penalty by
the error of leaving out one series.  Its weights, repeated in every column, are a good start.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.elastic.extent import columns_for
from warplearn.training.data import TrainingSet
from warplearn.training.matrices import Context
from warplearn.training.plan import Start

_PENALTIES = 10.0 ** np.arange(-5, 2.1, 0.5)  # relative to the mean square of the series
_CONSTANT = 0.1  # prior variance of the bias, relative as well
_MOST_CASES = 1000

Floats = NDArray[np.float64]


class Ridge(NamedTuple):
    """Series prepared for ridge regressions on any targets.

    Attributes
    ----------
    centred : array (cases, elements)
    mean : array (elements,)
    root : array (cases,)
        Roots of the weights of the cases, 1 on average.
    unit : float
        Mean square of the centred series.
    values, vectors : arrays
        Eigenvalues and eigenvectors of the weighted Gram matrix.
    """

    centred: Floats
    mean: Floats
    root: Floats
    unit: float
    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, elements: Floats, weights: Floats) -> Ridge:
        """Prepare elements (cases, elements) with weights (cases,)."""
        weights = weights / weights.mean()
        mean = weights @ elements / len(elements)
        centred = elements - mean
        unit = float(np.mean(weights * (centred**2).sum(axis=1))) or 1.0
        root = np.sqrt(weights)
        gram = (centred @ centred.T / unit + _CONSTANT) * np.outer(root, root)
        return cls(centred, mean, root, unit, *np.linalg.eigh(gram))

    def solve(self, target: Floats) -> tuple[Floats, float]:
        """Weights and bias with the penalty that leaving out one case is best with."""
        rotated = self.vectors.T @ (self.root * target)
        best = (np.inf, np.zeros(len(target)))
        for penalty in _PENALTIES:
            inverse = 1 / (np.maximum(self.values, 0) + penalty)
            dual = self.vectors @ (inverse * rotated)
            left_out = dual / ((self.vectors**2) @ inverse)
            best = min(best, (float(left_out @ left_out), dual), key=lambda each: each[0])
        dual = self.root * best[1]
        weights = self.centred.T @ dual / self.unit
        return weights, float(_CONSTANT * dual.sum() - self.mean @ weights)


def without_warping(
    estimator: Any, data: TrainingSet, rng: np.random.RandomState, scale: float
) -> tuple[Floats, Floats]:
    """Weights (rows of the targets, n, channels) and biases of a model without warping.

    Parameters
    ----------
    estimator : ElasticLinearClassifier
    data : TrainingSet
    scale : float
        What outputs of 1 and -1, which the regression aims at, are multiplied with.
    """
    cases = data.weighted
    if len(cases) > _MOST_CASES:
        cases = np.sort(rng.permutation(cases)[:_MOST_CASES])
    some = data.X[cases]
    n, d = data.max_length, some.n_channels
    elements = np.zeros((len(cases), n, d))
    elements[:, : some.max_length] = some.values
    ridge = Ridge.of(elements.reshape(len(cases), -1), estimator._weights(data)[cases])
    readout = estimator._readout(data)
    targets = np.where(readout.targets(data.y)[:, cases] > 0, 1.0, -1.0)
    weights, biases = zip(*(ridge.solve(target) for target in targets), strict=True)
    return scale * np.reshape(weights, (len(targets), n, d)), scale * np.array(biases)


def start_from(
    estimator: Any,
    data: TrainingSet,
    rng: np.random.RandomState,
    weights: Floats,
    biases: Floats,
) -> Start:
    """A start at a model without warping, with a little noise that tells columns apart."""
    readout, noise = estimator._readout(data), estimator.init_scale
    columns = columns_for(estimator.elasticity, data.max_length)
    pair = readout.n_matrices == 2 and not readout.joint
    shares = np.array([0.5, -0.5]) if pair else np.ones(readout.n_matrices)
    rows = [readout.rows(model) for model in range(readout.n_models)]
    share = np.tile(shares, len(rows))
    W = weights[np.concatenate(rows)] * share[:, None, None]
    W = np.repeat(W[:, :, None], columns, axis=2)
    W += rng.uniform(-noise, noise, W.shape)
    b = biases[np.concatenate(rows)] * share
    return Start(W.astype(data.X.dtype), b, context=Context.of(readout, data))
