"""Threads that carry out jobs and end when they are told to.

An interpreter that exits while daemon threads run compiled code may abort.  So the threads are no
daemons, an interrupt is passed on to them, which they see when their kernel returns, and they are
waited for.  A process that cannot wait ends with `os._exit`, as the command line does.
"""

from __future__ import annotations

import ctypes
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_STEP = 0.02  # seconds between looks at the threads


class Workers(Generic[T]):
    """Threads that take jobs from a queue.

    Parameters
    ----------
    count : int
    work : callable
        What is done with a job; called with the job and an event, which is set when the results
        are not wanted any more.
    grace : float, optional
        Seconds to wait for the threads after an interrupt; None waits until all have ended.
    """

    def __init__(
        self, count: int, work: Callable[[T, threading.Event], None], grace: float | None = None
    ) -> None:
        self._work, self._grace = work, grace
        self._jobs: queue.SimpleQueue[T] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._interrupted = False
        self._errors: list[BaseException] = []
        # A thread takes itself out when it ends.  This needs no lock, which an interrupt could
        # leave locked, and no `join`, which in Python 3.11 takes a running thread for ended if it
        # is interrupted.
        self._running = set(range(count))
        self._threads = [threading.Thread(target=self._loop, args=(n,)) for n in range(count)]

    def run(self, jobs: Iterable[T]) -> None:
        """Do all jobs; the first error in a thread ends them all and is raised here."""
        for job in jobs:
            self._jobs.put(job)
        try:
            with self._listening():
                for thread in self._threads:
                    thread.start()
                while self._running:  # a wait without limit could not be interrupted
                    time.sleep(_STEP)
                    if self._interrupted:
                        raise KeyboardInterrupt
        except KeyboardInterrupt:
            self._end()
            raise
        finally:
            self._stop.set()
        if self._errors:
            raise self._errors[0]

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Remember an interrupt: Python loses it if it comes while a destructor runs."""
        before = signal.getsignal(signal.SIGINT)
        main = threading.current_thread() is threading.main_thread()
        if not main or before is not signal.default_int_handler:
            yield
            return

        def remember(number: int, frame: Any) -> None:
            self._interrupted = True
            signal.default_int_handler(number, frame)

        signal.signal(signal.SIGINT, remember)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _loop(self, number: int) -> None:
        try:
            while not self._stop.is_set():
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                self._work(job, self._stop)
        except BaseException as error:
            self._errors.append(error)
            self._stop.set()
        finally:
            self._running.discard(number)

    def _end(self) -> None:
        """Interrupt the threads and wait for them."""
        self._stop.set()
        for number in list(self._running):
            if self._threads[number].ident is None:  # not even started
                self._running.discard(number)
            else:
                _interrupt(self._threads[number])
        limit = float("inf") if self._grace is None else time.monotonic() + self._grace
        while self._running and time.monotonic() < limit:
            time.sleep(_STEP)


def _interrupt(thread: threading.Thread) -> None:
    """Raise KeyboardInterrupt in a thread, as soon as it runs Python code again."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raise_in(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(KeyboardInterrupt))
