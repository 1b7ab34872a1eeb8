"""Series that are spread over a cluster, and functions that travel to them.

`ClusterEngine` is what `warplearn.series.chunks` asks to map a function over chunks or to add up
what it makes of them.  A chunk is a part of a Dask collection: a delayed value that Dask reads,
keeps, moves, and computes again when a worker is lost.  Tasks are pure functions of a chunk and of
a small box that holds what they need, such as weights, so that they can be repeated anywhere.
Sums are added up in a tree whose shape depends on the chunks only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.delayed import Delayed
from distributed import Client, Future
from numpy.typing import NDArray

from warplearn.dask.progress import Progress, finished
from warplearn.series.chunks import each, total
from warplearn.series.collection import SeriesCollection

RETRIES = 2  # of a task, such as one that reads a chunk
SPLIT_EVERY = 16  # partial sums that are added up by one task
SPLIT_LARGE = 4  # the same, of sums that take much memory
_IN_FLIGHT = 4  # chunks for each thread of the cluster whose results are on their way

Change = Callable[[SeriesCollection], SeriesCollection]
_Share = tuple[int, slice | NDArray[np.int64], NDArray[np.int64] | None]


class Box(NamedTuple):
    """What all tasks of a pass need; travels to each worker once."""

    function: Callable[..., Any]
    plus: Callable[[Any, Any], Any] | None
    changes: tuple[Change, ...]
    topic: str | None
    whole: bool = False


class Rows(NamedTuple):
    """The rows of a column that belong to the series of a part, as they lie on a worker."""

    values: NDArray[Any]


class Placed(NamedTuple):
    """A column that is on the workers; tasks choose the rows they need there."""

    parts: Sequence[Future]


def as_collection(part: Any, name: str = "X") -> SeriesCollection:
    """The series of a part."""
    return part if isinstance(part, SeriesCollection) else SeriesCollection.of(part, name=name)


def _some(part: Any, local: NDArray[np.int64] | None, box: Box) -> SeriesCollection:
    some = as_collection(part)
    some = some if local is None else some[local]
    for change in box.changes:
        some = change(some)
    return some


def _rows(column: Any, local: NDArray[np.int64] | None) -> NDArray[Any]:
    """The rows of a column that a task needs: those it was sent, or some of those that lie here."""
    if not isinstance(column, Rows):
        return column
    return column.values if local is None else column.values[local]


def _each(part: Any, box: Box, local: Any, *columns: Any) -> list[Any]:
    """What a function makes of the series of a part, a chunk at a time."""
    rows = [_rows(column, local) for column in columns]
    results = list(each(box.function, _some(part, local, box), *rows))
    finished(box.topic)
    return results


def _total(part: Any, box: Box, local: Any, *columns: Any) -> Any:
    """What a function of the series of a part adds up to."""
    assert box.plus is not None
    some, rows = _some(part, local, box), [_rows(column, local) for column in columns]
    if box.whole:
        result = box.function(some, *rows)
    else:
        result = total(box.function, some, *rows, plus=box.plus)
    finished(box.topic)
    return result


def _sum(box: Box, *partial: Any) -> Any:
    assert box.plus is not None
    so_far = partial[0]
    for one in partial[1:]:
        so_far = box.plus(so_far, one)
    return so_far


def _take(part: Any, local: NDArray[np.int64]) -> Any:
    some = as_collection(part)[local]
    return some.values, some.lengths


def result_of(futures: Future | list[Future], client: Client) -> Any:
    """The result of tasks; they are cancelled if it is not wanted any more, as after Ctrl-C."""
    try:
        return client.gather(futures)
    except BaseException:
        client.cancel(futures, force=True)
        raise


class ClusterEngine:
    """Runs functions on the workers that hold the series.

    Parameters
    ----------
    client : Client
    parts : sequence of Delayed
    bounds : array of int
        The first series of each part, and their number.
    changes : tuple of functions
        What is done to series before any function sees them.
    progress : Progress, optional
    """

    def __init__(
        self,
        client: Client,
        parts: Sequence[Delayed],
        bounds: NDArray[np.int64],
        changes: tuple[Change, ...] = (),
        progress: Progress | None = None,
    ) -> None:
        self.client, self.parts, self.bounds, self.changes = client, parts, bounds, changes
        self.progress = Progress(client) if progress is None else progress

    def changed(self, change: Change) -> ClusterEngine:
        """An engine for the series as a function changes them."""
        changes = (*self.changes, change)
        return ClusterEngine(self.client, self.parts, self.bounds, changes, self.progress)

    def placed(self, column: NDArray[Any]) -> Placed:
        """A column whose rows are sent to the workers once, for many passes.

        Dask sends those of a worker that is lost again, which it would not do after `scatter`.
        """
        rows = [
            dask.delayed(Rows(np.ascontiguousarray(column[own])), traverse=False)
            for _, own, _ in self.split(None)
        ]
        return Placed(self.client.compute(rows))

    def split(self, cases: NDArray[np.int64] | None) -> Iterator[_Share]:
        """The parts with some of the cases, which cases these are, and their places in the part."""
        if cases is None or np.array_equal(cases, np.arange(self.bounds[-1])):
            for number, (first, end) in enumerate(pairwise(self.bounds.tolist())):
                yield number, slice(first, end), None
            return
        cases = np.sort(cases)
        in_parts = np.split(cases, np.searchsorted(cases, self.bounds[1:-1]))
        for number, own in enumerate(in_parts):
            if len(own):
                yield number, own, own - self.bounds[number]

    def _tasks(
        self,
        run: Callable[..., Any],
        box: Delayed,
        columns: Sequence[NDArray[Any] | Placed],
        split: Sequence[_Share],
    ) -> list[Delayed]:
        task = dask.delayed(run, pure=False)

        def rows(column: NDArray[Any] | Placed, number: int, own: Any) -> Any:
            if isinstance(column, Placed):
                return column.parts[number]
            return np.ascontiguousarray(column[own])

        return [
            task(self.parts[number], box, local, *(rows(c, number, own) for c in columns))
            for number, own, local in split
        ]

    def each(
        self, function: Any, columns: tuple[Any, ...], cases: NDArray[np.int64] | None
    ) -> Iterator[Any]:
        """What a function makes of one chunk after the other; cases are in ascending order."""
        split = list(self.split(cases))
        with self.progress.of(len(split)) as topic:
            box = dask.delayed(Box(function, None, self.changes, topic), traverse=False)
            yield from self._results(self._tasks(_each, box, columns, split))

    def _results(self, tasks: list[Delayed]) -> Iterator[Any]:
        """What tasks return, in their order; few of them are on their way at a time."""
        most = _IN_FLIGHT * max(1, sum(self.client.nthreads().values()))
        waiting: list[Future] = []
        try:
            while tasks or waiting:
                new, tasks = tasks[: most - len(waiting)], tasks[most - len(waiting) :]
                if new:
                    waiting += self.client.compute(new, retries=RETRIES)
                yield from waiting[0].result()
                del waiting[0]
        finally:
            if waiting:
                self.client.cancel(waiting, force=True)

    def total(
        self,
        function: Any,
        columns: tuple[Any, ...],
        cases: NDArray[np.int64] | None,
        plus: Callable[[Any, Any], Any],
        whole: bool = False,
    ) -> Any:
        """The sum over the chunks of what a function makes of each, added up in a tree.

        With `whole`, the function is given all series of a part at once, and sees to its memory;
        few of its sums, which are large, are in the memory of a worker at a time.
        """
        split = list(self.split(cases))
        with self.progress.of(len(split)) as topic:
            box = dask.delayed(Box(function, plus, self.changes, topic, whole), traverse=False)
            level = self._tasks(_total, box, columns, split)
            add = dask.delayed(_sum, pure=False)
            few = SPLIT_LARGE if whole else SPLIT_EVERY
            while len(level) > 1:
                level = [add(box, *level[i : i + few]) for i in range(0, len(level), few)]
            return result_of(self.client.compute(level[0], retries=RETRIES), self.client)


class ClusterSource:
    """Values that are on a cluster; asking for some moves them here."""

    def __init__(
        self,
        engine: ClusterEngine,
        lengths: NDArray[np.int64],
        n_channels: int,
        dtype: np.dtype[np.floating[Any]],
    ) -> None:
        self._engine, self._lengths = engine, lengths
        self.shape = (len(lengths), int(lengths.max()), n_channels)
        self.dtype = dtype
        self.blocks = None  # batches take series of all parts, so that all workers have work
        self.kept_blocks = 1
        self.chunks = engine.bounds

    def take(self, index: Any) -> NDArray[Any]:
        """The values of some cases."""
        cases = np.arange(self.shape[0])[index]
        values = np.zeros(
            (len(cases), int(self._lengths[cases].max(initial=0)), self.shape[2]), self.dtype
        )
        engine, task, places = self._engine, dask.delayed(_take, pure=False), []
        tasks = []
        part_of = np.searchsorted(engine.bounds, cases, side="right") - 1
        for number in np.unique(part_of):
            places.append(np.flatnonzero(part_of == number))
            local = cases[places[-1]] - engine.bounds[number]
            tasks.append(task(engine.parts[int(number)], local))
        futures = engine.client.compute(tasks, retries=RETRIES)
        results = result_of(futures, engine.client)
        for place, (some, _) in zip(places, results, strict=True):
            values[place, : some.shape[1]] = some
        return values
