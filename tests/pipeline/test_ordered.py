from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from ops import OpError
from pipeline.ordered import ordered, with_progress


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


@pytest.mark.parametrize("samples", [[1, 2, 3], (number for number in (1, 2, 3))], ids=["list", "generator"])
def test_progress_is_shown_on_the_error_output(samples: object, capsys: pytest.CaptureFixture[str]) -> None:
    answers = (answer for answer in (10, 20, 30))
    assert list(with_progress(answers, samples)) == [10, 20, 30]  # type: ignore[arg-type]
    output = capsys.readouterr()
    assert output.out == ""
    assert ("3/3" if isinstance(samples, list) else "3/?") in output.err
