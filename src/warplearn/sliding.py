"""Decisions for every window of a long recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from warplearn.registry import check_choice
from warplearn.series.collection import SeriesCollection
from warplearn.series.numbers import check_count
from warplearn.series.windows import WindowSource, check_normalize, parts_of

__all__ = ["Slides"]

METHODS = ("decision_function", "predict", "predict_proba")


class Slides:
    """A classifier that goes along a recording."""

    n_features_in_: int

    def slide(
        self,
        signal: Any,
        stride: int = 1,
        *,
        window: int | None = None,
        normalize: str = "window",
        method: str = "decision_function",
    ) -> NDArray[Any]:
        """What a method gives for every window of a recording.

        The result is that of the method for the windows, cut and normalized, but they are not cut:
        elastic linear models and nearest prototypes read them from the recording, neighbouring
        windows side by side.

        Parameters
        ----------
        signal : array of shape (time,) or (channels, time), or iterator of such
            The recording.  A memory map is read a part at a time, and so is an iterator of chunks
            that follow each other in time.
        stride : int, default=1
            Samples from the start of a window to that of the next.
        window : int, optional
            Samples of a window, by default the length of the longest training series.
        normalize : {"window", "none"}, default="window"
            "window" gives each channel of each window mean 0 and deviation 1, as most sets of the
            UCR archive have it; a constant channel becomes 0.  "none" is for models of series that
            were not normalized one by one.
        method : {"decision_function", "predict", "predict_proba"}, default="decision_function"
            A method of the model, as for scikit-learn's `cross_val_predict`.

        Returns
        -------
        array of shape (windows,) or (windows, classes)
            Window i begins at sample `i * stride` and ends before sample `i * stride + window`.
        """
        check_is_fitted(self)
        longest = getattr(self, "n_features_in_", None)
        length = check_count(longest if window is None else window, "window")
        stride = check_count(stride, "stride")
        check_normalize(normalize)
        check_choice(method, [name for name in METHODS if hasattr(self, name)], "method")
        results = []
        for samples, _ in parts_of(signal, length, stride):
            starts = np.arange(0, len(samples) - length + 1, stride)
            windows = WindowSource(samples, starts, length, normalize)
            results.append(getattr(self, method)(SeriesCollection.of_windows(windows)))
        if not results:
            raise ValueError(f"signal must have at least window={length} samples, got fewer")
        return np.concatenate(results)

    def decider(self, length: int) -> Callable[[SeriesCollection], NDArray[Any]]:
        """What gives decision values of series of one length, called very often.

        A model that checks its state in `decision_function` may do so here, once for all calls.
        """
        return self.decision_function  # type: ignore[attr-defined]
