from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from gates import LIMIT

from ops import Array, OpError, SampleError
from pipeline import Batching, Plan
from pipeline.ordered import ordered

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


class Queue:
    """What answers futures: at once, but for those that are held."""

    def __init__(self, *held: int) -> None:
        self.held = held
        self.futures: dict[int, Future[int]] = {}

    def submit(self, number: int) -> Future[int]:
        self.futures[number] = future = Future()
        if number not in self.held:
            future.set_result(10 * number)
        return future


def test_answers_come_in_order_and_samples_are_taken_a_window_ahead() -> None:
    taken: list[int] = []

    def samples() -> Iterator[int]:
        for number in range(7):
            taken.append(number)
            yield number

    answers = ordered(Queue().submit, samples(), 3)
    assert taken == []
    assert next(answers) == 0
    assert taken == [0, 1, 2]
    assert next(answers) == 10
    assert taken == [0, 1, 2, 3]
    assert list(answers) == [20, 30, 40, 50, 60]


def test_the_error_of_a_sample_stands_in_its_place() -> None:
    queue = Queue(1)
    answers = ordered(queue.submit, range(3), 3)
    assert next(answers) == 0
    queue.futures[1].set_exception(OpError("too small"))
    error = next(answers)
    assert isinstance(error, OpError)
    assert list(answers) == [20]


def test_a_fault_that_is_no_samples_is_raised() -> None:
    queue = Queue(1)
    answers = ordered(queue.submit, range(2), 2)
    assert next(answers) == 0
    queue.futures[1].set_exception(ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        next(answers)


def test_what_the_samples_raise_comes_after_the_answers_before_it() -> None:
    def samples() -> Iterator[int]:
        yield 1
        yield 2
        raise OSError("the disk is gone")

    answers = ordered(Queue().submit, samples(), 8)
    assert [next(answers), next(answers)] == [10, 20]
    with pytest.raises(OSError, match="the disk is gone"):
        next(answers)
    assert list(answers) == []


@pytest.mark.parametrize("end", ["closed", "interrupted"])
def test_ended_early_it_cancels_what_has_not_been_started(end: str) -> None:
    def samples() -> Iterator[int]:
        yield from range(3)
        raise KeyboardInterrupt

    queue = Queue(1, 2)
    queue.futures[0] = Future()
    if end == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            next(ordered(queue.submit, samples(), 5))
    else:
        answers = ordered(queue.submit, range(9), 3)
        assert next(answers) == 0
        answers.close()
    assert queue.futures[1].cancelled()
    assert queue.futures[2].cancelled()


def test_map_is_closed_early_and_the_session_goes_on(plan: Plan) -> None:
    samples = tiny.vectors(5)
    with plan.session() as session:
        taken = 0

        def endless() -> Iterator[dict[str, Array]]:
            nonlocal taken
            while True:
                taken += 1
                yield samples[taken % 5]

        answers = session.map(endless())
        for _ in range(30):
            next(answers)
        answers.close()  # type: ignore[attr-defined]
        assert session._scheduler is not None
        assert taken <= 30 + session._scheduler.window
        assert tiny.same(session.submit(**samples[0]).result(LIMIT), session.run(**samples[0]))


def test_map_is_not_subject_to_max_pending_and_shows_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=tiny.GEARS, batching=Batching(max_pending=1))
    with plan.session() as session:
        assert len(list(session.map(tiny.vectors(100), progress=True))) == 100
    assert "100/100" in capsys.readouterr().err


@pytest.mark.parametrize("samples", [{"x": np.zeros(8, np.float32)}, b"bytes", "text"])
def test_one_sample_given_to_map_is_refused(plan: Plan, samples: Any) -> None:
    with plan.session() as session, pytest.raises(SampleError, match="map was given one"):
        session.map(samples)
