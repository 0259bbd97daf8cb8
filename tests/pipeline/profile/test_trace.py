from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import Array, Edge, GepipeError, Op, OpError, TensorSpec, WrongUse
from pipeline import Batching, Pipeline, Plan, Session

Slice = dict[str, Any]
NS = 1e-3  # of a microsecond: what a file can tell apart


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 2, 4), streams=2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "t.json"


def events(file: Path, phase: str) -> list[dict[str, Any]]:
    return [line for line in json.loads(file.read_text(encoding="utf-8"))["traceEvents"] if line["ph"] == phase]


def lanes(file: Path) -> dict[str, list[Slice]]:
    """The slices of each lane, by begin; of those that begin together the longest first."""
    found: dict[str, list[Slice]] = {}
    names = {line["tid"]: line["args"]["name"] for line in events(file, "M") if line["name"] == "thread_name"}
    for line in sorted(events(file, "X"), key=lambda line: (line["ts"], -line["dur"])):
        found.setdefault(names[line["tid"]], []).append(line)
    return found


def nested(slices: list[Slice]) -> Iterator[tuple[Slice, Slice | None]]:
    """Each slice with the one that it is in. Fails where two overlap."""
    stack: list[Slice] = []
    for line in slices:
        while stack and line["ts"] >= stack[-1]["ts"] + stack[-1]["dur"] - NS / 2:
            stack.pop()
        if stack:
            assert line["ts"] + line["dur"] <= stack[-1]["ts"] + stack[-1]["dur"] + NS, (line, stack[-1])
        yield line, stack[-1] if stack else None
        stack.append(line)


def named(file: Path, name: str) -> list[Slice]:
    return [line for slices in lanes(file).values() for line in slices if line["name"] == name]


def test_a_request_is_a_slice_with_its_parts_in_it(plan: Plan, file: Path) -> None:
    with plan.session() as session, session.trace(file):
        session.run_batch(tiny.vectors(3))
    found = list(nested(lanes(file)["MainThread"]))
    assert [line["name"] for line, parent in found if parent is None] == ["request"]
    request = found[0][0]
    assert request["args"] == {"samples": 3, "failed": 0}
    parts = [line for line, parent in found if parent is request]
    wanted = ["queue", "check", "scale", "scale", "scale", "wait for a stream", "copy out", "copy out", "copy out"]
    assert [line["name"] for line in parts] == wanted
    on_streams = sum(line["dur"] for line in named(file, "dense"))
    assert sum(line["dur"] for line in parts) + on_streams <= request["dur"] + NS * len(found)


def test_an_op_is_shown_with_its_class_line_sample_and_bytes(plan: Plan, file: Path) -> None:
    with plan.session() as session, session.trace(file):
        for sample in tiny.vectors(4):
            session.run(**sample)
    slices = named(file, "scale")
    step = next(step for step in plan.graph.steps if step.name == "scale")
    assert step.where.partition(":")[0].endswith("tiny.py")
    for line in slices:
        assert line["args"].items() >= {"node": "scale", "op": "Scale", "line": step.where, "bytes": 32}.items()
    assert [line["args"]["sample"] for line in slices] == [1, 2, 3, 4]


def test_runs_are_on_the_lanes_of_the_streams_with_gear_and_rows(plan: Plan, file: Path) -> None:
    with plan.session(NullDevice()) as session, session.trace(file):
        session.run_batch(tiny.vectors(7))
    ((name, slices),) = ((name, slices) for name, slices in lanes(file).items() if name.endswith("of null"))
    assert name in ("stream 0 of null", "stream 1 of null")
    runs = [line for line, parent in nested(slices) if parent is None]
    rows = [line["args"]["rows"] for line in runs]
    assert sum(rows) == 7
    for line in runs:
        gear = min(gear for gear in (1, 2, 4) if gear >= line["args"]["rows"])
        assert (line["name"], line["args"]["stage"], line["args"]["gear"]) == ("dense", "dense", str(gear))
    counted = [line["args"]["rows"] for line in events(file, "C") if line["name"] == "rows of dense"]
    assert counted == rows


def test_what_the_device_does_in_a_run_has_lanes_of_its_own_beside_it(plan: Plan, file: Path) -> None:
    with plan.session(NullDevice(time_us=lambda rows: 2000.0)) as session, session.trace(file):
        session.run(**tiny.vectors(1)[0])
    found = {name.partition(" of ")[2]: slices for name, slices in lanes(file).items() if name.startswith("stream")}
    (run,) = found.pop("null")
    assert run["dur"] >= 2000
    assert sorted(found) == ["null: compute", "null: transfer in", "null: transfer out"]
    parts = [found[f"null: {what}"][0] for what in ("transfer in", "compute", "transfer out")]
    times = [
        run["ts"],
        *(at for line in parts for at in (line["ts"], line["ts"] + line["dur"])),
        run["ts"] + run["dur"],
    ]
    assert all(later >= earlier - NS for earlier, later in pairwise(times))


def test_slices_of_a_lane_nest_when_many_threads_ask(plan: Plan, file: Path) -> None:
    samples = tiny.vectors(8)
    together = threading.Barrier(6)

    def work(number: int) -> None:
        together.wait()
        for turn in range(15):
            session.run_batch(samples[: 1 + (number + turn) % 8])

    with plan.session() as session, session.trace(file), ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    found = lanes(file)
    assert {name for name in found if name.startswith("stream")} <= {"stream 0 of cpu", "stream 1 of cpu"}
    for slices in found.values():
        tops = [line["name"] for line, parent in nested(slices) if parent is None]
        assert set(tops) <= {"request", "dense"}
    sent = sum(1 + (number + turn) % 8 for number in range(6) for turn in range(15))
    numbers = sorted(line["args"]["sample"] for line in named(file, "scale"))
    assert numbers == list(range(1, sent + 1))
    assert sum(line["args"]["rows"] for line in named(file, "dense")) == sent


def test_what_is_submitted_waits_in_the_queue_and_runs_on_the_workers(plan: Plan, file: Path) -> None:
    with plan.session() as session, session.trace(file):
        assert len(list(session.map(tiny.vectors(20)))) == 20
    begins, ends = ({line["id"]: line["ts"] for line in events(file, phase)} for phase in "be")
    assert begins.keys() == ends.keys() == set(range(1, 21))
    starts = {line["args"]["sample"]: line["ts"] for line in named(file, "scale")}
    for number, end in ends.items():
        assert begins[number] <= end <= starts[number] + NS
    found = lanes(file)
    assert "MainThread" not in found
    for slices in found.values():
        assert list(nested(slices))
    pending = [line["args"]["samples"] for line in events(file, "C") if line["name"] == "pending"]
    assert max(pending) >= 1
    assert pending[-1] == 0


def test_a_failing_op_is_shown_with_its_error(tmp_path: Path, file: Path) -> None:
    pipeline = Pipeline("picky")
    picked = tiny.Picky()(tiny.Same()(pipeline.input("x", tiny.VECTOR)))
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(picked))
    bad = {"x": np.full(8, -1000, np.float32)}
    with pipeline.compile(gears=(1, 4)).session() as session, session.trace(file):
        answers = session.run_batch([*tiny.vectors(1), bad, *tiny.vectors(1)])
    assert isinstance(answers[1], OpError)
    errors = [line["args"].get("error", "") for line in named(file, "picky")]
    assert [bool(error) for error in errors] == [False, True, False]
    assert "ValueError: too small" in errors[1]
    assert len(named(file, "same")) == 3
    assert named(file, "request")[0]["args"] == {"samples": 3, "failed": 1}
    for slices in lanes(file).values():
        assert list(nested(slices))


def test_a_failing_run_is_shown_with_its_error(tmp_path: Path, file: Path) -> None:
    pipeline = Pipeline("gather")
    pipeline.output(y=Model(tiny.gather_model(tmp_path))(pipeline.input("ids", TensorSpec("int64", (4,)))))
    good, bad = ({"ids": np.full(4, value, np.int64)} for value in (3, 99))
    with pipeline.compile(gears=(1, 2)).session() as session, session.trace(file):
        _, failed = session.run_batch([good, bad])
    assert isinstance(failed, GepipeError)
    runs = [(line["args"]["rows"], "error" in line["args"]) for line in named(file, "gather")]
    assert runs == [(2, True), (1, False), (1, True)]
    assert "an id is 99, and the table has 10 rows" in named(file, "gather")[0]["args"]["error"]


def test_an_exception_inside_with_is_in_the_file_and_goes_on(plan: Plan, file: Path) -> None:
    def fail() -> None:
        with session.trace(file):
            session.run(**tiny.vectors(1)[0])
            raise ZeroDivisionError("the caller's own")

    with plan.session() as session, pytest.raises(ZeroDivisionError):
        fail()
    assert [(line["name"], line["args"]) for line in events(file, "i")] == [
        ("ZeroDivisionError", {"error": "the caller's own"})
    ]
    assert named(file, "scale")


def test_a_trace_ends_at_stop_and_another_may_follow(plan: Plan, tmp_path: Path) -> None:
    sample = tiny.vectors(1)[0]
    with plan.session() as session:
        session.run(**sample)
        for count in (1, 2):
            trace = session.trace(tmp_path / f"{count}.json")
            for _ in range(count):
                session.run(**sample)
            trace.stop()
            session.run(**sample)
            trace.stop()
        assert [len(named(tmp_path / f"{count}.json", "request")) for count in (1, 2)] == [1, 2]


def test_a_session_that_is_closed_writes_its_trace(plan: Plan, file: Path) -> None:
    with plan.session() as session:
        session.trace(file)
        session.run(**tiny.vectors(1)[0])
    assert len(named(file, "request")) == 1


def test_two_traces_at_once_are_refused(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session, session.trace(tmp_path / "1.json"):
        with pytest.raises(WrongUse, match=r"traced already\nfix: stop that trace first"):
            session.trace(tmp_path / "2.json")
        assert not (tmp_path / "2.json").exists()


def test_a_trace_that_cannot_be_written_changes_nothing(plan: Plan, tmp_path: Path) -> None:
    with plan.session() as session:
        with pytest.raises(WrongUse, match=r"absent/t.json cannot be written"):
            session.trace(tmp_path / "absent" / "t.json")
        with session.trace(tmp_path / "t.json"):
            session.run(**tiny.vectors(1)[0])
    assert named(tmp_path / "t.json", "scale")


def test_waiting_for_a_batch_is_in_the_queue(tmp_path: Path, file: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4), batching=Batching(max_delay_us=2000))
    with plan.session() as session, session.trace(file):
        wait_for_all(session)
    assert len(events(file, "b")) == 3


def wait_for_all(session: Session) -> None:
    for future in [session.submit(**sample) for sample in tiny.vectors(3)]:
        future.result(30)


BETWEEN: dict[str, Callable[[], object]] = {}


@dataclass(frozen=True)
class Fails(Op[Edge]):
    """Does what the test wants, and fails."""

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        BETWEEN["levels"]()
        raise ValueError("of the op")


def test_a_trace_may_end_and_another_begin_between_two_levels_of_a_sample(tmp_path: Path) -> None:
    pipeline = Pipeline("two")
    x = tiny.Scale(1.0)(tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR)))
    pipeline.output(y=Fails()(Model(tiny.vector_model(tmp_path))(x)))
    plan = pipeline.compile()

    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        first.stop()

    with plan.session(NullDevice(compute=compute)) as session:
        first = session.trace(tmp_path / "1.json")
        BETWEEN["levels"] = lambda: session.trace(tmp_path / "2.json")
        with pytest.raises(OpError, match=r"node 'fails' .*ValueError: of the op"):
            session.run(**tiny.vectors(1)[0])
    assert named(tmp_path / "1.json", "scale_2")
    assert not named(tmp_path / "2.json", "scale_2")
