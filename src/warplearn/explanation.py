"""Why a model decides as it does, for every classifier and regressor.

Elastic linear models take their decision apart exactly (`ElasticLinearModel.explain`).  Of any
other model it is measured by occlusion: a window of the series is replaced by a straight line, and
what the decision value loses by that is the contribution of the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from warplearn.linear_model.explanation import Explanation
from warplearn.series.collection import SeriesCollection

__all__ = ["Explanation", "decision_values", "explain", "occlude"]

Array = NDArray[np.float64]

_WINDOWS = 10  # that would cover a series side by side, by default
_BLOCK = 256  # occluded series that are classified at a time


def explain(model: Any, X: Any, *, width: int | None = None) -> Explanation:
    """How much each time step (and channel) contributes to the decision values of a model.

    Parameters
    ----------
    model : fitted classifier or regressor of the library
    X : series collection
    width : int, optional
        Length of the occluded windows, by default a tenth of the longest series.  Without meaning
        for elastic linear models.

    Returns
    -------
    Explanation
        For elastic linear models the exact one of their method `explain`, otherwise that of
        `occlude`.

    Examples
    --------
    >>> from warplearn import DTWNeighborsClassifier
    >>> bump = np.exp(-((np.arange(40.0) - 20) ** 2) / 8)
    >>> model = DTWNeighborsClassifier().fit([bump, -bump], ["up", "down"])
    >>> explanation = explain(model, [0.9 * bump])
    >>> bool(abs(explanation.contributions[0].argmax() - 20) < 4)
    True
    """
    _check_model(model)
    if hasattr(model, "explain"):
        return model.explain(X)
    return occlude(model, X, width=width)


def occlude(model: Any, X: Any, *, width: int | None = None) -> Explanation:
    """Contributions of time steps by occlusion, for any fitted model.

    A window of the series is replaced by the straight line between its neighbours, one channel at a
    time.  What the decision value loses by that is the contribution of the window.  Windows are a
    quarter of their length apart, and the contribution of a time step is the mean over the windows
    that cover it.  Such contributions do not add up to the decision value: windows may only matter
    together, or stand in for each other.

    Parameters
    ----------
    model : fitted classifier or regressor
    X : series collection
    width : int, optional
        Length of the windows, by default a tenth of the longest series.

    Returns
    -------
    Explanation
        `contributions` in the form that elastic linear models give them; `bias` is None.
    """
    collection = SeriesCollection.of(X)
    if width is None:
        width = max(1, round(collection.max_length / _WINDOWS))
    check_scalar(width, "width", (int, np.integer), min_val=1)
    whole = np.atleast_2d(decision_values(model, collection).T)  # (outputs, cases)
    shape = (len(whole), len(collection), collection.n_channels, collection.max_length)
    contributions = np.zeros(shape)
    for case in range(len(collection)):
        contributions[:, case, :, : collection.lengths[case]] = _of_one(
            model, collection, case, int(width), whole[:, case]
        )
    if collection.n_channels == 1:
        contributions = contributions[:, :, 0]
    return Explanation(contributions[0] if len(contributions) == 1 else contributions, None)


def _check_model(model: Any) -> None:
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(f"model must be a fitted classifier or regressor, got {model!r}")
    check_is_fitted(model)


def _of_one(model: Any, X: SeriesCollection, case: int, width: int, whole: Array) -> Array:
    """Contributions to the outputs for one series, (outputs, channels, time)."""
    x = X.elements(case)
    starts = range(1 - width, len(x), max(1, width // 4))
    windows = [(max(0, start), min(len(x), start + width)) for start in starts]
    changed = [
        _flattened(x, channel, *window) for channel in range(X.n_channels) for window in windows
    ]
    blocks = [changed[start : start + _BLOCK] for start in range(0, len(changed), _BLOCK)]
    decided = np.concatenate([decision_values(model, SeriesCollection.of(b)) for b in blocks])
    loss = whole[:, None] - np.atleast_2d(decided.T)  # (outputs, channels x windows)
    loss = loss.reshape(len(whole), X.n_channels, len(windows))
    covered = np.zeros((len(windows), len(x)))
    for row, (start, stop) in zip(covered, windows, strict=True):
        row[start:stop] = 1
    shares: Array = loss @ (covered / covered.sum(axis=0))
    return shares


def _flattened(x: NDArray[Any], channel: int, start: int, stop: int) -> NDArray[Any]:
    """A series (channels, time) with a straight line in place of a window of one channel."""
    changed = x.copy()
    left, right = max(start - 1, 0), min(stop, len(x) - 1)
    ends = [left, right] if start > 0 and stop < len(x) else [left if start > 0 else right] * 2
    line = np.linspace(x[ends[0], channel], x[ends[1], channel], stop - start + 2)
    changed[start:stop, channel] = line[1:-1]
    return changed.T


def decision_values(model: Any, X: Any) -> NDArray[Any]:
    """What a model decides by: (cases,) for two classes or one target, else (cases, outputs).

    Decision values of classifiers that have them; of nearest neighbours and prototypes how much
    nearer a class is, which changes where votes do not; otherwise probabilities or predictions.
    """
    _check_model(model)
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    if hasattr(model, "class_distances"):
        distances = model.class_distances(X)
        return distances[:, 0] - distances[:, 1] if distances.shape[1] == 2 else -distances
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        return shares[:, 1] if shares.shape[1] == 2 else shares
    return np.asarray(model.predict(X))
