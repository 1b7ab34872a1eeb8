"""Scores of growing series: a decision at every sample, at the cost of one row of the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warplearn._kernels.drivers.stream import advance
from warplearn._kernels.recursion.local import Product
from warplearn._kernels.simd.arrays import flat
from warplearn._kernels.simd.constants import Static
from warplearn._kernels.simd.target import lanes_for
from warplearn.series.derived import RAW, derived_values
from warplearn.series.numbers import check_numbers


class ElasticStream:
    """An online scorer: `push` a sample, get the decision value of all samples so far.

    Made by the method `stream` of a fitted elastic linear classifier.  A push takes O(m) time and
    no memory beyond one row of the grid, and gives what `decision_function` gives for the series
    up to that sample.

    Parameters
    ----------
    W : array (units, n, m, channels)
    b : array (units,)
    mix : array (units, outputs)
        How units combine to decision values.
    offset : float or array (outputs,), default=0.0
        What is added to the outputs.
    n_streams : int
        How many series grow side by side.
    alphabet : Alphabet, optional
        For samples that are symbols.
    channels : tuple of str
        Names of the channels that are derived from the samples (see `warplearn.series.derived`),
        those of all samples so far at every push.
    """

    def __init__(
        self,
        W: NDArray[Any],
        b: NDArray[Any],
        mix: NDArray[Any],
        offset: Any = 0.0,
        n_streams: int = 1,
        alphabet: Any = None,
        channels: tuple[str, ...] = RAW,
    ) -> None:
        if not isinstance(n_streams, (int, np.integer)) or n_streams < 1:
            raise ValueError(f"n_streams must be a positive integer, got {n_streams!r}")
        units, n, m, d = W.shape
        self.n_streams, self.max_length, self.n_channels = n_streams, n, d // len(channels)
        self._channels = channels
        self._b, self._mix, self._offset, self._alphabet = b, mix, offset, alphabet
        self._lanes = Static(8) if n_streams <= 8 else lanes_for(W.dtype)
        blocks = -(-n_streams // self._lanes.value)
        self._W = flat(W).reshape(units, n, m * d)
        self._kept = np.empty((blocks, units, m * self._lanes.value), W.dtype)
        self._samples = np.zeros((blocks, d, self._lanes.value), W.dtype)
        kept = 0 if channels == RAW else n
        self._history = np.empty((n_streams, kept, self.n_channels), W.dtype)
        self._values = np.empty((blocks, units, self._lanes.value), W.dtype)
        self.reset()

    def reset(self) -> ElasticStream:
        """Forget all samples and start a new series."""
        self.n_samples = 0
        return self

    def _encoded(self, sample: Any) -> Any:
        """The vectors of symbols; anything else as it is."""
        symbols = [sample] if isinstance(sample, str) and self.n_streams == 1 else sample
        several = isinstance(symbols, (str, list, tuple))
        if not several or not isinstance(next(iter(symbols), None), str):
            return sample
        if self._alphabet is None:
            raise ValueError(f"sample must be numbers, as the series seen in fit, got {sample!r}")
        return self._alphabet.encode([symbols], name="sample").values[0]

    def _derived(self, samples: NDArray[Any]) -> NDArray[Any]:
        """The channels of samples (streams, channels), which may depend on those before."""
        if self._channels == RAW:
            return samples
        self._history[:, self.n_samples] = samples
        return derived_values(self._history[:, : self.n_samples + 1], self._channels)[:, -1]

    def push(self, sample: Any) -> Any:
        """Take the next sample of every stream.

        Parameters
        ----------
        sample : float, or array (channels,); for several streams (n_streams,) or
            (n_streams, channels); a symbol, or a sequence of them, if fit saw symbols

        Returns
        -------
        float, or array
            The decision value of the samples so far; (outputs,) for more than two classes, with
            n_streams in front for several streams.
        """
        try:
            given = np.asarray(self._encoded(sample), dtype=self._W.dtype)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"sample must be numbers, or known symbols: {error}") from error
        shape = (self.n_streams, self.n_channels)
        allowed: list[tuple[int, ...]] = [shape]
        allowed += [shape[1:]] if self.n_streams == 1 else []
        allowed += [shape[:1]] if self.n_channels == 1 else []
        allowed += [()] if shape == (1, 1) else []
        if given.shape not in allowed:
            raise ValueError(
                f"sample must have {self.n_channels} channel(s) for each of {self.n_streams} "
                f"stream(s), got shape {given.shape}"
            )
        check_numbers(given, "sample")
        if self.n_samples == self.max_length:
            raise ValueError(
                f"the stream is at its end: the model has {self.max_length} rows; call reset()"
            )
        lanes = self._lanes.value
        for stream, values in enumerate(self._derived(given.reshape(shape))):
            self._samples[stream // lanes, :, stream % lanes] = values
        advance(
            self._lanes,
            Static(1) if self._samples.shape[1] == 1 else self._samples.shape[1],
            Product(),
            self._samples.reshape(len(self._samples), -1),
            self._W,
            self.n_samples,
            self._kept,
            self._values,
        )
        self.n_samples += 1
        scores = self._values.swapaxes(1, 2).reshape(-1, len(self._b))[: self.n_streams]
        decisions = (scores + self._b) @ self._mix + self._offset
        decisions = decisions[:, 0] if decisions.shape[1] == 1 else decisions
        return decisions if self.n_streams > 1 else decisions[0]
