"""Bars: on the error output, how far something is."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sized
from contextlib import closing, contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from ge_engine.progress import Progress
from ops import GepipeError

Answer = TypeVar("Answer")


@contextmanager
def compiling(console: Console | None = None) -> Iterator[Progress]:
    """A bar for what compiles, where the error output is a terminal; it goes whenever that is done.

    What comes from the cache whole shows nothing.
    """
    console = Console(stderr=True) if console is None else console
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("compile", start=False, total=None)

    def show(what: str, done: int, total: int) -> None:
        if not bar.live.is_started and done < total:
            bar.reset(task)
            bar.start()
        bar.update(task, description=what, completed=done, total=total)
        if bar.live.is_started and done == total:
            bar.stop()

    try:
        yield show
    finally:
        bar.stop()


class _Rate(ProgressColumn):
    """Since the beginning: answers come in bursts, and the rate of a burst is none that lasts."""

    def render(self, task: Task) -> Text:
        seconds = task.finished_time if task.finished else task.elapsed
        return Text(f"{task.completed / seconds:.1f}/s" if seconds and task.completed else "")


class _Failed(ProgressColumn):
    def render(self, task: Task) -> Text:
        failed = task.fields["failed"]
        return Text(f"{failed:,} failed" if failed else "", style="red")


def answering(answers: Generator[Answer, None, None], samples: Iterable[object]) -> Generator[Answer, None, None]:
    """The same answers, with a bar that counts them, and those that are errors."""
    columns = (BarColumn(), MofNCompleteColumn(), _Rate(), TimeElapsedColumn(), _Failed())
    total = len(samples) if isinstance(samples, Sized) else None
    failed = 0
    with closing(answers), Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, failed=0)
        for answer in answers:
            failed += isinstance(answer, GepipeError)
            bar.update(task, advance=1, failed=failed)
            yield answer
