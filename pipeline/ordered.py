"""Ordered: the answers to a stream of samples, in order and in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from typing import TypeVar

from ops import GepipeError

Sample = TypeVar("Sample")
Answer = TypeVar("Answer")


def ordered(
    submit: Callable[[Sample], Future[Answer]], samples: Iterable[Sample], window: int
) -> Generator[Answer | GepipeError, None, None]:
    """Submit samples as they are asked for, at most `window` ahead; each one's answer, or the error that it had.

    When `samples` itself fails, the answers to what came before are given first. Closed early, it cancels what has not
    been started.
    """
    source = iter(samples)
    ahead: deque[Future[Answer]] = deque()
    ended: Exception | None = None
    try:
        while ahead or ended is None:
            while ended is None and len(ahead) < window:
                try:
                    ahead.append(submit(next(source)))
                except Exception as error:  # StopIteration, or the caller's own
                    ended = error
            if ahead:
                try:
                    answer: Answer | GepipeError = ahead.popleft().result()
                except GepipeError as error:
                    answer = error
                yield answer
        if not isinstance(ended, StopIteration):
            assert ended is not None
            raise ended
    finally:
        for future in ahead:
            future.cancel()
