"""Ordered: the answers to a stream of samples, in order and in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sized
from concurrent.futures import Future
from contextlib import closing
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TimeElapsedColumn
from rich.text import Text

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


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f}/s" if speed else "")


def with_progress(answers: Generator[Answer, None, None], samples: Iterable[object]) -> Generator[Answer, None, None]:
    """The same answers, with a bar on the error output."""
    columns = (BarColumn(), MofNCompleteColumn(), _Rate(), TimeElapsedColumn())
    total = len(samples) if isinstance(samples, Sized) else None
    with closing(answers), Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        for answer in answers:
            progress.advance(task)
            yield answer
