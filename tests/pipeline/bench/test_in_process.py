from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import tiny

from ge_engine.devices import NullDevice
from ops import Array, QueueError, TensorSpec, WrongUse
from pipeline import Batching, Pipeline, Session
from pipeline.bench import RequestFailed, Settings, measure
from pipeline.bench.in_process import SessionTarget

QUICK = Settings(window_s=0.05, max_windows=3)
WRONG = {"x": np.full(8, -200, np.float32)}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Its op refuses numbers below -100."""
    pipeline = Pipeline("picky")
    x = tiny.Picky()(pipeline.input("x", TensorSpec("float32", (8,))))
    pipeline.output(y=tiny.Model(tiny.vector_model(tmp_path))(x))
    with pipeline.compile(gears=(1, 2, 4), batching=Batching(max_delay_us=1000)).session() as session:
        yield session


def test_single_samples_are_submitted_and_merged(session: Session) -> None:
    target = SessionTarget(session, tiny.vectors(3), 1, timeout_s=10)
    level = measure(target, 8, QUICK)
    assert level.failed == 0
    counted = level.total["picky"]
    assert counted.succeeded == counted.inferences == level.answered
    assert level.others("picky") == 0
    assert max(level.total["picky_1_dense"].batches) > 1
    assert list(level.total) == ["picky", "picky_1_host0", "picky_1_dense"]


def test_several_rows_are_one_call(session: Session) -> None:
    target = SessionTarget(session, tiny.vectors(3), 4, timeout_s=10)
    level = measure(target, 1, QUICK)
    assert level.window.infer_per_sec == 4 * level.window.requests_per_sec
    assert set(level.total["picky_1_dense"].batches) == {4}


def test_where_it_is(session: Session) -> None:
    assert SessionTarget(session, tiny.vectors(1), 1, timeout_s=10).where == "cpu, in this process"


@pytest.mark.parametrize("rows", [1, 2])
def test_a_sample_that_fails_is_a_failed_request(session: Session, rows: int) -> None:
    samples = [*tiny.vectors(2), WRONG, WRONG]
    client = SessionTarget(session, samples, rows, timeout_s=10).client()
    for _ in range(2 // rows):
        client.request()
    with pytest.raises(RequestFailed, match="too small"):
        client.request()


def test_samples_that_nobody_chose_are_not_blamed_on_anybody(session: Session) -> None:
    with pytest.raises(WrongUse, match=r"refuses a trial request, made up of random data: .*too small") as error:
        SessionTarget(session, [WRONG], 1, timeout_s=10, made_up=True)
    assert "-i NAME=@FILE" in error.value.fix


def test_the_remedy_for_chosen_samples_is_the_op_s(session: Session) -> None:
    with pytest.raises(WrongUse, match=r"refuses a trial request, .*too small") as error:
        SessionTarget(session, [WRONG], 1, timeout_s=10)
    assert error.value.fix == "look at the cause; the op or its input is at fault"


def test_more_clients_than_may_wait_are_told_which_two_numbers_to_change(tmp_path: Path) -> None:
    go = threading.Event()
    go.set()

    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        assert go.wait(30)

    plan = tiny.vector_pipeline(tmp_path).compile(batching=Batching(max_pending=3))
    with plan.session(NullDevice(compute=compute)) as session:
        target = SessionTarget(session, tiny.vectors(1), 1, timeout_s=10)
        go.clear()
        with suppress(QueueError):
            while True:
                session.submit(**tiny.vectors(1)[0])
        with pytest.raises(WrongUse, match=r"more clients ask at once than may wait: .*max_pending is 3") as error:
            target.client().request()
        go.set()
    assert "lower --concurrency, or raise max_pending" in error.value.fix
