"""Real data sets that come with the package: small, public, and known from the literature.

Each is a file of integers, which are the archive's decimal numbers times a power of ten.  They are
exact where the archive has six decimals or fewer, and rounded to eight where it has more.
`tools/bundle_datasets.py` makes the files.
"""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

import numpy as np

from warplearn.series.collection import SeriesCollection

from ..dataset import Dataset

_UCR = (
    "H. A. Dau, A. Bagnall, K. Kamgar, C.-C. M. Yeh, Y. Zhu, S. Gharghabi, C. A. Ratanamahatana, "
    "E. Keogh: The UCR time series archive. IEEE/CAA Journal of Automatica Sinica 6(6), 2019"
)
_UEA = (
    "A. Bagnall, H. A. Dau, J. Lines, M. Flynn, J. Large, A. Bostrom, P. Southam, E. Keogh: The "
    "UEA multivariate time series classification archive, 2018. arXiv:1811.00075"
)
SOURCE = "https://timeseriesclassification.com"


class Bundled(NamedTuple):
    """A data set in a file of the package: what it is, and whose it is."""

    description: str
    origin: str
    archive: str

    @property
    def citation(self) -> str:
        """The publications to cite: of the data, and of the archive they were taken from."""
        return f"{self.origin}; {self.archive}"

    def make(self, name: str, split: str | None = None) -> Dataset:
        """The training cases, the test cases, or with None first the ones, then the others."""
        with (
            (resources.files(__package__) / f"{name}.npz").open("rb") as stream,
            np.load(stream, allow_pickle=False) as arrays,
        ):
            values = arrays["values"] / 10.0 ** int(arrays["decimals"])  # (channels, all times)
            ends, y = np.cumsum(arrays["lengths"])[:-1], arrays["y"]
            n_train = int(arrays["n_train"])
        part = {"train": slice(n_train), "test": slice(n_train, None), None: slice(None)}[split]
        series = np.split(values, ends, axis=1)[part]
        return Dataset(SeriesCollection.of(series), y[part], name, "bundled")


BUNDLED: dict[str, Bundled] = {
    "GunPoint": Bundled(
        "a hand draws a gun or points a finger: where it is in the video, along x",
        "C. A. Ratanamahatana, E. Keogh: Everything you know about dynamic time warping is wrong. "
        "Third workshop on mining temporal and sequential data, KDD 2004",
        _UCR,
    ),
    "ECG200": Bundled(
        "one heartbeat each: normal, or of a myocardial infarction",
        "R. T. Olszewski: Generalized feature extraction for structural pattern recognition in "
        "time-series data. PhD thesis, Carnegie Mellon University, 2001",
        _UCR,
    ),
    "ItalyPowerDemand": Bundled(
        "electricity used in Italy over a day: winter or summer half of the year",
        "E. Keogh, L. Wei, X. Xi, S. Lonardi, J. Shieh, S. Sirowy: Intelligent icons: integrating "
        "lite-weight data mining and visualization into GUI operating systems. ICDM 2006",
        _UCR,
    ),
    "PickupGestureWiimoteZ": Bundled(
        "which of ten people picks up a game controller: its acceleration along z",
        "J. Guna, I. Humar, M. Pogačnik: Intuitive gesture based user identification system. "
        "International conference on telecommunications and signal processing, 2012",
        _UCR,
    ),
    "BasicMotions": Bundled(
        "standing, walking, running, badminton: six channels of a watch",
        "a project of four students with a smart watch, described in the archive only",
        _UEA,
    ),
    "JapaneseVowels": Bundled(
        "which of nine men says two vowels: twelve channels, different lengths",
        "M. Kudo, J. Toyama, M. Shimbo: Multidimensional curve classification using "
        "passing-through regions. Pattern Recognition Letters 20(11-13), 1999",
        _UEA,
    ),
}
