"""Indices by their keys, the least key first: a binary heap."""

from __future__ import annotations

from warplearn._kernels.simd.compiling import inner


@inner
def _sink(keys, heap, size, place):
    """Move an index down, to where no index below it has a lesser key."""
    index = heap[place]
    key = keys[index]
    child = 2 * place + 1
    while child < size:
        if child + 1 < size and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if not keys[heap[child]] < key:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = index


@inner
def make_heap(keys, heap, size):
    """Order the first `size` indices."""
    for place in range(size // 2 - 1, -1, -1):
        _sink(keys, heap, size, place)


@inner
def pop_least(keys, heap, size):
    """Take the index with the least key from a heap, which then has one less."""
    least = heap[0]
    heap[0] = heap[size - 1]
    _sink(keys, heap, size - 1, 0)
    return least
