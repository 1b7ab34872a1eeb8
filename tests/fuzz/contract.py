"""What a call may do: return finite numbers, or raise a ValueError or TypeError that says why."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from warplearn import SeriesCollection

Case = Callable[[np.random.Generator], None]


def outcome(call: Callable[[], Any], *names: str) -> Any:
    """What a call returns, or the error that it raises; anything else it does is a finding.

    Parameters
    ----------
    names : str
        One of them must occur in the message of an error.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = call()
        except (ValueError, TypeError) as error:
            _check_message(error, names)
            return error
        except MemoryError as error:  # so many clusters, filters, ... were asked for
            return error
    # NumPy's own warnings name no cause.
    excuses = [each for each in caught if not issubclass(each.category, RuntimeWarning)]
    assert excuses or all_finite(value), f"not finite, without a warning: {str(value)[:300]}"
    return value


def _check_message(error: Exception, names: tuple[str, ...]) -> None:
    said = str(error)
    assert said.strip(), "an error without a message"
    assert not names or any(re.search(rf"(?<!\w){name}(?!\w)", said) for name in names), (
        f"an error that names none of {names}: {type(error).__name__}: {said[:300]}"
    )


def refused(value: Any) -> bool:
    """Whether `outcome` is an error."""
    return isinstance(value, Exception)


def numbers_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Arrays of floats in a result."""
    if isinstance(value, SeriesCollection):
        value = value.values
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from numbers_in(each)
    elif isinstance(value, (float, np.floating, np.ndarray)):
        array = np.asarray(value)
        if array.dtype.kind == "f":
            yield array


def all_finite(value: Any) -> bool:
    """Whether a result contains neither NaN nor infinity."""
    return all(bool(np.isfinite(array).all()) for array in numbers_in(value))


def choice(rng: np.random.Generator, options: Any) -> Any:
    """One of some objects, which NumPy would turn into an array."""
    options = list(options)
    return options[int(rng.integers(len(options)))]


def close(got: Any, ref: Any, dtype: Any = np.float64) -> None:
    """Values that agree up to rounding errors."""
    loose = np.dtype(dtype) == np.float32
    scale = float(np.abs(np.asarray(ref)).max(initial=0.0))
    np.testing.assert_allclose(
        got, ref, rtol=1e-3 if loose else 1e-8, atol=scale * (1e-4 if loose else 1e-9) + 1e-300
    )
