from __future__ import annotations

import os
import sys
from typing import Any

import pytest
import tiny
from acl_sim import World

from ge_engine.devices import AscendDevice
from ge_engine.devices.ascend import library
from ge_engine.devices.ascend.card import Card
from ops import DeviceError
from pipeline import Plan

GIVEN = tiny.vectors(5)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 4))


def test_a_library_that_uses_acl_later_in_this_process_keeps_its_context(world: World, plan: Plan) -> None:
    """As torch_npu does, whose first use of a card may come after the session was opened."""
    with plan.session("npu:0") as session:
        acl: Any = sys.modules["acl"]
        assert acl.init() == 100002
        assert acl.rt.set_device(0) == 0
        theirs, _ = acl.rt.get_context()
        stream, _ = acl.rt.create_stream()
        session.run_batch(GIVEN)
        assert acl.rt.get_context() == (theirs, 0)
        assert acl.rt.synchronize_stream(stream) == 0
        assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.get_context() == (theirs, 0)
    assert acl.rt.reset_device(0) == 0


def test_a_session_collected_in_the_middle_of_anothers_batch_leaves_it_its_context(world: World, plan: Plan) -> None:
    with plan.session() as session:
        wanted = session.run(**GIVEN[0])
    with plan.session("npu:0") as session:
        forgotten = [plan.session("npu:0")]
        acl: Any = sys.modules["acl"]
        copy = acl.rt.memcpy_async

        def interrupted(*args: Any) -> int:
            forgotten.clear()
            return int(copy(*args))

        acl.rt.memcpy_async = interrupted
        library.library()._functions.pop("rt.memcpy_async")
        assert tiny.same(session.run(**GIVEN[0]), wanted)
        assert world.counts["rt.destroy_context"] == 1


def test_a_thread_whose_own_context_is_gone_meanwhile_goes_on(world: World) -> None:
    acl: Any = sys.modules["acl"]
    card = Card(library.library(), 0)
    theirs, _ = acl.rt.create_context(0)
    with card.current():
        library.library().do("rt.destroy_context", theirs)
        world.fail("rt.set_context", 107002, times=2)  # of what is gone
    assert not card.close()


def test_what_cannot_be_given_back_with_its_stage_is_with_the_card(world: World, plan: Plan) -> None:
    session = plan.session("npu:0")
    world.fail("rt.set_context", 507899, times=2)
    with pytest.raises(DeviceError, match=r"acl.rt.set_context failed with 507899: the driver failed"):
        session.close()
    assert not world.leaks()


def test_a_card_that_answers_no_more_is_given_up_and_told(world: World, plan: Plan) -> None:
    session = plan.session("npu:0")
    world.fail("rt.set_context", 507899, times=0)
    with pytest.raises(DeviceError, match=r"acl.rt.set_context failed with 507899"):
        session.close()
    session.close()
    library._library = None  # nothing could be taken back
    world.allow = True


def test_a_fork_takes_nothing_of_its_parents_card_away(world: World) -> None:
    device = AscendDevice()
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        try:
            before = sum(world.counts.values())
            device.close()
            os.write(writable, f"{sum(world.counts.values()) - before} calls".encode())
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as pipe:
        assert pipe.read() == "0 calls"
    os.waitpid(child, 0)
    device.close()
    assert world.counts["rt.destroy_context"] == 1


def test_the_memory_of_a_chip_without_hbm_is_found_too(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card(library.library(), 0)
    monkeypatch.setattr(
        sys.modules["acl"].rt,
        "get_mem_info",
        lambda kind: (3, 4, 0) if kind == 0 else (0, 0, 0),
    )
    assert card.memory() == (3, 4)
    for answer, message in (((0, 0, 507899), "failed with 507899"), ((0, 0, 0), "tells of no memory of npu:0")):
        library.library()._functions.pop("rt.get_mem_info")
        monkeypatch.setattr(sys.modules["acl"].rt, "get_mem_info", lambda kind, answer=answer: answer)
        with pytest.raises(DeviceError, match=f"acl.rt.get_mem_info {message}"):
            card.memory()
    card.close()
