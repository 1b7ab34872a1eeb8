"""The parameters of features of windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from warplearn._kernels.drivers import pooling
from warplearn.base import CheckedState
from warplearn.documentation import with_parameters_of
from warplearn.registry import choose

# Of filters, in the order of their features.
POOLINGS = {
    "share": pooling.SHARE,
    "max": pooling.MAXIMUM,
    "wins": pooling.WINS,
    "losses": pooling.LOSSES,
}


@dataclass(repr=False, eq=False, kw_only=True)
class WindowSettings(CheckedState, BaseEstimator):
    """The parameters that all features of windows share.

    Parameters
    ----------
    dilations : sequence of int, optional
        Dilations, drawn at random.  By default a dilation is 2**u, rounded down, with u uniform
        between 0 and the value at which a window is as long as the median training series.
    representations : sequence of str, default: all four
        What windows slide along:

        - "raw": the series;
        - "differences": differences of neighbours;
        - "second_differences": differences of these;
        - "smooth": moving averages of nine time points.

        Each entry gets the same number of matrices; an entry given twice gets twice as many.
        Every representation is standardized with the mean and deviation of all its training
        elements, channel by channel.
    rescale : bool, default=True
        Whether a series whose mean and deviation are not those of the training series is brought
        to these, channel by channel, if all training series have the same.  Normalized ones do;
        then nothing could be learnt about levels and sizes.  If training series differ in them,
        they are left as they are.
    random_state : int, RandomState or None, default=None
        Source of all random draws.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all cores.  Features do not depend on it.
    verbose : int, default=0
        1 prints the progress of `transform`.
    """

    elasticities: Sequence[int]
    lengths: Sequence[int]
    dilations: Sequence[int] | None = None
    poolings: Sequence[str]
    representations: Sequence[str]
    rescale: bool = True
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0


@with_parameters_of(WindowSettings)
@dataclass(repr=False, eq=False)
class FilterSettings(WindowSettings):
    """The parameters that `ElasticFeatures` and the models on them share.

    Parameters
    ----------
    n_filters : int, optional
        Number of filters, rounded up to a multiple of eight for each elasticity.  May be given by
        position.  By default 8,000; models that `fit` at most 640 series have 16,000.
    elasticities : sequence of int, default=(1, 2)
        Numbers of columns m of the filters.  Each gets the same number of filters; m = 1 is a
        convolution.  The first columns of a filter are a filter of each smaller number, so that
        one computation serves all.
    lengths : sequence of int, default=(7, 9, 11)
        Numbers of rows k, drawn at random.
    poolings : sequence of str, default=("share", "wins", "losses")
        What is kept of the outputs of a filter:

        - "share": the share of the positions where the output is above the bias;
        - "max": the largest output;
        - "wins", "losses": the shares of the positions where the output is the largest and the
          smallest of its group.
    """

    n_filters: int | None = None
    _: KW_ONLY
    elasticities: Sequence[int] = (1, 2)
    lengths: Sequence[int] = (7, 9, 11)
    poolings: Sequence[str] = ("share", "wins", "losses")
    representations: Sequence[str] = ("raw", "differences", "second_differences", "smooth")


def positive_integers(given: Any, name: str) -> NDArray[np.int64]:
    """Check a parameter that is a sequence of positive integers, at least one."""
    try:
        numbers = np.asarray(given)
    except ValueError as error:  # sequences of different lengths
        raise ValueError(f"{name} must be positive integers, got {given!r}") from error
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu" or min(numbers) < 1:
        raise ValueError(f"{name} must be positive integers, at least one, got {given!r}")
    return numbers.astype(np.int64)


def check_names(given: Any, table: Any, name: str) -> None:
    """Check a parameter that is a sequence of names from a table, at least one."""
    if not isinstance(given, (list, tuple)) or not given:
        raise ValueError(f"{name} must be some of {sorted(table)}, at least one, got {given!r}")
    for one in given:
        choose(table, one, name)
