"""Decisions after every sample, for models of every kind."""

from __future__ import annotations

from typing import Any


class PrefixStream:
    """Decide on the samples so far by a prediction for all of them.

    Elastic linear models have a stream of their own, which computes one row of the grid for each
    sample.  This one does for the others, in the time of a prediction.

    Parameters
    ----------
    model : fitted classifier
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._samples: list[list[float]] = []

    @property
    def n_samples(self) -> int:
        """Samples since the last `reset`."""
        return len(self._samples)

    def reset(self) -> None:
        """Forget all samples and start a new series."""
        self._samples = []

    def push(self, sample: list[float]) -> Any:
        """Take the next sample, and return the decision value of the samples so far."""
        import numpy as np

        from warplearn.explanation import decision_values

        channels = self._model.n_channels_in_
        if len(sample) != channels:
            raise ValueError(f"sample must have {channels} channel(s), got {len(sample)}")
        if not np.isfinite(sample).all():
            raise ValueError(f"sample must be finite, got {sample!r}")
        self._samples.append(sample)
        return decision_values(self._model, self._series())[0]

    def label(self, decision: Any) -> Any:
        """The class of the samples so far."""
        return self._model.predict(self._series())[0]

    def _series(self) -> Any:
        import numpy as np

        return np.array(self._samples, dtype=np.float32).T[None]


class LinearStream:
    """The stream of an elastic linear classifier.

    Parameters
    ----------
    model : fitted elastic linear classifier
    """

    def __init__(self, model: Any) -> None:
        self._model, self._stream = model, model.stream()

    @property
    def n_samples(self) -> int:
        """Samples since the last `reset`."""
        return int(self._stream.n_samples)

    def reset(self) -> None:
        """Forget all samples and start a new series."""
        self._stream.reset()

    def push(self, sample: list[float]) -> Any:
        """Take the next sample, and return the decision value of the samples so far."""
        if self._stream.n_samples == self._stream.max_length:
            raise ValueError(
                f"the series is longer than the {self._stream.max_length} steps of the training "
                "series; an empty line begins a new series"
            )
        return self._stream.push(sample)

    def label(self, decision: Any) -> Any:
        """The class of the samples so far."""
        import numpy as np

        decisions = np.atleast_1d(decision)
        outputs = decisions if len(decisions) == 1 else decisions[None]
        return self._model.classes_[self._model.polarity_.classes_of(outputs)][0]


def stream_of(model: Any) -> PrefixStream | LinearStream:
    """The stream that suits a model."""
    band = getattr(model, "band_", getattr(model, "band", None))
    if band is not None:
        raise ValueError(
            f"a model with band={band!r} cannot be streamed: where a band lies depends on the "
            "length of the series, which a stream does not know"
        )
    return LinearStream(model) if hasattr(model, "stream") else PrefixStream(model)
