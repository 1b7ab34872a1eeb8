"""What a report shows of a fitted model, computed once by the run of a study and stored."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn.elastic.functions import active_path
from warplearn.series.collection import SeriesCollection
from warplearn.series.derived import RAW


def can_be_viewed(estimator: Any) -> bool:
    """Whether an estimator, or a class of estimators, explains its decisions by weight matrices.

    A page computes with the samples of a series, so a fitted model of derived channels is no such.
    """
    return hasattr(estimator, "explain") and getattr(estimator, "representations_", RAW) == RAW


def view_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    name: str = "",
    channels: Sequence[str] | None = None,
    held_out: bool = True,
    n_series: int = 24,
) -> dict[str, Any]:
    """What a report shows of a model: its matrices, and the paths of some series through them.

    Parameters
    ----------
    model : fitted elastic linear classifier
    X : series collection
        Series longer than those of `fit` are left out.
    y : array (cases,)
        Their labels.
    name : str
        Of the data set.
    channels : sequence of str, optional
        Names of the channels.
    held_out : bool, default=True
        Whether the model has not seen these series.
    n_series : int, default=24
        How many at most; mistakes first, then the others in their order.

    Returns
    -------
    dict
        That JSON can hold.
    """
    if not can_be_viewed(model):
        raise ValueError(
            "model must have weight matrices for the samples of a series to be shown, got "
            f"{model!r}; fit it with representations=('raw',)"
        )
    collection, labels = SeriesCollection.of(X), np.asarray(y)
    fits = np.flatnonzero(collection.lengths <= model.n_features_in_)
    collection = collection.astype(model.coef_.dtype)  # one dtype: no kernel is compiled twice
    predicted = model.predict(collection[fits])
    wrong = predicted != labels[fits]
    some = np.r_[np.flatnonzero(wrong)[: n_series // 3], np.flatnonzero(~wrong)]
    places = np.sort(some[:n_series])
    coef = model.coef_ if model.coef_.ndim == 4 else model.coef_[..., None]
    classes = [str(label) for label in model.classes_]
    several = len(classes) > 2
    cases = collection[fits[places]]
    explained = model.explain(cases)
    series = [
        {"case": int(fits[place]), "label": str(labels[fits[place]]),
         "predicted": str(predicted[place]), **own}
        for place, own in zip(places, _series_views(model, cases, coef, explained), strict=True)
    ]  # fmt: skip
    return {
        "name": name,
        "model": type(model).__name__,
        "heldOut": held_out,
        "mistakes": int(wrong.sum()),
        "cases": len(fits),
        "classes": classes,
        "outputs": classes if several else classes[1:],
        "biases": _rounded(np.atleast_1d(explained.bias)),
        "channels": list(channels or (f"channel {c}" for c in range(cases.n_channels))),
        "units": [
            {"label": _unit_class(row, classes), "output": int(np.argmax(row != 0)),
             "factor": float(row.sum()), **_packed(W, model.band is None)}
            for row, W in zip(model.polarity_.mix, coef, strict=True)
        ],
        "series": series,
    }  # fmt: skip


def _series_views(
    model: Any, X: SeriesCollection, coef: NDArray[Any], explained: Any
) -> list[dict[str, Any]]:
    """For each series its values, decision values, contributions, and paths."""
    several = len(model.classes_) > 2
    contributions = explained.contributions if several else explained.contributions[None]
    if X.n_channels > 1:
        contributions = contributions.sum(axis=2)
    decisions = model.decision_function(X).reshape(len(X), -1)
    views = []
    for index, length in enumerate(X.lengths):
        x = X.values[index, :length].T
        views.append({
            "values": [_rounded(channel) for channel in x],
            "decisions": _rounded(decisions[index]),
            "contributions": [_rounded(own[index, :length]) for own in contributions],
            "paths": [_columns(x, W, model.band) for W in coef],
        })  # fmt: skip
    return views


def _unit_class(mix: NDArray[Any], classes: list[str]) -> str:
    """The class that a high score of a unit speaks for, by its weights in the decision values."""
    if len(classes) > 2:
        return classes[int(np.argmax(mix))]
    return classes[int(mix[0] > 0)]


def _packed(W: NDArray[Any], exact: bool) -> dict[str, Any]:
    """A matrix (n, m, channels) as bytes of which 127 is the greatest weight, for colours.

    `exact` adds what these bytes miss of the weights, in 254ths: enough to compute with.
    """
    scale = float(f"{float(np.abs(W).max()) or 1.0:.4g}")
    weights = W.astype(np.float64) / scale * 127
    levels = np.clip(np.round(weights), -127, 127)
    packed = {"n": W.shape[0], "m": W.shape[1], "scale": scale, "weights": _texts(levels)}
    rests = np.clip(np.round((weights - levels) * 254), -127, 127)
    return {**packed, "rests": _texts(rests)} if exact else packed


def _texts(levels: NDArray[Any]) -> list[str]:
    """Bytes (n, m, channels) as a text for each channel."""
    channels = levels.astype(np.int8).transpose(2, 0, 1)
    return [base64.b64encode(channel.tobytes()).decode("ascii") for channel in channels]


def _columns(x: NDArray[Any], W: NDArray[Any], band: Any) -> list[list[int]]:
    """For each time the first and the last column of the active path, all first ones first."""
    i, j = active_path(x, W if W.shape[2] > 1 else W[..., 0], band=band).T
    first = np.flatnonzero(np.r_[True, np.diff(i) > 0])
    last = np.r_[first[1:] - 1, len(i) - 1]
    return [j[first].tolist(), j[last].tolist()]


def _rounded(values: Iterable[Any]) -> list[float]:
    return [float(f"{float(v):.4g}") for v in values]
