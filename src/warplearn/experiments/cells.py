"""How many cells of warping grids training and prediction compute.

An estimator may say so itself: `training_cells_`, set by `fit`, and `prediction_cells(lengths)`.
Otherwise it follows from the fitted attributes of those that compute nothing but grids.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def training_cells(model: Any, lengths: NDArray[np.integer[Any]]) -> int:
    """Cells of the forward grids of a fit on series of these lengths; 0 if it is not known.

    Each epoch scores each series twice, for its step and for the risk.
    """
    if hasattr(model, "training_cells_"):
        return int(model.training_cells_)
    if not (hasattr(model, "solutions_") and hasattr(model, "coef_")):
        return 0
    epochs = sum(solution.n_epochs for solution in model.solutions_)
    matrices = len(model.coef_) // len(model.solutions_)  # of each of the models
    return 2 * epochs * matrices * int(lengths.sum()) * int(model.coef_.shape[2])


def prediction_cells(
    model: Any, lengths: NDArray[np.integer[Any]], trained: NDArray[np.integer[Any]]
) -> int:
    """Cells of the grids of a prediction; 0 of models that are not only grids.

    Of nearest neighbours these are the grids of all pairs, though bounds save some of them.

    Parameters
    ----------
    model : fitted estimator
    lengths, trained : array of int
        The lengths of the series to predict, and of those that the model was fitted to.
    """
    if hasattr(model, "prediction_cells"):
        return int(model.prediction_cells(lengths))
    return int(lengths.sum()) * _columns(model, trained)


def _columns(model: Any, trained: NDArray[np.integer[Any]]) -> int:
    """Columns of all grids that a series is on."""
    if hasattr(model, "kneighbors"):
        return int(trained.sum())
    if hasattr(model, "prototypes_"):
        return int(model.prototypes_.shape[-1]) * len(model.prototypes_)
    if getattr(model, "coef_", np.empty(0)).ndim > 2:
        return int(model.coef_.shape[2]) * len(model.coef_)
    return 0
