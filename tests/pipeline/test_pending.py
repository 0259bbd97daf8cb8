from __future__ import annotations

import gc
import threading
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import tiny
from gates import LIMIT, Gate, number, occupy

from ops import Array, DeviceError, Edge, Op, OpError, QueueError, TensorSpec
from pipeline import Pipeline, Plan, Session

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


def test_a_full_queue_says_how_full_and_what_to_do(gated: Callable[..., Plan], gate: Gate) -> None:
    with gated(max_pending=2).session() as session:
        occupy(session, gate)
        waiting = [session.submit(**number(value)) for value in (1, 2)]
        with pytest.raises(
            QueueError, match=r"2 samples wait already, and max_pending is 2\nfix: .*use map, which waits"
        ):
            session.submit(**number(3))
        waiting[0].cancel()
        session.submit(**number(5))  # its place is free again
        with pytest.raises(QueueError, match="max_pending is 2"):
            session.submit(**number(6))
        gate.opened.set()
    assert sorted(value for value in gate.values if value > 0) == [2, 5]


SESSIONS: dict[str, Session] = {}


@dataclass(frozen=True)
class Again(Op[Edge]):
    """Sends its sample to its own session once more."""

    method: str

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        session = SESSIONS[self.method]
        if x[0] == 0:
            return x + 1
        if self.method == "submit":
            return session.submit(x=x * 0).result()["y"]  # type: ignore[no-any-return]
        if self.method == "map":
            (answer,) = session.map([{"x": x * 0}])
            return answer["y"]  # type: ignore[no-any-return,index]
        return session.run(x=x * 0)["y"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("method", ["submit", "map", "run"])
def test_an_op_that_waits_for_its_own_session_is_told_unless_it_calls_run(method: str) -> None:
    pipeline = Pipeline("again")
    pipeline.output(y=Again(method)(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        SESSIONS[method] = session
        futures = [session.submit(**number(1)) for _ in range(4)]
        answers = [future.exception(LIMIT) or future.result() for future in futures]
    for answer in answers:
        if method == "run":
            assert isinstance(answer, dict)
            assert answer["y"].tolist() == [1] * 8
        else:
            assert isinstance(answer, DeviceError)
            assert "node 'again'" in str(answer)
            assert "would wait for the session itself\nfix: in an op or a callback, call session.run" in str(answer)


def test_a_callback_may_send_the_next_sample_and_may_not_wait_for_it(plan: Plan) -> None:
    first, second = tiny.vectors(2)
    told: list[str] = []
    ended = threading.Event()

    def go_on(_: object) -> None:
        future = session.submit(**second)
        try:
            future.exception()
        except DeviceError as error:
            told.append(str(error))
        future.add_done_callback(lambda _: ended.set())

    release = threading.Event()
    with plan.session() as session:
        session.submit(**first).add_done_callback(lambda _: release.wait(LIMIT))
        future = session.submit(**first)
        future.add_done_callback(go_on)
        release.set()
        assert ended.wait(LIMIT)
    if told:  # unless it was answered at once, or the callback ran here
        assert "would wait for the session itself" in told[0]


def test_a_future_that_somebody_else_has_answered_harms_nobody(gated: Callable[..., Plan], gate: Gate) -> None:
    with gated().session() as session:
        occupy(session, gate)
        answered, begun, left_alone = (session.submit(**number(value)) for value in (1, 2, 3))
        answered.set_result({})
        begun.set_running_or_notify_cancel()
        gate.opened.set()
        assert begun.result(LIMIT)["y"][0] == 2
        assert left_alone.result(LIMIT)["y"][0] == 3
        assert answered.result() == {}


def test_a_future_that_somebody_else_has_answered_does_not_keep_a_session_open(
    gated: Callable[..., Plan], gate: Gate
) -> None:
    session = gated().session()
    busy = occupy(session, gate)
    waiting = [session.submit(**number(value)) for value in (1, 2)]
    waiting[0].set_result({})
    gate.opened.set()
    session.__exit__(KeyError)  # which cancels what waits
    assert all(future.done() for future in (*busy, *waiting))


MADE: list[weakref.ref[Array]] = []


@dataclass(frozen=True)
class Refuses(Op[Edge]):
    """Fails, with a cause."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        picture = x + 0
        MADE.extend(map(weakref.ref, (x, picture)))
        raise ValueError(f"no {picture.sum():g}")


@pytest.mark.parametrize("method", ["map", "submit"])
def test_an_error_that_is_kept_does_not_keep_the_arrays_of_its_sample(method: str) -> None:
    pipeline = Pipeline("refuses")
    pipeline.output(y=Refuses()(tiny.Scale(1.0)(pipeline.input("x", tiny.VECTOR))))
    MADE.clear()
    with pipeline.compile().session() as session:
        if method == "submit":
            error: object = session.submit(**number(1)).exception(LIMIT)
        else:
            (error,) = session.map(number(1) for _ in range(1))
    gc.collect()
    assert len(MADE) == 2
    assert all(array() is None for array in MADE)
    assert isinstance(error, OpError)
    assert error.__cause__ is not None
    assert 'raise ValueError(f"no {' in "".join(traceback.format_exception(error))  # it still tells where it was
