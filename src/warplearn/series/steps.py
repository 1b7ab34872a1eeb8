"""Series from time points: sorting, equal steps, resampling, missing values.

Models take series sampled at equal steps and have no use for time stamps.  So time stamps are used
here and then forgotten: time points are sorted by them, and uneven steps and gaps are refused, or
removed by interpolating at equal steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.registry import check_choice

Array = NDArray[Any]

TOLERANCE = 0.01  # by which a step may differ from the usual one, relative to it
_GAP = 1.5  # usual steps; anything longer is a gap
_MAX_GROWTH = 100  # time points that resampling may make of one, on average over a series


def _previous(at: Array, time: Array, values: Array) -> Array:
    return values[np.maximum(np.searchsorted(time, at, "right") - 1, 0)]


def _nearest(at: Array, time: Array, values: Array) -> Array:
    return values[np.searchsorted((time[1:] + time[:-1]) / 2, at)]


# Values at the times `at`, from values at the times `time`.
INTERPOLATIONS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "linear": np.interp,
    "nearest": _nearest,
    "previous": _previous,
}
MISSING = ("error", "interpolate")


def check_choices(resample: str | None, missing: str) -> None:
    """Check the arguments that say what happens to uneven steps and missing values."""
    if resample is not None:
        check_choice(resample, INTERPOLATIONS, "resample")
    check_choice(missing, MISSING, "missing")


class Points(NamedTuple):
    """Time points of one series, sorted by time.

    Attributes
    ----------
    name : str
        What messages call the series.
    stamps : array (time,)
        Time stamps as they were given.
    time : array (time,)
        The same as numbers, strictly increasing.
    values : array (time, channels)
    """

    name: str
    stamps: Array
    time: Array
    values: Array

    @classmethod
    def of(cls, name: str, stamps: Array, values: Array) -> Points:
        """Sort the time points of a series; two at the same time are refused."""
        time = as_numbers(stamps)
        order = np.argsort(time, kind="stable")
        stamps, time = stamps[order], time[order]
        twice = np.flatnonzero(np.diff(time) == 0)
        if len(twice):
            raise ValueError(
                f"{name} has two values at time {_show(stamps[twice[0]])}; if a column says which "
                "channel a row belongs to, make a column of each channel"
            )
        return cls(name, stamps, time, values[order])


def as_numbers(stamps: Array) -> Array:
    """Time stamps as numbers; dates as seconds since the first."""
    if stamps.dtype.kind == "M":
        return (stamps - stamps.min()) / np.timedelta64(1, "s")
    return stamps.astype(np.float64)


def as_stamps(column: Array, name: str) -> Array:
    """A column of time stamps: numbers, or dates in the notation of ISO 8601."""
    if column.dtype.kind in "iufM":
        stamps = column
    else:
        texts = np.char.strip(column.astype(str))
        utc = np.char.endswith(texts, "Z")
        texts = np.where(utc, np.char.rstrip(texts, "Z"), texts)
        try:
            stamps = texts.astype("datetime64[ns]")
        except (ValueError, DeprecationWarning):
            raise ValueError(
                f"{name} must hold numbers or dates such as 2026-03-31 or 2026-03-31T09:15:00, "
                f"got {str(texts[0])!r}"
            ) from None
    wrong = np.isnat(stamps) if stamps.dtype.kind == "M" else ~np.isfinite(stamps.astype(float))
    if wrong.any():
        raise ValueError(f"{name} has no time at row {int(wrong.argmax())}")
    return stamps


def even_series(
    points: Sequence[Points], resample: str | None, step: float | None
) -> tuple[list[Array], float]:
    """Series at equal steps, (time, channels), and the step.

    Parameters
    ----------
    points : sequence of Points
    resample : {"linear", "nearest", "previous"}, optional
        How values between the given ones are interpolated; None refuses uneven steps.
    step : float, optional
        The step to resample at, in seconds for dates; by default the median of all steps.
    """
    steps = [np.diff(each.time) for each in points]
    usual = float(np.median(np.concatenate(steps))) if any(map(len, steps)) else 1.0
    if resample is None:
        if step is not None:
            raise ValueError(f"step={step!r} needs resample, such as resample='linear'")
        _refuse_uneven(points, steps, usual)
        return [each.values for each in points], usual
    if step is not None and not 0 < step < np.inf:
        raise ValueError(f"step must be a positive number, got {step!r}")
    usual = usual if step is None else float(step)
    return [_resampled(each, usual, INTERPOLATIONS[resample]) for each in points], usual


def _refuse_uneven(points: Sequence[Points], steps: Sequence[Array], usual: float) -> None:
    uneven = [np.abs(own - usual) > TOLERANCE * usual for own in steps]
    wrong = [case for case, own in enumerate(uneven) if own.any()]
    if not wrong:
        return
    first = wrong[0]
    place = int(uneven[first].argmax())
    stamps = points[first].stamps
    gaps = sum(int((own > _GAP * usual).sum()) for own in steps)
    others = sum(int(own.sum()) for own in uneven) - gaps
    raise ValueError(
        f"the time stamps are uneven: the usual step is {usual:g}, but {points[first].name} has "
        f"{steps[first][place]:g} between {_show(stamps[place])} and {_show(stamps[place + 1])}; "
        f"{gaps} gaps and {others} other uneven steps in {len(wrong)} of {len(points)} series. "
        "resample='linear' (--resample) interpolates at equal steps"
    )


def _resampled(points: Points, step: float, interpolate: Callable[..., Array]) -> Array:
    time = points.time
    count = int((time[-1] - time[0]) / step + 1e-6) + 1
    if count > _MAX_GROWTH * max(len(time), 10):
        raise ValueError(
            f"{points.name} runs from {_show(points.stamps[0])} to {_show(points.stamps[-1])}: at "
            f"steps of {step:g} its {len(time)} time points would become {count}; is a time stamp "
            "wrong, or the step too small?"
        )
    at = np.minimum(time[0] + step * np.arange(count), time[-1])
    return np.column_stack([interpolate(at, time, channel) for channel in points.values.T])


def without_padding(points: Points) -> Points:
    """Leave out the time points at the end without any value."""
    present = np.flatnonzero(~np.isnan(points.values).all(axis=1))
    if not len(present):
        raise ValueError(f"{points.name} has no values")
    end = int(present[-1]) + 1
    return Points(points.name, points.stamps[:end], points.time[:end], points.values[:end])


def without_missing(points: Points, missing: str) -> Points:
    """Refuse missing values, or interpolate them linearly; at the ends, the nearest value."""
    absent = np.isnan(points.values)
    if not absent.any():
        return points
    if missing == "error":
        place = int(absent.any(axis=1).argmax())
        raise ValueError(
            f"{points.name} has a missing value at time {_show(points.stamps[place])}; "
            "missing='interpolate' (--missing interpolate) fills it in"
        )
    return points._replace(values=interpolated(points.values, points.time, points.name))


def interpolated(values: Array, time: Array, name: str) -> Array:
    """Values (time, channels) with those that are NaN interpolated."""
    filled = values.copy()
    for channel, column in enumerate(values.T):
        known = ~np.isnan(column)
        if not known.any():
            raise ValueError(f"{name} has no value at all in channel {channel}")
        filled[:, channel] = np.interp(time, time[known], column[known])
    return filled


def _show(stamp: Any) -> str:
    return str(stamp) if np.asarray(stamp).dtype.kind == "M" else f"{float(stamp):g}"
