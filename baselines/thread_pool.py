"""A loop in threads: the best form that is written by hand where the loop's libraries release the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cv2

Loop = Callable[[Any], Any]


class ThreadPool:
    """A loop of its own for each thread, or one that all of them share.

    Give the loop's session one thread: the pool's threads are the parallel part. OpenCV's own threads are switched off
    for the same reason, in the whole process.
    """

    def __init__(self, make: Callable[[], Loop], threads: int, *, shared: bool = False) -> None:
        cv2.setNumThreads(1)
        self._local = threading.local()
        self._make = make
        self._shared = make() if shared else None
        self._pool = ThreadPoolExecutor(threads, initializer=self._open)

    def __call__(self, samples: Iterable[Any]) -> list[Any]:
        """The answers, in order."""
        return list(self._pool.map(self._one, samples))

    def close(self) -> None:
        self._pool.shutdown()

    def _open(self) -> None:
        self._local.loop = self._shared or self._make()

    def _one(self, sample: Any) -> Any:
        return self._local.loop(sample)
