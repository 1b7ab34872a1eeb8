"""How far a pass over the chunks has come, printed here as workers finish them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from distributed import Client, get_worker

_SECONDS = 2.0  # from one line to the next; shorter passes print nothing


class Progress:
    """Prints how many chunks of a pass are done, if it is asked to and the pass takes seconds."""

    def __init__(self, client: Client) -> None:
        self.client, self.shown = client, False

    @contextmanager
    def showing(self, shown: bool) -> Iterator[None]:
        """Print the progress of the passes within."""
        before, self.shown = self.shown, shown
        try:
            yield
        finally:
            self.shown = before

    @contextmanager
    def of(self, chunks: int) -> Iterator[str | None]:
        """A pass; gives the topic that its tasks call `finished` with, or None."""
        if not self.shown:
            yield None
            return
        topic, done, last = f"warplearn-{uuid4()}", 0, time.monotonic()

        def note(event: Any) -> None:
            nonlocal done, last
            done += 1
            if time.monotonic() - last > _SECONDS:
                last = time.monotonic()
                print(f"warplearn.dask: {done} of {chunks} chunks", flush=True)

        self.client.subscribe_topic(topic, note)
        try:
            yield topic
        finally:
            self.client.unsubscribe_topic(topic)


def finished(topic: str | None) -> None:
    """Say from a task that a chunk is done."""
    if topic is not None:
        get_worker().log_event(topic, {"chunks": 1})
