from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tiny
from gates import LIMIT, Gate, number, occupy, threads

import ops
from ops import Array, DeviceError, GepipeError, OpError, SampleError
from pipeline import Pipeline, Plan

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


def test_a_batch_of_any_size_equals_single_runs_byte_for_byte(plan: Plan) -> None:
    samples = tiny.vectors(20)
    with plan.session() as session:
        solo = [session.run(**sample) for sample in samples]
        for n in range(21):
            answers = session.run_batch(samples[:n])
            assert len(answers) == n
            assert all(tiny.same(answer, wanted) for answer, wanted in zip(answers, solo))


def test_the_answer_is_onnx_runtimes_own(plan: Plan, tmp_path: Path) -> None:
    (sample,) = tiny.vectors(1)
    reference = onnxruntime.InferenceSession(tiny.vector_model(tmp_path), providers=["CPUExecutionProvider"])
    (want,) = reference.run(None, {"x": 2 * sample["x"][None]})
    with plan.session() as session:
        np.testing.assert_allclose(session.run(**sample)["y"], want[0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["batch gears", "size gears"])
def test_four_threads_on_two_streams_get_their_solo_answers(plan: Plan, sized: Plan, kind: str) -> None:
    chosen, samples = (plan, tiny.vectors(20)) if kind == "batch gears" else (sized, tiny.pictures(20))
    with chosen.session() as session:
        solo = [session.run(**sample) for sample in samples]

        def work(seed: int) -> bool:
            rng = np.random.default_rng(seed)
            fine = True
            for _ in range(40):
                picked = rng.integers(0, 20, rng.integers(0, 12)).tolist()
                answers = session.run_batch([samples[i] for i in picked])
                fine &= all(tiny.same(answer, solo[i]) for answer, i in zip(answers, picked))
            return fine

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(work, range(4)))


def test_two_alternating_samples_never_leak_into_each_other(sized: Plan) -> None:
    a, b = tiny.pictures(2)
    with sized.session() as session:
        solo = {"a": session.run(**a), "b": session.run(**b)}

        def alternate(first: bool) -> bool:
            fine = True
            for round_ in range(50):
                name, sample = ("a", a) if (round_ % 2 == 0) == first else ("b", b)
                fine &= tiny.same(session.run(**sample), solo[name])
            return fine

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(alternate, (True, False, True, False)))


class Unreadable(dict[str, Any]):
    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("gone")


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"x": np.zeros(8)}, r"input 'x' \(.*tiny\.py:\d+\): float64\[8\], wanted float32\[8\]"),
        ({}, "no value for input 'x'"),
        ({"x": np.zeros(1, np.float32)}, r"float32\[1\], wanted float32\[8\]"),
        ({"x": np.zeros((1, 8), np.float32)}, "no batch axis"),
        ({"x": np.zeros(8, np.float32), "z": 1}, "there is no input 'z'"),
        ({"y": np.zeros(8, np.float32)}, "there is no input 'y'"),
        ({"x": [0.0] * 8}, "a list, wanted"),
        ({"x": None}, "a NoneType, wanted"),
        (7, "a sample is an int"),
        (Unreadable(x=1), "the sample cannot be read: RuntimeError: gone"),
    ],
)
def test_a_wrong_sample_fails_alone_with_a_clear_error(plan: Plan, sample: Any, message: str) -> None:
    good = tiny.vectors(2)
    with plan.session() as session:
        answers = session.run_batch([good[0], sample, good[1]])
        assert isinstance(answers[1], SampleError)
        with pytest.raises(SampleError, match=message):
            raise answers[1]
        assert tiny.same(answers[0], session.run(**good[0]))
        assert tiny.same(answers[2], session.run(**good[1]))


def test_text_that_has_no_utf8_form_fails_alone() -> None:
    pipeline = Pipeline("text")
    pipeline.output(size=tiny.Length()(pipeline.input("text", ops.TEXT)))
    with pipeline.compile().session() as session:
        answers = session.run_batch([{"text": "好"}, {"text": "\ud800"}, {"text": b"ok"}])
    assert isinstance(answers[1], SampleError)
    assert "no UTF-8 form" in str(answers[1])
    assert [answers[0]["size"].tolist(), answers[2]["size"].tolist()] == [[3], [2]]  # type: ignore[index]


def test_an_input_may_have_any_name_that_a_parameter_has() -> None:
    pipeline = Pipeline("named")
    pipeline.output(y=tiny.Scale(2.0)(pipeline.input("self", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        assert session.run(self=np.ones(8, np.float32))["y"].tolist() == [2.0] * 8


@pytest.mark.parametrize("samples", [{"x": np.zeros(8, np.float32)}, b"bytes", "text"])
def test_one_sample_given_as_a_batch_is_refused(plan: Plan, samples: Any) -> None:
    with plan.session() as session, pytest.raises(SampleError, match="run_batch was given one"):
        session.run_batch(samples)


def test_an_op_that_fails_names_its_node_and_keeps_the_cause(tmp_path: Path) -> None:
    pipeline = Pipeline("picky")
    pipeline.output(y=tiny.Picky()(pipeline.input("x", tiny.VECTOR)))
    samples = tiny.vectors(3)
    samples[1]["x"][0] = -1000
    with pipeline.compile().session() as session:
        answers = session.run_batch(samples)
    assert isinstance(answers[0], dict)
    assert isinstance(answers[2], dict)
    wanted = r"node 'picky' \(Picky, .*test_session.py:\d+\): ValueError: too small \(.*tiny_ops\.py:\d+\)"
    with pytest.raises(OpError, match=wanted) as error:
        raise answers[1]
    assert isinstance(error.value.__cause__, ValueError)


def test_a_closed_session_refuses_and_waits_for_work_in_flight(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    session = plan.session()
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with session.lease() as context:
            entered.set()
            leave.wait(30)
            context.run(1)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(30)
    closer = threading.Thread(target=session.close)
    closer.start()
    with pytest.raises(DeviceError, match="the session is closed"):  # noqa: PT012  # until close has begun
        while True:
            session.run(**sample)
    assert closer.is_alive()
    leave.set()
    closer.join(30)
    holder.join(30)
    assert not closer.is_alive()
    with pytest.raises(DeviceError, match="the session is closed"):
        session.run(**sample)
    session.close()


def test_an_unknown_device_is_refused_and_nothing_falls_back(plan: Plan) -> None:
    with pytest.raises(DeviceError, match="there is no device 'gpu'"):
        plan.session("gpu")
    with pytest.raises(DeviceError, match="pyACL, CANN's Python module `acl`, cannot be imported"):
        plan.session("npu:0")


def test_self_is_a_name_like_any_other() -> None:
    pipeline = Pipeline("self")
    pipeline.output(self=ops.Softmax()(pipeline.input("x", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        assert session.run(x=np.zeros(8, np.float32))["self"].tolist() == [0.125] * 8
    pipeline = Pipeline("self")
    pipeline.output(y=ops.Softmax()(pipeline.input("self", tiny.VECTOR)))
    with pipeline.compile().session() as session:
        assert session.run(self=np.zeros(8, np.float32))["y"].tolist() == [0.125] * 8


def test_close_finishes_what_was_accepted(gated: Callable[..., Plan], gate: Gate) -> None:
    session = gated().session()
    busy = occupy(session, gate)
    futures = [session.submit(**number(value)) for value in range(5)]
    closer = threading.Thread(target=session.close)
    closer.start()
    with pytest.raises(DeviceError, match="the session is closed"):  # noqa: PT012  # until close has begun
        while True:
            futures.append(session.submit(**number(9)))
    assert closer.is_alive()
    gate.opened.set()
    closer.join(LIMIT)
    assert not closer.is_alive()
    assert all(future.done() and future.exception() is None for future in (*busy, *futures))
    with pytest.raises(DeviceError, match="the session is closed"):
        session.map([])


def test_a_call_that_is_broken_off_leaves_nothing_in_the_buffers_that_the_next_one_uses(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, scale = tiny.vectors(4), tiny.Scale.run
    last: list[Array] = []

    def break_off(self: Any, x: Array, out: Any = None) -> Array:
        if any(np.array_equal(x, value) for value in last):
            raise KeyboardInterrupt
        return scale(self, x, out)

    monkeypatch.setattr(tiny.Scale, "run", break_off)
    with plan.session() as session:
        expected = session.run_batch(samples[:2])
        last.append(samples[2]["x"])
        for _ in range(4):  # as many as there are sets of buffers, and one more
            with pytest.raises(KeyboardInterrupt):
                session.run_batch(samples)
        assert all(map(tiny.same, session.run_batch(samples[:2]), expected))


def test_left_by_an_exception_a_session_cancels_what_has_not_been_started(
    gated: Callable[..., Plan], gate: Gate
) -> None:
    with pytest.raises(KeyboardInterrupt), gated().session() as session:  # noqa: PT012  # what the block leaves behind
        busy = occupy(session, gate)
        futures = [session.submit(**number(value)) for value in range(5)]
        futures[0].add_done_callback(lambda _: gate.opened.set())
        raise KeyboardInterrupt
    assert all(future.result(LIMIT) for future in busy)
    assert all(future.cancelled() for future in futures)


def test_closing_in_a_callback_is_refused(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    errors: list[BaseException] = []
    done = threading.Event()

    def close(_: object) -> None:
        try:
            session.close()
        except GepipeError as error:
            errors.append(error)
        done.set()

    release = threading.Event()
    with plan.session() as session:
        session.submit(**sample).add_done_callback(lambda _: release.wait(LIMIT))
        second = session.submit(**sample)
        second.add_done_callback(close)
        release.set()
        second.result(LIMIT)
        assert done.wait(LIMIT)
        if errors:  # the callback ran on a worker, not here
            assert "closed inside a Future's callback" in str(errors[0])


def test_a_session_that_nobody_closed_finishes_and_ends_its_threads(plan: Plan) -> None:
    session = plan.session()
    (sample,) = tiny.vectors(1)
    future = session.submit(**sample)
    workers = threads()
    del session
    gc.collect()
    future.result(LIMIT)
    for worker in workers:
        worker.join(LIMIT)
    assert not any(worker.is_alive() for worker in workers)


def test_a_program_that_forgets_to_close_ends_all_the_same() -> None:
    program = (
        "import numpy, ops, pipeline\n"
        "p = pipeline.Pipeline('p')\n"
        "p.output(y=ops.Softmax()(p.input('x', ops.TensorSpec('float32', (8,)))))\n"
        "session = p.compile().session()\n"
        "futures = [session.submit(x=numpy.zeros(8, 'float32')) for _ in range(500)]\n"
        "print(futures[0].result()['y'].sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "1.0", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="could not import 'onnx: no fork here")
def test_a_forked_process_is_told_instead_of_waiting(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    with plan.session() as session:
        session.submit(**sample).result(LIMIT)
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of just this
            child = os.fork()
        if child == 0:
            told = []
            for call in (session.run, session.submit, lambda **sample: session.map([sample])):
                try:
                    call(**sample)
                except DeviceError as error:
                    told.append(str(error))
            session.close()
            os.write(write, "\n".join(told).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
    assert text.count(f"the session belongs to process {os.getpid()}, and this is {child}, a fork of it") == 3
    assert text.count("fix: open a session in each process") == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="could not import 'onnx: no fork here")
def test_a_forked_process_may_forget_a_session_whose_threads_were_at_work(plan: Plan) -> None:
    (sample,) = tiny.vectors(1)
    held, let_go = threading.Event(), threading.Event()

    def hold(lock: Any) -> None:
        with lock:
            held.set()
            let_go.wait(LIMIT)

    session = plan.session()
    session.submit(**sample).result(LIMIT)
    assert session._scheduler is not None
    holder = threading.Thread(target=hold, args=(session._scheduler._changed,))
    holder.start()
    assert held.wait(LIMIT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of just this
        child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)  # in place of waiting for ever
        del session
        gc.collect()
        os._exit(0)
    let_go.set()
    holder.join()
    session.close()
    assert os.waitpid(child, 0)[1] == 0
