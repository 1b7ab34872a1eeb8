"""`ElasticDetector`: from labelled events to events in recordings and streams."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from warplearn.base import (
    LARGEST_PARAMETER,
    CheckedState,
    check_array_of,
    check_fitted_array,
    check_fitted_classes,
    check_fitted_count,
    check_fitted_model,
    check_not_negative,
)
from warplearn.detection.events import Labelled, Rule, Table, read_events
from warplearn.detection.gaps import warn_of_gap
from warplearn.detection.metrics import event_metrics
from warplearn.detection.online import Detection, DetectionStream
from warplearn.detection.scores import Gate, Scorer, Steps
from warplearn.detection.thresholds import choose_threshold, out_of_fold
from warplearn.detection.training import Examples, Recipe, Trained, assemble, train
from warplearn.features import ElasticFeatureClassifier
from warplearn.linear_model import ElasticLogisticRegression
from warplearn.series.numbers import check_count
from warplearn.series.windows import check_normalize, chunks_of, read_recording

__all__ = ["ElasticDetector"]

_ROOM = 2**15  # samples that `detect` scores at a time
_LONGEST = 2**48  # samples of an event: ends are int64


@dataclass(repr=False, eq=False)
class ElasticDetector(CheckedState, BaseEstimator):
    """Events in long recordings and in streams.

    A classifier of windows slides along the recording.  The score of a window is how much the
    classifier prefers a class of events to the background.  An event opens where the score reaches
    the threshold, is over where it falls below it by more than `hysteresis`, at the latest a window
    later, and lies where the score was highest.

    Parameters
    ----------
    estimator : classifier, optional
        With a `decision_function`; by default an `ElasticFeatureClassifier` of 256 filters on the
        raw series and its differences.  An elastic linear classifier is smaller, and finds less.
        `from_model` takes a model that is fitted.
    gate : float or None, default=0.2
        A small elastic linear model, the gate, chooses one window of each stride, and the
        classifier looks at this share of them.  The share is that in the training recording.  It
        is exceeded if more than one event in twenty would be rejected there.  None: the
        classifier looks at the first window of each stride, which is better if it is an elastic
        linear classifier itself.
    window : int, optional
        Samples of a window, by default the median duration of the events.
    stride : int, optional
        Samples from one window to the next; one of each stride is scored.  By default a quarter
        of a window, without a gate an eighth.
    normalize : {"window", "none"}, default="window"
        Whether each channel of each window is given mean 0 and deviation 1.
    threshold : float or "cv", default="cv"
        The score of an event.  "cv" chooses the one with the best F1 in cross-validation.
    hysteresis : float, default=0.0
        How far the score may fall below the threshold before an event is over.
    refractory : int, optional
        Samples from an event until the next may open, by default half a window.
    max_gap : int, default=0
        Of a gap, as many samples are filled with the last one before it.  No window contains the
        others (see `warplearn.detection.gaps`).
    mining : int, default=2
        How often the worst false alarms in the training recording become examples of background.
    cv : int, default=3
        Folds of the cross-validation.
    random_state : int, RandomState or None
        For the background that is drawn, and the folds.

    Attributes
    ----------
    model_ : classifier
        The classifier of windows.
    gate_ : ElasticLogisticRegression or None
        The gate, if there is one.
    gate_threshold_ : float
        The decision value of the gate from which on windows pass; minus infinity without a gate.
    classes_ : array
        The classes of events, sorted.
    threshold_ : float
        The threshold in use.
    window_ : int
        Samples of a window.
    durations_ : array of shape (classes,)
        Median duration of the events of each class, which detected events have too.
    background_ : int
        The class of the background among those of `model_`; -1 if it has none.
    n_channels_in_ : int
        Channels of the recordings.
    dtype_ : str
        What samples are computed in, "float32" or "float64".
    cv_f1_ : float
        F1 of the threshold in cross-validation, if it was chosen so.

    See Also
    --------
    warplearn.detection.event_metrics : Compare detected with labelled events.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> recording = rng.normal(0, 0.2, 3000)
    >>> starts = np.arange(40, 2900, 95)
    >>> for start in starts:
    ...     recording[start : start + 30] += np.hanning(30)
    >>> events = [(start, start + 30, "bump") for start in starts]
    >>> detector = ElasticDetector(random_state=0).fit(recording[:2000], events[:20])
    >>> found = detector.detect(recording[2000:])
    >>> len(found), str(found["class"][0])
    (10, 'bump')
    """

    estimator: Any = None
    _: KW_ONLY
    gate: float | None = 0.2
    window: int | None = None
    stride: int | None = None
    normalize: str = "window"
    threshold: float | str = "cv"
    hysteresis: float = 0.0
    refractory: int | None = None
    max_gap: int = 0
    mining: int = 2
    cv: int = 3
    random_state: Any = None

    _fitted_by = "model_"

    @classmethod
    def from_model(
        cls, model: Any, threshold: float, *, background: Any = None, **parameters: Any
    ) -> ElasticDetector:
        """A detector of a fitted classifier of series.

        Parameters
        ----------
        model : fitted classifier
            With a `decision_function`.
        threshold : float
            The score of an event.
        background : label, optional
            The class of the model that is no event.  By default all are events, and the score is
            the difference of the best class to the second best.
        **parameters
            Of the detector; `window` is by default the length of the longest training series.
            There is no gate.
        """
        check_is_fitted(model)
        if not hasattr(model, "decision_function"):
            raise ValueError(f"model must have a decision_function, got {type(model).__name__}")
        detector = cls(estimator=model, threshold=threshold, **{"gate": None, **parameters})
        detector._check_parameters()
        if isinstance(threshold, str):
            raise ValueError(f"threshold must be a number for a fitted model, got {threshold!r}")
        known = np.asarray(model.classes_)
        code = -1
        if background is not None:
            if background not in known.tolist():
                raise ValueError(f"background must be one of {known.tolist()}, got {background!r}")
            code = known.tolist().index(background)
        events = np.delete(known, code) if code >= 0 else known
        window = model.n_features_in_ if detector.window is None else detector.window
        weights = getattr(model, "coef_", getattr(model, "prototypes_", None))
        single = isinstance(weights, np.ndarray) and weights.dtype == np.float32
        durations = np.full(len(events), int(window))
        detector._adopt(Trained(model, None), events, int(window), durations, code)
        detector.n_channels_in_ = model.n_channels_in_
        detector.dtype_ = "float32" if single else "float64"
        detector.threshold_ = float(threshold)
        return detector

    def _adopt(
        self, trained: Trained, classes: NDArray[Any], window: int, durations: Any, background: int
    ) -> None:
        self.model_, self.classes_, self.window_ = trained.model, classes, window
        gate: Gate | None = trained.gate
        self.gate_: Any = None if gate is None else gate.model
        self.gate_threshold_ = -np.inf if gate is None else gate.threshold
        self.n_features_in_ = window
        self.durations_, self.background_ = np.asarray(durations, np.int64), background

    def fit(self, X: Any, y: Any, background: Any = None) -> ElasticDetector:
        """Learn from a recording with labelled events, or from series and background.

        Parameters
        ----------
        X : array of shape (time,) or (channels, time); or series collection
            A recording, in which samples may be missing (NaN); or, with `background`, series that
            are events.  Several recordings are one with a NaN between them.
        y : table of events; or array of shape (cases,)
            Start, end and class of the events, as a data frame, mapping, structured array or list
            of triples; or, with `background`, the classes of the series.
        background : array of shape (time,) or (channels, time), optional
            A recording without events.  Pieces of it are put between the series.
        """
        self._check_parameters()
        self.__dict__.pop("cv_f1_", None)  # of an earlier fit
        rng = check_random_state(self.random_state)
        if background is None:
            samples = read_recording(X, "X", gaps=True)
            events = read_events(y, len(samples), "y")
            gone = np.isnan(samples).any(axis=1)
            if gone.any():
                warn_of_gap(int(gone.argmax()), None, 0)
        else:
            samples, events = assemble(X, y, background, rng)
        if not len(events.start):
            raise ValueError("y must have at least one event, got none")
        classes, labels = np.unique(events.label, return_inverse=True)
        lengths = events.end - events.start
        window = int(np.median(lengths)) if self.window is None else int(self.window)
        examples = Examples.of(samples, events, labels + 1, window, self.normalize)
        estimator = _default_estimator() if self.estimator is None else self.estimator
        steps = self._steps(window, self.gate is not None)
        recipe = Recipe(estimator, int(self.mining), self.gate, steps)
        if isinstance(self.threshold, str):  # "cv"
            scored = out_of_fold(recipe, examples, events, self.cv, rng)
            truth = Labelled(events.start, events.end, labels)
            durations = _durations(lengths, labels, len(classes))
            threshold, self.cv_f1_ = choose_threshold(
                scored, truth, durations, lambda value: self._rule(value, window), window
            )
        else:
            threshold = float(self.threshold)
        every = np.ones(len(examples.starts), bool)
        trained = train(recipe, examples, every, rng)
        unseen = np.setdiff1d(labels + 1, trained.model.classes_)
        if len(unseen):
            raise ValueError(
                f"y has no event of class {classes[unseen[0] - 1]!r} with a whole window of "
                f"{window} samples around it, without gaps"
            )
        self._adopt(trained, classes, window, _durations(lengths, labels, len(classes)), 0)
        self.n_channels_in_, self.dtype_ = samples.shape[1], str(samples.dtype)
        self.threshold_ = threshold
        return self

    def _steps(self, window: int, gated: bool) -> Steps:
        return Steps.of(window, None if self.stride is None else int(self.stride), gated)

    def _rule(self, threshold: float, window: int) -> Rule:
        refractory = window // 2 if self.refractory is None else int(self.refractory)
        return Rule(threshold, threshold - self.hysteresis, refractory, window)

    def detect(self, recording: Any) -> Table:
        """Events in a recording.

        Parameters
        ----------
        recording : array of shape (time,) or (channels, time), or iterator of such
            Samples may be missing (NaN).  Memory maps, and iterators of chunks that follow each
            other in time, are read a part at a time.

        Returns
        -------
        structured array
            Start, end, class and score of each event, and `reported`, the sample after which it
            is known.  In the order in which they are reported.
        """
        stream = DetectionStream(self._detection(), 1, _ROOM)
        found = [stream.push_samples(part) for part in chunks_of(recording, "recording", gaps=True)]
        table = np.concatenate([*found, stream.flush()])
        return table[[name for name in table.dtype.names or () if name != "stream"]].copy()

    def stream(self, n_streams: int = 1) -> DetectionStream:
        """Detection while samples come in (see `DetectionStream`).

        Parameters
        ----------
        n_streams : int, default=1
            How many streams there are side by side.
        """
        return DetectionStream(self._detection(), n_streams)

    def score(self, X: Any, y: Any) -> float:
        """F1 of the events that are detected in a recording (see `event_metrics`).

        Parameters
        ----------
        X : array of shape (time,) or (channels, time)
            A recording.
        y : table of events
            Start, end and class.
        """
        return event_metrics(self.detect(X), y).f1

    def _detection(self) -> Detection:
        """All that a stream needs."""
        check_is_fitted(self, "model_")
        self._check_parameters()
        self._check_state()
        gate = None if self.gate_ is None else Gate(self.gate_, self.gate_threshold_)
        return Detection(
            Scorer.of(self.model_, self.background_, gate, self.window_),
            self._rule(self.threshold_, self.window_),
            self.window_,
            self._steps(self.window_, gate is not None),
            int(self.max_gap),
            self.n_channels_in_,
            self.normalize,
            np.dtype(self.dtype_),
            self.classes_,
            self.durations_,
        )

    def _check_parameters(self) -> None:
        for name, least in (
            ("window", 1),
            ("stride", 1),
            ("refractory", 0),
            ("max_gap", 0),
            ("mining", 0),
            ("cv", 2),
        ):
            value = getattr(self, name)
            if not (value is None and name in ("window", "stride", "refractory")):
                check_count(value, name, least)
        share: Any = self.gate
        if share is not None and not (isinstance(share, float) and 0 < share < 1):
            raise ValueError(f"gate must be None or a share between 0 and 1, got {share!r}")
        check_normalize(self.normalize)
        check_not_negative(self, "hysteresis")
        given: Any = self.threshold
        real = isinstance(given, Real) and not isinstance(given, bool)
        chosen = isinstance(given, str) and given == "cv"
        if not chosen and not (real and abs(given) <= LARGEST_PARAMETER):
            raise ValueError(f"threshold must be a number or 'cv', got {given!r}")

    def _check_state(self, whole: bool = False) -> None:
        model = check_fitted_model(self, whole)
        for name in ("window_", "n_features_in_"):
            check_fitted_count(self, name)
        if self.n_features_in_ != self.window_:
            raise ValueError(f"n_features_in_ must be window_, got {self.n_features_in_}")
        self._check_gate(whole)
        background = getattr(self, "background_", None)
        n_classes = len(model.classes_)
        if not isinstance(background, int) or not -1 <= background < n_classes:
            raise ValueError(f"background_ must be a class of model_ or -1, got {background!r}")
        n_events = n_classes - (background >= 0)
        if check_fitted_classes(self, 1) != n_events:
            raise ValueError(f"classes_ must be {n_events} classes, got {self.classes_!r}")
        durations = check_fitted_array(self, "durations_", (n_events,), "i")
        if durations.min() < 1 or durations.max() > _LONGEST:
            raise ValueError(f"durations_ must be between 1 and {_LONGEST}, got {durations!r}")
        check_array_of(np.array([getattr(self, "threshold_", np.nan)]), "threshold_", (1,))
        dtype = getattr(self, "dtype_", None)
        if dtype not in ("float32", "float64"):
            raise ValueError(f"dtype_ must be 'float32' or 'float64', got {dtype!r}")

    def _check_gate(self, whole: bool) -> None:
        gate, least = getattr(self, "gate_", "nothing"), getattr(self, "gate_threshold_", None)
        if not isinstance(least, float) or np.isnan(least):
            raise ValueError(f"gate_threshold_ must be a number, got {least!r}")
        if gate is None:
            return
        if not isinstance(gate, ElasticLogisticRegression):
            raise ValueError(f"gate_ must be an ElasticLogisticRegression or None, got {gate!r}")
        gate._check_state(whole)
        if len(gate.classes_) != 2 or gate.n_channels_in_ != self.n_channels_in_:
            raise ValueError("gate_ must have two classes and n_channels_in_ channels")
        if gate.n_features_in_ < self.window_:
            raise ValueError(f"gate_ must take windows of {self.window_}, got {gate!r}")


def _default_estimator() -> Any:
    """Few filters, and no second differences, which are mostly noise in a recording.

    Windows are not rescaled: `normalize` of the detector does that.
    """
    representations = ("raw", "differences")
    return ElasticFeatureClassifier(
        256, representations=representations, rescale=False, random_state=0
    )


def _durations(
    lengths: NDArray[np.int64], labels: NDArray[np.int64], n_classes: int
) -> NDArray[np.int64]:
    """The median duration of each class."""
    of_class = [np.median(lengths[labels == code]) for code in range(n_classes)]
    return np.array(of_class).astype(np.int64)
