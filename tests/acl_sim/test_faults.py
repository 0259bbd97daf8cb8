from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from acl_sim.fixtures import Npu, environment
from acl_sim.memory import POISON
from acl_sim.process import BROKEN
from card import Card, geared


def test_the_call_that_is_told_to_fail_does_nothing(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    world.fail("rt.malloc", 207001, at=2)
    first = card.got(card.rt.malloc(64, 0))
    before = card.rt.get_mem_info(1)
    assert card.rt.malloc(64, 0) == (0, 207001)
    assert card.rt.get_mem_info(1) == before
    second = card.got(card.rt.malloc(64, 0))
    for address in (first, second):
        card.ok(card.rt.free(address))
    world.fail("mdl.create_dataset", 500000)
    assert card.mdl.create_dataset() == 0
    world.fail("mdl.execute_async", 507011)
    card.copy_in()
    assert card.mdl.execute_async(card.model, card.given, card.taken, card.stream) == 507011
    card.wait()
    assert world.counts["device.run"] == 0
    card.close()


def test_every_so_many_th_run_fails_and_the_others_do_not(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    world.fail("device.run", 507011, every=3)
    codes = []
    for _ in range(9):
        card.enqueue()
        codes.append(card.rt.synchronize_stream(card.stream))
        right = np.array_equal(card.y, 2 * card.x)
        assert right == (codes[-1] == 0)
    assert codes == [0, 0, 507011] * 3
    card.close()


def test_what_follows_a_failure_runs_and_the_first_who_asks_is_told(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    world.fail("device.run", 507035)
    card.enqueue()
    event = card.got(card.rt.create_event())
    card.ok(card.rt.record_event(event, card.stream))
    card.ok(card.rt.synchronize_event(event))  # an event tells nothing
    card.ok(card.rt.destroy_event(event))
    assert (card.y.view(np.uint8) == POISON).all()
    card.enqueue()
    assert card.rt.synchronize_stream(card.stream) == 507035
    np.testing.assert_array_equal(card.y, 2 * card.x)
    card.wait()
    card.close()


def test_what_a_failed_run_was_to_write_is_read_as_nonsense_and_not_as_a_broken_rule(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    behind = card.dataset((card.output, card.size), (card.inputs[1], 8))
    after = card.got(card.rt.malloc(card.size, 0))
    world.fail("device.run", 507011)
    card.copy_in()
    card.run()
    card.ok(card.mdl.execute_async(card.model, behind, card.dataset((after, card.size)), card.stream))
    assert card.rt.synchronize_stream(card.stream) == 507011
    assert world.counts["device.run"] == 2
    card.ok(card.rt.free(after))
    world.allow = True  # the data sets are left
    assert not world.violations


def test_a_stream_that_fails_for_good_is_replaced(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    world.fail("device.run", 507011, sticky=True)
    for _ in range(2):
        card.enqueue()
        assert card.rt.synchronize_stream(card.stream) == 507011
    card.ok(card.rt.destroy_stream_force(card.stream))
    card.stream = card.got(card.rt.create_stream())
    card.enqueue()
    card.wait()
    np.testing.assert_array_equal(card.y, 2 * card.x)
    card.close()


def test_after_a_synchronize_that_failed_all_is_in_flight_still(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    world.fail("rt.synchronize_stream", 507000)
    card.enqueue()
    assert card.rt.synchronize_stream(card.stream) == 507000
    assert world.counts["device.run"] == 0
    assert card.rt.synchronize_stream_with_timeout(card.stream, 1) == 107020  # a run takes longer
    card.wait()
    np.testing.assert_array_equal(card.y, 2 * card.x)
    card.close()


def test_what_could_not_be_freed_is_no_leak(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    card = Card(world, geared(tmp_path))
    extra = card.got(card.rt.malloc(64, 0))
    assert world.leaks()
    card.close()
    world.fail("rt.free", 507899)
    card.got(card.rt.create_context(0))
    assert card.rt.free(extra) == 507899
    context, _ = card.rt.get_context()
    card.ok(card.rt.destroy_context(context))
    assert card.acl.finalize() == 0


PROGRAM = """
import acl
assert acl.init() == 0
context, ret = acl.rt.create_context(0)
print(acl.get_soc_name(), acl.rt.malloc(64, 0)[1])
"""


def run(program: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], env=environment(**settings), capture_output=True, text=True, check=False
    )


def test_a_process_of_its_own_tells_what_it_left(tmp_path: Path) -> None:
    path = tmp_path / "report"
    done = run(
        PROGRAM,
        world={"soc": "Ascend310P3"},
        faults=[{"call": "rt.malloc", "code": 207001}],
        report=str(path),
    )
    assert done.stdout == "Ascend310P3 207001\n", done.stderr
    assert done.returncode == BROKEN
    found = json.loads(path.read_text(encoding="utf-8"))
    assert [leak.split()[0] for leak in found["leaks"]] == ["context"]
    assert found["counts"]["rt.malloc"] == 1


def test_a_process_that_keeps_the_rules_ends_as_it_would(tmp_path: Path) -> None:
    done = run(
        f"{PROGRAM}acl.rt.destroy_context(context)\nraise SystemExit(3)", faults=[{"call": "rt.malloc", "code": 1}]
    )
    assert done.returncode == 3, done.stderr


@pytest.mark.parametrize("shared", [False, True])
def test_whoever_initialised_first(shared: bool) -> None:
    done = run("import acl; print(acl.init())", world={"shared": shared})
    assert done.stdout == f"{100002 if shared else 0}\n"
