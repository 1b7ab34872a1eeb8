"""Data sets that are made, not read: classics of the literature and some of our own.

Every generator takes the number of cases and a random state and returns series and labels, the
classes as equally often as can be and in random order.  They draw from NumPy's `RandomState`,
whose numbers are the same in every version.

`BUILT_IN` names fixed samples, which `warplearn.datasets.load` knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warplearn.series.collection import SeriesCollection
from warplearn.series.numbers import check_count
from warplearn.series.symbols import Alphabet

from .dataset import Dataset

Array = NDArray[np.float64]
Labelled = tuple[SeriesCollection, NDArray[Any]]
Random = np.random.RandomState

DNA = Alphabet("ACGT")
MOTIF = "GATTACA"


def cylinder_bell_funnel(
    n_cases: int = 30, length: int = 128, *, random_state: Any = None
) -> Labelled:
    """Events of random onset and duration that stay, rise or fall (Saito, 1994), standardized.

    Classes are 1, cylinder, 2, bell, and 3, funnel.
    """
    rng, y = _labels(n_cases, 3, random_state, length=length)
    return _collect([_event(rng, c, length) for c in y]), y + 1


def _event(rng: Random, c: int, length: int) -> Array:
    start = rng.randint(length // 8, length // 4 + 1)
    end = start + rng.randint(length // 4, 3 * length // 4 + 1)
    time = np.arange(length)
    rise = (time - start) / (end - start)
    shape = (np.ones(length), rise, 1 - rise)[c]
    event = (6 + rng.normal()) * shape * ((time >= start) & (time <= end))
    return _standardized(event + rng.normal(size=length))


def two_patterns(n_cases: int = 200, length: int = 128, *, random_state: Any = None) -> Labelled:
    """Two steps, each up or down, somewhere in noise (Geurts, 2002), standardized.

    Classes are 1, down down, 2, up down, 3, down up, and 4, up up.
    """
    rng, y = _labels(n_cases, 4, random_state, length=length)
    return _collect([_two_steps(rng, c, length) for c in y]), y + 1


def _two_steps(rng: Random, c: int, length: int) -> Array:
    x = rng.normal(size=length)
    for half, up in enumerate((c % 2, c // 2)):
        width = 2 * rng.randint(length // 16, length // 8 + 1)
        start = half * length // 2 + rng.randint(length // 2 - width + 1)
        step = np.repeat([-5.0, 5.0], width // 2)
        x[start : start + width] = step if up else -step
    return _standardized(x)


def synthetic_control(n_cases: int = 60, length: int = 60, *, random_state: Any = None) -> Labelled:
    """Control charts (Alcock and Manolopoulos, 1999), standardized.

    Classes are 1, normal, 2, cyclic, 3 and 4, trends up and down, and 5 and 6, shifts up and down.
    """
    rng, y = _labels(n_cases, 6, random_state, length=length)
    return _collect([_chart(rng, c, length) for c in y]), y + 1


def _chart(rng: Random, c: int, length: int) -> Array:
    time = np.arange(1, length + 1)
    amplitude, period = rng.uniform(10, 15, 2)
    trend = rng.uniform(0.2, 0.5) * time
    shift = rng.uniform(7.5, 20) * (time >= rng.uniform(length / 3, 2 * length / 3))
    cycle = amplitude * np.sin(2 * np.pi * time / period)
    systematic = (np.zeros(length), cycle, trend, -trend, shift, -shift)[c]
    return _standardized(30 + 2 * rng.uniform(-3, 3, length) + systematic)


class Separator(NamedTuple):
    """A weight matrix and bias that tell two classes apart, and by how much.

    Attributes
    ----------
    W : array (n, m)
    b : float
    margin : float
        No series is nearer to the wrong side: `y (b + sigma_W(x)) >= margin`, where (W, b) has
        norm 1.
    """

    W: Array
    b: float
    margin: float


def warped_bumps(
    n_cases: int = 200,
    length: int = 160,
    *,
    widths: tuple[int, int] = (8, 10),
    noise: float = 0.01,
    random_state: Any = None,
) -> Labelled:
    """Three bumps of random place and width; the middle one is high or deep.

    The bumps are (-1, 2, -1) in class 1 and (1, -2, 1) in class -1, so that their sum is the same
    on average.  Under warping they are separable, and `warped_bumps_separator` knows the margin.

    Parameters
    ----------
    n_cases, length : int
    widths : (int, int)
        The least and the greatest width of a bump, which has an area of half its width.
    noise : float
        Uniform in [-noise, noise], so that the margin holds for every series.
    random_state : int or RandomState, optional
    """
    rng, codes = _labels(n_cases, 2, random_state, length=length)
    low, high = widths
    if not 2 <= low <= high or 3 * high > length:
        raise ValueError(
            f"widths must be of at least 2 and fit thrice in the length {length}, got {widths}"
        )
    y = 2 * codes - 1
    X = rng.uniform(-noise, noise, (n_cases, length))
    for x, sign in zip(X, y, strict=True):
        duration = rng.randint(low, high + 1, 3)
        # Four gaps, of what the bumps leave free.
        gaps = np.diff(np.r_[0, np.sort(rng.randint(0, length - duration.sum() + 1, 3))])
        starts = np.cumsum(gaps) + np.r_[0, np.cumsum(duration)[:2]]
        for start, width, height in zip(starts, duration, (-1, 2, -1), strict=True):
            bump = np.sin(np.pi * (np.arange(width) + 0.5) / width) ** 2
            x[start : start + width] += sign * height * bump
    return SeriesCollection.of(X), y


def warped_bumps_separator(
    length: int = 160, *, widths: tuple[int, int] = (8, 10), noise: float = 0.01
) -> Separator:
    """What separates `warped_bumps` of the same parameters, and its margin.

    A column of ones between two of zeros: the elastic inner product is then the greatest sum of
    consecutive elements, which is the area of the high bump in class 1, and of one of the low ones
    in class -1.
    """
    low, high = widths
    least = low - high * noise  # a high bump: twice low / 2
    most = high / 2 + length * noise  # one low bump, with noise all along
    W = np.zeros((length, 3))
    W[:, 1] = 1
    b = -(least + most) / 2
    norm = np.sqrt(length + b**2)
    return Separator(W / norm, b / norm, (least - most) / 2 / norm)


def alternating_bumps(
    n_cases: int = 200,
    length: int = 60,
    *,
    width: int = 20,
    noise: float = 0.2,
    random_state: Any = None,
) -> Labelled:
    """A bump anywhere, of height -3 or 1 in class 1, and -1 or 3 in class -1.

    No elastic linear classifier separates them.  Along the multiples a x of a bump x, elastic inner
    products, and differences of two, are linear in a above and below 0 each: a decision value that
    falls from 1 to 3 as it must is positive at 0, and so cannot rise from -1 to -3 as it must.

    Parameters
    ----------
    n_cases, length, width : int
    noise : float
        Its standard deviation.
    random_state : int or RandomState, optional
    """
    rng, codes = _labels(n_cases, 4, random_state, length=length, width=width)
    if width > length:
        raise ValueError(f"width must be from 1 to the length {length}, got {width!r}")
    bump = np.sin(np.pi * (np.arange(width) + 0.5) / width) ** 2
    X = rng.normal(0, noise, (n_cases, length))
    for x, c in zip(X, codes, strict=True):
        start = rng.randint(length - width + 1)
        x[start : start + width] += (-3, -1, 1, 3)[c] * bump
    return SeriesCollection.of(X), np.where(codes % 2 == 0, 1, -1)


def gestures(
    n_cases: int = 40,
    lengths: tuple[int, int] = (50, 80),
    *,
    noise: float = 0.1,
    random_state: Any = None,
) -> Labelled:
    """Movements of a hand in space at a pace of their own: three channels, different lengths.

    Classes are "circle", "eight", "square" and "swipe".  The first series is as long as any can
    be, so that a model trained on it takes all others.

    Parameters
    ----------
    n_cases : int
    lengths : (int, int)
        The least and the greatest length.
    noise : float
        Standard deviation.
    random_state : int or RandomState, optional
    """
    names = np.array(sorted(_GESTURES))
    rng, y = _labels(n_cases, len(names), random_state)
    size = rng.randint(lengths[0], lengths[1] + 1, n_cases)
    size[:1] = lengths[1]
    return _collect([_gesture(rng, names[c], k, noise) for c, k in zip(y, size, strict=True)]), (
        names[y]
    )


def _corner(t: Array) -> Array:
    """One coordinate of a walk around a square, in time [0, 1]."""
    return np.interp(t % 1, [0, 0.25, 0.5, 0.75, 1], [-1, 1, 1, -1, -1])


_GESTURES: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "circle": lambda t: (np.sin(2 * np.pi * t), np.cos(2 * np.pi * t)),
    "eight": lambda t: (np.sin(2 * np.pi * t), np.sin(4 * np.pi * t)),
    "square": lambda t: (_corner(t), _corner(t - 0.25)),
    "swipe": lambda t: (2 * t - 1, np.sin(np.pi * t)),
}


def _gesture(rng: Random, name: str, length: int, noise: float) -> Array:
    # The pace is a positive smooth function; its integral is the time of the gesture.
    phase = np.linspace(0, 1, length)
    harmonics = np.arange(1, 4)[:, None]
    waves = np.sin(np.pi * harmonics * phase + rng.uniform(0, 2 * np.pi, (3, 1)))
    pace = np.exp((rng.normal(scale=0.4, size=(3, 1)) * waves).sum(axis=0))
    time = np.cumsum(pace) - pace[0]
    across, up = _GESTURES[name](time / time[-1])
    # Held at a slant, a little different every time.
    slant = np.array([[1, 0], [0, 1], [0.5, -0.5]]) + rng.normal(scale=0.15, size=(3, 2))
    return slant @ np.stack([across, up]) + rng.normal(scale=noise, size=(3, length))


def motifs(
    n_cases: int = 60,
    *,
    length: int = 40,
    stretch: int = 3,
    errors: float = 0.02,
    random_state: Any = None,
) -> Labelled:
    """Sequences of A, C, G and T that hold a motif, GATTACA, forwards or backwards.

    Each symbol of the motif is repeated up to `stretch` times, which warping undoes; before and
    after it are random symbols.  Classes are "forward" and "backward"; series are one-hot, as the
    alphabet `DNA` encodes them.

    Parameters
    ----------
    n_cases : int
    length : int
        Of all sequences; at least that of the stretched motif.
    stretch : int
    errors : float
        The share of symbols that are replaced by a random one.
    random_state : int or RandomState, optional
    """
    rng, y = _labels(n_cases, 2, random_state, length=length, stretch=stretch)
    if length < len(MOTIF) * stretch:
        raise ValueError(f"length must be at least {len(MOTIF) * stretch}, got {length}")
    names = np.array(["backward", "forward"])
    symbols = np.array(list("ACGT"))
    sequences = []
    for c in y:
        motif = np.repeat(list(MOTIF), rng.randint(1, stretch + 1, len(MOTIF)))
        sequence = rng.choice(symbols, length)
        start = rng.randint(length - len(motif) + 1)
        sequence[start : start + len(motif)] = motif if c else motif[::-1]
        wrong = rng.uniform(size=length) < errors
        sequence[wrong] = rng.choice(symbols, wrong.sum())
        sequences.append("".join(sequence))
    return DNA.encode(sequences), names[y]


class BuiltIn(NamedTuple):
    """A sample with a fixed seed: which generator, how many cases, and what they are."""

    generator: Callable[..., Labelled]
    n_train: int
    n_test: int
    seed: int
    description: str
    alphabet: Alphabet | None = None

    def make(self, name: str, split: str | None = None) -> Dataset:
        """The training cases, the test cases, or with None first the ones, then the others."""
        X, y = self.generator(self.n_train + self.n_test, random_state=self.seed)
        part = {
            "train": slice(self.n_train),
            "test": slice(self.n_train, None),
            None: slice(None),
        }[split]
        return Dataset(X[part], y[part], name, "built-in", self.alphabet)


# The names are not those of sets in the archive, which were drawn with other seeds.
BUILT_IN: dict[str, BuiltIn] = {
    "CylinderBellFunnel": BuiltIn(
        cylinder_bell_funnel, 60, 300, 1, "three shapes of an event (as CBF in the archive)"
    ),
    "UpDownPatterns": BuiltIn(
        two_patterns, 200, 400, 2, "two steps up or down in noise (as TwoPatterns)"
    ),
    "ControlCharts": BuiltIn(
        synthetic_control, 120, 300, 3, "six kinds of control chart (as SyntheticControl)"
    ),
    "WarpedBumps": BuiltIn(
        warped_bumps, 200, 400, 4, "two classes with a known elastic margin"
    ),
    "Gestures": BuiltIn(gestures, 60, 200, 5, "movements in three channels, of different lengths"),
    "Motifs": BuiltIn(motifs, 80, 200, 6, "a motif in sequences of symbols", DNA),
    "AlternatingBumps": BuiltIn(
        alternating_bumps, 200, 400, 7, "two classes that no elastic linear classifier separates"
    ),
}  # fmt: skip


def _labels(
    n_cases: int, n_classes: int, random_state: Any, **sizes: int
) -> tuple[Random, NDArray[np.int64]]:
    """The source of random numbers, and the class of each case from 0; sizes are positive."""
    for name, size in {"n_cases": n_cases, **sizes}.items():
        check_count(size, name, below=2**40)
    from sklearn.utils import check_random_state  # reading a file need not wait for scikit-learn

    rng = check_random_state(random_state)
    return rng, rng.permutation(np.arange(n_cases) % n_classes)


def _standardized(x: Array) -> Array:
    """Mean 0 and variance 1, as the series of the archive have."""
    return (x - x.mean()) / x.std()


def _collect(series: list[Array]) -> SeriesCollection:
    return SeriesCollection.of(series)
