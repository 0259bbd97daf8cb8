"""S1 to S4, S12, S13: the life of things, on client code that gets it wrong."""

from __future__ import annotations

import contextlib
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from acl_sim import Violation, World
from acl_sim.fixtures import Npu
from card import Card, geared


@pytest.fixture
def broken(npu: Npu) -> World:
    """A world whose rules may be broken."""
    world = npu()
    world.allow = True
    return world


def acl() -> Any:
    return sys.modules["acl"]


def test_s1_a_call_before_init_is_caught(broken: World) -> None:
    with pytest.raises(Violation, match=r"S1: rt.set_device before acl.init"):
        acl().rt.set_device(0)


def test_s1_a_second_init_says_so(npu: Npu) -> None:
    npu()
    assert [acl().init(), acl().init()] == [0, 100002]


def test_s1_a_process_initialises_once(broken: World) -> None:
    assert [acl().init(), acl().finalize(), acl().finalize()] == [0, 0, 100001]
    with pytest.raises(Violation, match=r"S1: acl.init after acl.finalize"):
        acl().init()


def test_s1_what_another_initialised_is_not_ours_to_finalize(npu: Npu) -> None:
    world = npu(shared=True)
    assert acl().init() == 100002
    assert acl().rt.set_device(0) == 0
    assert acl().rt.reset_device(0) == 0
    assert acl().rt.reset_device(0) == 100000  # the other one's
    world.allow = True
    with pytest.raises(Violation, match=r"S1: acl.finalize by one whose acl.init returned 100002"):
        acl().finalize()


def test_s2_a_thread_without_a_context_gets_107002(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    codes: list[Any] = []

    def work() -> None:
        codes.append(card.rt.malloc(64, 0))
        codes.append(card.rt.synchronize_stream(card.stream))
        codes.append(card.mdl.execute_async(card.model, card.given, card.taken, card.stream))
        codes.append(card.rt.set_context(card.context))
        codes.append(card.rt.synchronize_stream(card.stream))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert codes == [(0, 107002), 107002, 107002, 0, 0]
    card.close()


def test_s2_a_stream_of_another_context_is_refused(npu: Npu) -> None:
    npu()
    acl().init()
    first, _ = acl().rt.create_context(0)
    stream, _ = acl().rt.create_stream()
    second, _ = acl().rt.create_context(0)
    assert acl().rt.synchronize_stream(stream) == 107003
    assert acl().rt.set_context(first) == 0
    assert [acl().rt.destroy_stream(stream), acl().rt.destroy_context(first)] == [0, 0]
    assert acl().rt.create_stream() == (0, 107002)  # the context of the thread is gone
    assert acl().rt.destroy_context(second) == 0


def test_s2_a_model_runs_in_the_context_that_it_was_loaded_in(broken: World, tmp_path: Path) -> None:
    card = Card(broken, geared(tmp_path))
    card.got(card.rt.create_context(0))
    stream = card.got(card.rt.create_stream())
    with pytest.raises(Violation, match="S2: execute of model double in another context"):
        card.mdl.execute_async(card.model, card.given, card.taken, stream)
    with pytest.raises(Violation, match="S2: unload of model double in another context"):
        card.mdl.unload(card.model)


@pytest.mark.parametrize("size", [0, -1])
def test_s3_a_size_of_nothing_is_refused(npu: Npu, size: int) -> None:
    npu()
    acl().init()
    context, _ = acl().rt.create_context(0)
    assert acl().rt.malloc(size, 0) == (0, 100000)
    assert acl().rt.malloc_host(size) == (0, 100000)
    assert acl().rt.malloc(64, 7) == (0, 100000)
    acl().rt.destroy_context(context)


@pytest.mark.parametrize("code", [200000, 207001])
def test_s3_memory_ends(npu: Npu, code: int) -> None:
    npu(hbm=1024, out_of_memory=code)
    acl().init()
    context, _ = acl().rt.create_context(0)
    assert acl().rt.get_mem_info(1) == (1024, 1024, 0)
    address, ret = acl().rt.malloc(960, 0)
    assert ret == 0
    assert address % 64 == 0
    assert acl().rt.get_mem_info(1) == (1024 - 992, 1024, 0)  # rounded to 32, and 32 more
    assert acl().rt.malloc(1, 0) == (0, code)
    assert acl().rt.free(address) == 0
    acl().rt.destroy_context(context)


def test_s3_each_load_of_a_model_takes_its_memory_again(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    path = geared(tmp_path)
    acl().init()
    work, weight, _ = acl().mdl.query_size(path)
    world.memory.budgets[0] = 2 * (work + weight) - 1
    context, _ = acl().rt.create_context(0)
    model, ret = acl().mdl.load_from_file(path)
    assert ret == 0
    assert acl().mdl.load_from_file(path) == (0, 200000)
    assert acl().mdl.unload(model) == 0
    assert acl().rt.get_mem_info(1)[0] == acl().rt.get_mem_info(1)[1]
    acl().rt.destroy_context(context)


def test_s4_free_of_what_malloc_did_not_give_or_twice_is_caught(broken: World) -> None:
    acl().init()
    acl().rt.create_context(0)
    address, _ = acl().rt.malloc(64, 0)
    pinned, _ = acl().rt.malloc_host(64)
    for wrong in (address + 8, 0, pinned):
        with pytest.raises(Violation, match="S4: free of"):
            acl().rt.free(wrong)
    assert acl().rt.free(address) == 0
    with pytest.raises(Violation, match="S4: free of"):
        acl().rt.free(address)
    with pytest.raises(Violation, match="S4: free_host of"):
        acl().rt.free_host(address)


def test_s4_use_after_free_is_caught(broken: World) -> None:
    acl().init()
    acl().rt.create_context(0)
    address, _ = acl().rt.malloc(64, 0)
    acl().rt.free(address)
    with pytest.raises(Violation, match=r"S4: memcpy: .* is in memory that was freed"):
        acl().rt.memset(address, 64, 0, 64)
    pinned, _ = acl().rt.malloc_host(64)
    acl().rt.free_host(pinned)
    address, _ = acl().rt.malloc(64, 0)
    stream, _ = acl().rt.create_stream()
    with pytest.raises(Violation, match=r"S4: memcpy: .* is in memory that was freed"):
        acl().rt.memcpy_async(address, 64, pinned, 64, 1, stream)


def test_s4_a_handle_that_is_gone_or_of_another_kind_is_caught(broken: World) -> None:
    acl().init()
    context, _ = acl().rt.create_context(0)
    stream, _ = acl().rt.create_stream()
    assert acl().rt.destroy_stream(stream) == 0
    with pytest.raises(Violation, match=r"S4: .* is no stream, which was a stream and is gone"):
        acl().rt.synchronize_stream(stream)
    with pytest.raises(Violation, match=r"S4: .* is no stream"):
        acl().rt.synchronize_stream(context)
    assert acl().mdl.unload(context) == 100011


def test_s12_what_is_left_at_finalize_is_named(broken: World, tmp_path: Path) -> None:
    Card(broken, geared(tmp_path))
    kinds = ("stream", "model", "desc", "dataset", "databuffer", "context", "memory of device 0", "pinned memory")
    with pytest.raises(Violation, match=r"S12: acl.finalize with") as caught:
        acl().finalize()
    assert all(kind in str(caught.value) for kind in kinds)


def test_s12_a_device_that_was_set_is_reset_and_empty(broken: World) -> None:
    acl().init()
    assert acl().rt.set_device(1) == 0
    assert acl().rt.set_device(2) == 107001
    assert acl().rt.get_device() == (1, 0)
    assert broken.leaks() == ["set_device(1) without reset_device"]
    context, _ = acl().rt.get_context()
    assert acl().rt.destroy_context(context) == 100000  # a default context
    acl().rt.malloc(64, 0)
    with pytest.raises(Violation, match=r"S12: reset_device\(1\) with memory of device 1"):
        acl().rt.reset_device(1)


def test_s13_streams_of_a_chip_end(npu: Npu) -> None:
    npu(soc="Ascend310B4")
    acl().init()
    context, _ = acl().rt.create_context(0)
    streams = [acl().rt.create_stream()[0] for _ in range(512)]
    assert acl().rt.create_stream() == (0, 207008)
    assert acl().rt.get_stream_available_num() == (0, 0)
    assert {acl().rt.destroy_stream(stream) for stream in streams} == {0}
    acl().rt.destroy_context(context)


def test_arguments_are_python_s_own_numbers(npu: Npu) -> None:
    npu()
    acl().init()
    with pytest.raises(TypeError, match=r"rt.create_context: .* is int64"):
        acl().rt.create_context(np.int64(0))
    with pytest.raises(TypeError):
        acl().rt.create_context(device=0)


def test_a_violation_that_client_code_swallows_is_still_told(broken: World) -> None:
    acl().init()
    acl().rt.create_context(0)
    with contextlib.suppress(Exception):
        acl().rt.free(64)
    assert broken.violations == ["S4: free of 0x40, which malloc did not give"]
