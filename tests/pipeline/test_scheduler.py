from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from gates import LIMIT, Gate, Wait, number, occupy

import ops
from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import Array, DeviceError, Edge, GepipeError, Op, OpError, QueueError, SampleError, TensorSpec
from pipeline import Batching, Pipeline, Plan
from pipeline.forming import Forming

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


def vectors(plan: Plan, folder: Path) -> tuple[Plan, list[dict[str, Any]]]:
    return plan, tiny.vectors(20)


def direct(plan: Plan, folder: Path) -> tuple[Plan, list[dict[str, Any]]]:
    """No host stage before the model."""
    pipeline = Pipeline("direct")
    pipeline.output(y=Model(tiny.vector_model(folder))(pipeline.input("x", tiny.VECTOR)))
    return pipeline.compile(gears=tiny.GEARS), tiny.vectors(20)


def host_only(plan: Plan, folder: Path) -> tuple[Plan, list[dict[str, Any]]]:
    pipeline = Pipeline("host")
    pipeline.output(y=tiny.Scale(3.0)(pipeline.input("x", tiny.VECTOR)))
    return pipeline.compile(), tiny.vectors(20)


def mixing(plan: Plan, folder: Path) -> tuple[Plan, list[dict[str, Any]]]:
    pipeline = Pipeline("mixing")
    pipeline.output(y=Model(tiny.mixing_model(folder))(pipeline.input("x", tiny.VECTOR)))
    return pipeline.compile(gears=tiny.GEARS), tiny.vectors(20)


def levels(plan: Plan, folder: Path) -> tuple[Plan, list[dict[str, Any]]]:
    """Two models in a row and two side by side, an output from the middle, and a constant."""
    pipeline = Pipeline("levels")
    scaled = tiny.Scale(0.5)(pipeline.input("x", tiny.VECTOR))
    a = Model(tiny.vector_model(folder, "a", seed=1))(scaled)
    b = Model(tiny.vector_model(folder, "b", seed=2))(scaled)
    c = Model(tiny.vector_model(folder, "c", size=4))(tiny.Scale(2.0)(a))
    bank = pipeline.constant("bank", np.random.default_rng(3).normal(size=(5, 4)).astype(np.float32))
    pipeline.output(inside=scaled, b=b, c=c, likeness=ops.Similarity()(c, bank))
    return pipeline.compile(gears={"a": (1, 4), "b": (1, 2), "c": (1, 2, 4)}, streams=2), tiny.vectors(20)


def sizes(plan: Plan, folder: Path) -> tuple[Plan, list[dict[str, Any]]]:
    return tiny.sized_pipeline(folder).compile(gears=(1, 2, 4)), tiny.pictures(20)


@pytest.mark.parametrize("device", ["cpu", "pads", "asynchronous"])
@pytest.mark.parametrize("make", [vectors, direct, host_only, mixing, levels, sizes])
def test_answers_are_those_of_run_byte_for_byte(make: Any, device: str, plan: Plan, tmp_path: Path) -> None:
    chosen, samples = make(plan, tmp_path)
    with chosen.session("cpu" if device == "cpu" else NullDevice(pads=device == "pads")) as session:
        solo = [session.run(**sample) for sample in samples]

        def work(seed: int) -> bool:
            picked = np.random.default_rng(seed).integers(0, len(samples), 60).tolist()
            futures = [session.submit(**samples[i]) for i in picked]
            return all(tiny.same(future.result(LIMIT), solo[i]) for future, i in zip(futures, picked))

        with ThreadPoolExecutor(4) as callers:
            assert all(callers.map(work, range(4)))
        mapped = list(session.map(samples[i % len(samples)] for i in range(100)))
        assert all(tiny.same(answer, solo[i % len(samples)]) for i, answer in enumerate(mapped))


def test_what_fails_on_the_host_or_the_device_or_is_no_sample_fails_alone(tmp_path: Path) -> None:
    pipeline = Pipeline("ids")
    checked = tiny.Picky()(pipeline.input("x", tiny.VECTOR))
    ids = ops.Cast("int64")(pipeline.input("numbers", TensorSpec("int32", (4,))))  # an output too: on the host
    dense = Model(tiny.vector_model(tmp_path))(checked)
    pipeline.output(ids=ids, y=Model(tiny.gather_model(tmp_path))(ids), dense=dense)
    good, bad = np.array([1, 2, 3, 4], np.int32), np.array([1, 2, 3, 99], np.int32)
    x = np.ones(8, np.float32)
    kinds = [{"x": x, "numbers": good}, {"x": x, "numbers": bad}, {"x": -999 * x, "numbers": good}, {"x": x}]
    samples = [kinds[i] for i in np.random.default_rng(1).choice(4, 200, p=(0.7, 0.1, 0.1, 0.1))]
    with pipeline.compile(gears=(1, 2, 4), streams=2).session() as session:
        solo = session.run(**kinds[0])
        answers = list(session.map(samples))
        for sample, answer in zip(samples, answers):
            if sample is kinds[0]:
                assert tiny.same(answer, solo)
            else:
                expected = {1: DeviceError, 2: OpError, 3: SampleError}[[sample is kind for kind in kinds].index(True)]
                assert type(answer) is expected
        with pytest.raises(OpError, match="too small"):
            session.submit(**kinds[2]).result(LIMIT)
        with pytest.raises(SampleError, match="no value for input 'numbers'"):
            session.submit(**kinds[3]).result(LIMIT)


def test_on_a_device_that_pads_a_failing_sample_is_not_in_the_padding_of_the_others(tmp_path: Path) -> None:
    pipeline = Pipeline("ids")
    pipeline.output(y=Model(tiny.gather_model(tmp_path))(pipeline.input("ids", TensorSpec("int64", (4,)))))

    def refuse(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        if inputs["ids"].max() > 9:
            raise DeviceError("indices out of bounds")
        outputs["y"][:] = inputs["ids"]

    samples = [{"ids": np.array([value] * 4)} for value in (99, 1, 99, 2)]
    with pipeline.compile(gears=(4,)).session(NullDevice(compute=refuse)) as session:
        for answers in (session.run_batch(samples), list(session.map(samples)), session.run_batch(samples[1::2])):
            good = [answer["y"][0] for answer in answers if isinstance(answer, dict)]
            assert good == [1, 2]
            assert all(isinstance(answer, (dict, DeviceError)) for answer in answers)


def test_the_row_of_a_sample_that_failed_is_filled_by_another_and_the_copy_is_counted(tmp_path: Path) -> None:
    """The first is still being written when the second has failed and no third comes: its row moves up."""
    started, failed = threading.Event(), threading.Event()
    seen: list[Array] = []

    @dataclass(frozen=True)
    class Second(Op[Edge]):
        def infer(self, x: TensorSpec) -> TensorSpec:
            return x

        def run(self, x: Array, out: Array | None = None) -> Array:
            assert out is not None
            out[:] = np.nan
            if x[0] == 1:
                started.set()
                assert failed.wait(LIMIT)
                raise ValueError("half written")
            assert started.wait(LIMIT)
            out[:] = x
            failed.set()
            return out

    pipeline = Pipeline("second")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(Second()(pipeline.input("x", tiny.VECTOR))))
    batching = Batching(max_delay_us=60_000_000)
    device = NullDevice(compute=lambda inputs, outputs: seen.append(inputs["second"].copy()))
    with pipeline.compile(gears=(2,), batching=batching).session(device) as session:
        bad = session.submit(**number(1))
        assert started.wait(LIMIT)
        good = session.submit(**number(2))
        with pytest.raises(OpError, match="half written"):
            bad.result(LIMIT)
        session.close()
        good.result(LIMIT)
        assert session.copies.nbytes_in == 8 * 4
    assert seen[-1].tolist() == [[2.0] * 8, [2.0] * 8]  # the padding is the valid row that moved


def test_what_comes_while_the_device_is_busy_is_merged(gate: Gate, tmp_path: Path, request: Any) -> None:
    ran: list[int] = []
    entered, leave = threading.Semaphore(0), threading.Event()

    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        ran.append(len(inputs["wait"]))
        entered.release()
        assert leave.wait(LIMIT)

    pipeline = Pipeline("busy")
    waited = Wait(request.node.name)(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(waited))
    gate.opened.set()
    with pipeline.compile(gears=(8,)).session(NullDevice(compute=compute, pads=False)) as session:
        futures = [session.submit(**number(0))]
        assert entered.acquire(timeout=LIMIT)
        for _ in range(9):
            gate.await_one()
            futures.append(session.submit(**number(1)))
        leave.set()
        wait(futures, LIMIT)
    assert sorted(ran) == [1, 1, 8]


def test_the_next_batch_runs_while_the_one_before_it_is_answered(gate: Gate, tmp_path: Path, request: Any) -> None:
    ran = threading.Semaphore(0)
    leave = threading.Event()

    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        ran.release()
        assert leave.wait(LIMIT)

    pipeline = Pipeline("answering")
    dense = Model(tiny.vector_model(tmp_path))(tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR)))
    pipeline.output(y=Wait(request.node.name)(dense))
    with pipeline.compile(gears=(1,)).session(NullDevice(compute=compute)) as session:
        futures = [session.submit(**number(1)), session.submit(**number(2))]
        assert ran.acquire(timeout=LIMIT)
        leave.set()
        gate.await_one()
        assert ran.acquire(timeout=LIMIT)
        gate.opened.set()
        assert all(future.result(LIMIT) for future in futures)  # none had to wait for longer than the gate does


def test_a_device_has_its_next_batch_from_the_thread_that_has_waited_for_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, ready, answered = Forming.settle, threading.Semaphore(0), threading.Event()
    ran: list[int] = []

    def settled(forming: Forming, *arguments: Any) -> None:
        settle(forming, *arguments)
        ready.release()

    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        for _ in range(0 if ran else 2):  # the first batch ends when the second is ready
            assert ready.acquire(timeout=LIMIT)
        assert not ran or answered.wait(LIMIT)  # and the second when another thread has answered the first
        ran.append(threading.get_ident())

    monkeypatch.setattr(Forming, "settle", settled)
    with tiny.vector_pipeline(tmp_path).compile(gears=(1,)).session(NullDevice(compute=compute)) as session:
        futures = [session.submit(**sample) for sample in tiny.vectors(2)]
        futures[0].add_done_callback(lambda _: answered.set())
        assert all(future.result(LIMIT) for future in futures)
    assert ran[0] == ran[1]


def test_the_samples_of_one_batch_are_prepared_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(2)
    ran: list[int] = []

    @dataclass(frozen=True)
    class Meet(Op[Edge]):
        def infer(self, x: TensorSpec) -> TensorSpec:
            return x

        def run(self, x: Array) -> Array:
            together.wait(LIMIT)
            return x

    pipeline = Pipeline("meet")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(Meet()(pipeline.input("x", tiny.VECTOR))))
    plan = pipeline.compile(gears=(1, 2), batching=Batching(max_delay_us=60_000_000))
    with plan.session(NullDevice(compute=lambda inputs, outputs: ran.append(len(inputs["meet"])))) as session:
        ran.clear()
        wait([session.submit(**sample) for sample in tiny.vectors(2)], LIMIT)
    assert ran == [2]


def test_a_partial_batch_runs_when_its_delay_is_over(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(8,), batching=Batching(max_delay_us=2000))
    (sample,) = tiny.vectors(1)
    for device in ("cpu", "null"):
        with plan.session(device) as session:
            assert tiny.same(session.submit(**sample).result(LIMIT), session.run(**sample))


def test_run_and_submit_do_not_wait_for_each_others_buffers(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    with plan.session() as session, session.lease(), session.lease(), session.lease():
        session.submit(**sample).result(LIMIT)


def test_a_cancelled_sample_never_runs(gated: Callable[..., Plan], gate: Gate) -> None:
    with gated().session() as session:
        busy = occupy(session, gate)
        futures = [session.submit(**number(value)) for value in range(4)]
        assert [future.cancel() for future in futures[1::2]] == [True, True]
        assert not busy[0].cancel()
        gate.opened.set()
        wait(futures, LIMIT)
        with pytest.raises(CancelledError):
            futures[1].result(LIMIT)
    assert sorted(value for value in gate.values if value >= 0) == [0, 2]


def test_a_sample_whose_time_is_over_fails_before_any_work(gated: Callable[..., Plan], gate: Gate) -> None:
    with gated(timeout_us=200_000).session() as session:
        occupy(session, gate)
        late = session.submit(**number(7))
        threading.Event().wait(0.25)
        gate.opened.set()
        with pytest.raises(QueueError, match=r"not started within timeout_us=200000\nfix: .*higher") as error:
            late.result(LIMIT)
        assert isinstance(error.value, GepipeError)
        assert [type(answer) for answer in session.map([number(1)])] == [dict]
    assert 7 not in gate.values


def test_a_fault_of_the_scheduler_reaches_whoever_waits(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = tiny.vectors(3)
    with plan.session() as session:
        session.submit(**samples[0]).result(LIMIT)
        monkeypatch.setattr(Forming, "due", lambda *args: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            session.submit(**samples[1]).result(LIMIT)
        with pytest.raises(DeviceError, match="ended by a fault in gepipe") as error:
            session.submit(**samples[1])
        assert isinstance(error.value.__cause__, ZeroDivisionError)
        monkeypatch.undo()
        assert session.run(**samples[2])


def test_a_fault_of_a_device_reaches_the_samples_of_its_batch_alone(tmp_path: Path) -> None:
    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        if (inputs["scale"] == 14).any():
            raise ZeroDivisionError("in the device")

    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1,))
    with plan.session(NullDevice(compute=compute)) as session:
        with pytest.raises(ZeroDivisionError, match="in the device"):
            session.submit(**number(7)).result(LIMIT)
        for value in (1, 2, 3, 4, 5):
            session.submit(**number(value)).result(LIMIT)


def test_a_callback_that_ends_its_thread_takes_nobody_else_along(
    gated: Callable[..., Plan], gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    def leave(_: object) -> None:
        raise SystemExit(1)

    with gated().session() as session:
        occupy(session, gate)
        futures = [session.submit(**number(value)) for value in range(5)]
        futures[0].add_done_callback(leave)
        gate.opened.set()
        assert [future.result(LIMIT)["y"][0] for future in futures] == [0, 1, 2, 3, 4]
    assert "has ended its thread" in caplog.text
