"""Ways to give a session, or a loop, n samples."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import cv2

from ops import GepipeError
from pipeline import Session

Run = Callable[[int], object]


def mapped(session: Session, sample: Mapping[str, Any]) -> Run:
    """All of them through `map`."""

    def run(n: int) -> None:
        for answer in session.map(itertools.repeat(sample, n)):
            if isinstance(answer, GepipeError):
                raise answer

    return run


def submitted(session: Session, sample: Mapping[str, Any], callers: int = 16) -> Run:
    """By so many threads, each of which waits for its answer before it asks again."""
    return at_once(lambda: session.submit(**sample).result(), callers)


def at_once(call: Callable[[], object], callers: int) -> Run:
    """By so many threads, until n calls are made in all."""

    def run(n: int) -> None:
        counter = itertools.count()
        errors: list[BaseException] = []

        def calls() -> None:
            try:
                while next(counter) < n:
                    call()
            except BaseException as error:  # it is raised where the figures are taken
                errors.append(error)

        threads = [threading.Thread(target=calls) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    return run


def looped(loop: Callable[[Any], object], sample: Any, opencv_threads: int) -> Run:
    """One after the other."""

    def run(n: int) -> None:
        cv2.setNumThreads(opencv_threads)
        deque(map(loop, itertools.repeat(sample, n)), maxlen=0)

    return run


def pooled(pool: Callable[[Any], object], sample: Any) -> Run:
    """By a pool of threads."""

    def run(n: int) -> None:
        cv2.setNumThreads(1)
        pool(itertools.repeat(sample, n))

    return run
