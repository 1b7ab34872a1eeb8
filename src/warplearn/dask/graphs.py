"""Tasks in the form that the scheduler takes: plain graphs, put together by hand.

A pass over the chunks of a collection has a few tasks for each, and a fit has many passes.  Delayed
objects would be named, merged and optimized again in each of them, which takes client and scheduler
longer than workers need for a short pass.  So the graphs of the chunks are made once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from dask.core import get_dependencies
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from dask.utils import ensure_dict
from distributed import Client, Future

RETRIES = 2  # of a task, such as one that reads a chunk

Graph: TypeAlias = dict[Hashable, Any]


class Part(NamedTuple):
    """A chunk: its key, and the tasks or futures that it is computed from."""

    key: Hashable
    graph: Graph


def parts_with_graphs(parts: Sequence[Delayed], client: Client) -> list[Part]:
    """Delayed chunks, each with what it needs of a graph that they may share."""
    known: dict[int, Graph] = {}
    made = []
    for part in parts:
        shared = part.__dask_graph__()
        if id(shared) not in known:
            known[id(shared)] = ensure_dict(shared)
        graph = _needed(known[id(shared)], part.key)
        # A chunk without tasks is one that workers have, and now keep.
        made.append(Part(part.key, graph or {part.key: Future(part.key, client)}))
    return made


def _needed(graph: Graph, key: Hashable) -> Graph:
    """What of a graph a key is computed from."""
    needed: Graph = {}
    left = [key]
    while left:
        key = left.pop()
        if key in graph and key not in needed:
            needed[key] = graph[key]
            left += get_dependencies(graph, key)
    return needed


def new_keys(name: str, count: int) -> list[Hashable]:
    """Keys that no other task has; Dask's displays show the name."""
    name = f"{name}-{uuid4().hex}"
    return [(name, number) for number in range(count)]


def submit(client: Client, graph: Graph, keys: Sequence[Hashable]) -> list[Future]:
    """The results of some of the tasks of a graph, which is not changed after this."""
    name = f"warplearn-{uuid4().hex}"
    layers = HighLevelGraph({name: graph}, {name: set()})
    return list(client.get(layers, list(keys), sync=False, retries=RETRIES))


def result_of(futures: Future | list[Future], client: Client) -> Any:
    """The result of tasks; they are cancelled if it is not wanted any more, as after Ctrl-C."""
    try:
        return client.gather(futures)
    except BaseException:
        client.cancel(futures, force=True)
        raise
