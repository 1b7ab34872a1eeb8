"""Figures in scikit-learn's shape: a display holds what is shown, and `plot` draws it.

Displays are made by `from_series`, `from_estimator` or `from_errors`, which compute; constructors
take what is computed already.  `plot` draws into the given axes or into new ones, and leaves them
in `ax_` and `figure_`.  Only `plot` needs matplotlib: `pip install 'warplearn[plot]'`.
"""

from warplearn.plotting.comparisons import (
    CriticalDifferenceDisplay,
    Ranking,
    TradeOffDisplay,
    rank_methods,
)
from warplearn.plotting.curves import ElasticityCurveDisplay, LearningCurveDisplay
from warplearn.plotting.models import ClustersDisplay, ContributionsDisplay, WeightMatrixDisplay
from warplearn.plotting.paths import AlignmentDisplay, WarpingPathDisplay

__all__ = [
    "AlignmentDisplay",
    "ClustersDisplay",
    "ContributionsDisplay",
    "CriticalDifferenceDisplay",
    "ElasticityCurveDisplay",
    "LearningCurveDisplay",
    "Ranking",
    "TradeOffDisplay",
    "WarpingPathDisplay",
    "WeightMatrixDisplay",
    "rank_methods",
]
