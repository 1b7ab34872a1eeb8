"""Series that are spread over a cluster, and functions that travel to them.

`ClusterEngine` is what `warplearn.series.chunks` asks to map a function over chunks or to add up
what it makes of them.  A chunk is a part of a Dask collection: a delayed value that Dask reads,
keeps, moves, and computes again when a worker is lost.  Tasks are pure functions of a chunk and of
a small box that holds what they need, such as weights, so that they can be repeated anywhere.
Sums are added up in a tree whose shape depends on the chunks only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from distributed import Client, Future
from distributed.protocol.pickle import dumps, loads
from numpy.typing import NDArray

from warplearn.dask.graphs import Graph, Part, new_keys, result_of, submit
from warplearn.dask.progress import Progress, finished
from warplearn.series.chunks import each, total
from warplearn.series.collection import SeriesCollection

SPLIT_EVERY = 16  # partial sums that are added up by one task
SPLIT_LARGE = 4  # the same, of sums that take much memory
_BATCH = 4  # chunks for each thread of the cluster that are sent off together
_BATCHES = 2  # whose results are on their way at a time
_SMALL = 2**16  # bytes of a box that each task gets for itself: to fetch it would take longer

Change = Callable[[SeriesCollection], SeriesCollection]
_Share = tuple[int, slice | NDArray[np.int64], NDArray[np.int64] | None]


class Box(NamedTuple):
    """What all tasks of a pass need; they get it sealed, so that the scheduler need not open it."""

    function: Callable[..., Any]
    plus: Callable[[Any, Any], Any] | None
    changes: tuple[Change, ...]
    topic: str | None
    whole: bool = False

    def sealed(self) -> bytes:
        """The box as it travels."""
        return bytes(dumps(self))

    @classmethod
    def opened(cls, sealed: bytes) -> Box:
        """What was sealed."""
        box = loads(sealed)
        assert isinstance(box, cls)
        return box


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


def _each(part: Any, sealed: bytes, local: Any, *columns: Any) -> list[Any]:
    """What a function makes of the series of a part, a chunk at a time."""
    box = Box.opened(sealed)
    rows = [_rows(column, local) for column in columns]
    results = list(each(box.function, _some(part, local, box), *rows))
    finished(box.topic)
    return results


def _total(part: Any, sealed: bytes, local: Any, *columns: Any) -> Any:
    """What a function of the series of a part adds up to."""
    box = Box.opened(sealed)
    assert box.plus is not None
    some, rows = _some(part, local, box), [_rows(column, local) for column in columns]
    if box.whole:
        result = box.function(some, *rows)
    else:
        result = total(box.function, some, *rows, plus=box.plus)
    finished(box.topic)
    return result


def _sum(plus: Callable[[Any, Any], Any], *partial: Any) -> Any:
    return reduce(plus, partial)


def _take(part: Any, local: NDArray[np.int64]) -> Any:
    some = as_collection(part)[local]
    return some.values, some.lengths


class ClusterEngine:
    """Runs functions on the workers that hold the series.

    Parameters
    ----------
    client : Client
    parts : sequence of Part
    bounds : array of int
        The first series of each part, and their number.
    changes : tuple of functions
        What is done to series before any function sees them.
    progress : Progress, optional
    """

    def __init__(
        self,
        client: Client,
        parts: Sequence[Part],
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
        shares = [np.ascontiguousarray(column[own]) for _, own, _ in self.split(None)]
        keys = new_keys("rows", len(shares))
        graph = {key: (Rows, rows) for key, rows in zip(keys, shares, strict=True)}
        return Placed(submit(self.client, graph, keys))

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

    def _graph(
        self,
        run: Callable[..., Any],
        sealed: bytes,
        columns: Sequence[NDArray[Any] | Placed],
        split: Sequence[_Share],
    ) -> tuple[Graph, list[Any]]:
        """A graph with a task for each part, and their keys."""

        def rows(column: NDArray[Any] | Placed, number: int, own: Any) -> Any:
            if isinstance(column, Placed):
                return column.parts[number]
            return np.ascontiguousarray(column[own])

        shared, *keys = new_keys(run.__name__, 1 + len(split))
        small = len(sealed) <= _SMALL
        graph: Graph = {} if small else {shared: sealed}  # which a worker gets once
        box = sealed if small else shared
        for key, (number, own, local) in zip(keys, split, strict=True):
            part = self.parts[number]
            graph.update(part.graph)
            graph[key] = (run, part.key, box, local, *(rows(c, number, own) for c in columns))
        return graph, keys

    def each(
        self, function: Any, columns: tuple[Any, ...], cases: NDArray[np.int64] | None
    ) -> Iterator[Any]:
        """What a function makes of one chunk after the other; cases are in ascending order.

        Few chunks are on their way at a time.
        """
        split = list(self.split(cases))
        size = _BATCH * max(1, sum(self.client.nthreads().values()))
        waiting: deque[list[Future]] = deque()
        with self.progress.of(len(split)) as topic:
            sealed = Box(function, None, self.changes, topic).sealed()
            try:
                for start in range(0, len(split), size):
                    graph, keys = self._graph(_each, sealed, columns, split[start : start + size])
                    waiting.append(submit(self.client, graph, keys))
                    if len(waiting) == _BATCHES:
                        yield from self._next(waiting)
                while waiting:
                    yield from self._next(waiting)
            finally:
                for batch in waiting:
                    self.client.cancel(batch, force=True)

    def _next(self, waiting: deque[list[Future]]) -> Iterator[Any]:
        """The results of the first batch, which is let go before they are used."""
        results = self.client.gather(waiting[0])
        waiting.popleft()
        while results:
            yield from results.pop(0)

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
        few = SPLIT_LARGE if whole else SPLIT_EVERY
        with self.progress.of(len(split)) as topic:
            sealed = Box(function, plus, self.changes, topic, whole).sealed()
            graph, level = self._graph(_total, sealed, columns, split)
            while len(level) > (1 if whole else few):
                groups = [level[i : i + few] for i in range(0, len(level), few)]
                level = new_keys("sum", len(groups))
                for key, group in zip(level, groups, strict=True):
                    graph[key] = (_sum, plus, *group)
            return reduce(plus, result_of(submit(self.client, graph, level), self.client))

    def take(self, number: int, local: NDArray[np.int64]) -> tuple[Any, Graph]:
        """The key and the graph of a task that takes some series of a part."""
        part, (key,) = self.parts[number], new_keys("take", 1)
        return key, {**part.graph, key: (_take, part.key, local)}


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
        engine, places, keys = self._engine, [], []
        graph: Graph = {}
        part_of = np.searchsorted(engine.bounds, cases, side="right") - 1
        for number in np.unique(part_of):
            places.append(np.flatnonzero(part_of == number))
            key, tasks = engine.take(int(number), cases[places[-1]] - engine.bounds[number])
            keys.append(key)
            graph.update(tasks)
        results = result_of(submit(engine.client, graph, keys), engine.client)
        for place, (some, _) in zip(places, results, strict=True):
            values[place, : some.shape[1]] = some
        return values
