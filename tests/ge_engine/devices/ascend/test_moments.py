from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
from acl_sim import Timing, World
from ascend_cases import CASES, samples

from ops import DeviceError
from pipeline import Plan, Session

QUICK = Timing(
    call_us=0, launch_us=0, copy_us=1, gbytes_per_s=1000, malloc_us=0, malloc_host_us=0, run_us={None: (5.0, 0.0)}
)
KINDS = ("transfer in", "compute", "transfer out")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 4))


def traced(session: Session, given: Any, file: Path) -> list[dict[str, Any]]:
    with session.trace(file):
        session.run_batch(given)
    lines = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    return [line for line in lines if line["ph"] == "X"]


def test_a_trace_shows_what_the_card_did_and_for_how_long(card: Any, plan: Plan, tmp_path: Path) -> None:
    world: World = card(timing=QUICK)
    with plan.session("npu:0") as session:
        session.run_batch(tiny.vectors(4))
        begun = len(world.timeline.spans)
        slices = traced(session, tiny.vectors(4), tmp_path / "trace.json")
    done = {span.kind: span.end - span.start for span in world.timeline.spans[begun:]}
    (run,) = (line for line in slices if line["name"] == "dense")
    parts = {line["name"]: line for line in slices if line["name"] in KINDS}
    assert parts["transfer in"]["ts"] + parts["transfer in"]["dur"] <= parts["transfer out"]["ts"]
    for name, kind in zip(KINDS, ("h2d", "run", "d2h")):
        line = parts[name]
        assert line["dur"] == pytest.approx(done[kind], abs=0.5)
        assert run["ts"] <= line["ts"]
        assert line["ts"] + line["dur"] <= run["ts"] + run["dur"]


def test_two_stages_of_one_run_have_their_parts_each(card: Any, tmp_path: Path) -> None:
    card(timing=QUICK)
    with CASES["cnclip"](tmp_path).compile(gears=(2,)).session("npu:0") as session:
        slices = traced(session, samples("cnclip", 2), tmp_path / "trace.json")
    assert [sum(line["name"] == kind for line in slices) for kind in KINDS] == [2, 2, 2]


def test_without_a_trace_there_is_one_event_a_batch(world: World, plan: Plan, tmp_path: Path) -> None:
    with plan.session("npu:0") as session:
        for rounds in range(2):
            before = world.counts["rt.create_event"]
            session.run_batch(tiny.vectors(4))
            assert world.counts["rt.create_event"] == before + 1
            if not rounds:
                traced(session, tiny.vectors(4), tmp_path / "trace.json")
            assert world.counts["rt.create_event"] == world.counts["rt.destroy_event"]


def test_times_that_the_card_does_not_tell_cost_no_answer(world: World, plan: Plan, tmp_path: Path) -> None:
    with plan.session("npu:0") as session:
        world.fail("rt.event_elapsed_time", 507000, times=0)
        slices = traced(session, tiny.vectors(4), tmp_path / "trace.json")
        assert not [line for line in slices if line["name"] in KINDS]
        assert not any(isinstance(answer, DeviceError) for answer in session.run_batch(tiny.vectors(4)))


def test_a_batch_that_fails_while_it_is_watched_leaves_nothing(world: World, plan: Plan, tmp_path: Path) -> None:
    with plan.session("npu:0") as session:
        for call in ("rt.record_event", "device.run", "rt.synchronize_stream"):
            world.fail(call, 507011, at=2)
            traced(session, tiny.vectors(4), tmp_path / "trace.json")
        assert not any(isinstance(answer, DeviceError) for answer in session.run_batch(tiny.vectors(4)))
    assert world.counts["rt.create_event"] == world.counts["rt.destroy_event"]
