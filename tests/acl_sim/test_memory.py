"""S5, S6, S7, S14, S15: bytes, on client code that gets them wrong."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from acl_sim import Violation
from acl_sim.fixtures import Npu
from acl_sim.memory import POISON
from card import ROWS, WIDTH, Card, geared


def test_s5_a_copy_larger_than_its_destination_is_refused(broken: Card) -> None:
    card = broken
    assert card.rt.memcpy(card.inputs[0], card.size - 4, card.pinned, card.size, 1) == 100000
    assert card.rt.memcpy_async(card.inputs[0], card.size - 4, card.pinned, card.size, 1, card.stream) == 100000
    assert card.rt.memcpy(card.inputs[0], 0, card.pinned, 0, 1) == 100000


def test_s5_bytes_beyond_an_allocation_are_caught(broken: Card) -> None:
    card = broken
    with pytest.raises(Violation, match=f"S5: a copy is told of {card.size} bytes at 4 of memory of device 0"):
        card.rt.memcpy(card.inputs[0] + 4, card.size, card.pinned, card.size, 1)
    with pytest.raises(Violation, match=f"S5: memcpy: bytes 4 to {card.size + 4} of memory of device 0"):
        card.rt.memcpy(card.pinned, card.size, card.output + 4, card.size, 2)
    with pytest.raises(Violation, match=f"S5: a copy is told of {card.size + 64} bytes at 0 of memory of device 0"):
        card.rt.memcpy(card.inputs[0], card.size + 64, card.pinned, card.size, 1)
    with pytest.raises(Violation, match="S5: memcpy: bytes"):
        card.rt.memcpy(card.inputs[0], card.size, card.answer_at + 64, card.size, 1)


def test_s5_new_memory_is_poison_and_no_input(broken: Card) -> None:
    card = broken
    card.copy_out()
    card.wait()
    assert (card.y.view(np.uint8) == POISON).all()
    card.run()
    with pytest.raises(Violation, match="S5: model double reads bytes of input x that nobody wrote"):
        card.rt.synchronize_stream(card.stream)


def test_s5_bytes_beyond_a_smaller_gear_are_poison(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    card.enqueue()
    card.wait()
    card.gear(1)
    card.enqueue()
    card.wait()
    np.testing.assert_array_equal(card.y[0], 2 * card.x[0])
    assert (card.y[1:].view(np.uint8) == POISON).all()
    card.close()


def test_s6_pinned_memory_is_read_when_the_stream_gets_there(broken: Card) -> None:
    card = broken
    card.copy_in()
    card.x[0, 0] = 99
    with pytest.raises(Violation, match=r"S6: the host changed pinned memory .* while h2d on stream 0 used it"):
        card.wait()


def test_s6_pageable_memory_makes_a_copy_synchronous(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    x, y = np.ones((ROWS, WIDTH), np.float32), np.zeros((ROWS, WIDTH), np.float32)
    card.ok(card.rt.memcpy_async(card.inputs[0], card.size, x.ctypes.data, card.size, 1, card.stream))
    x[:] = 5
    card.run()
    card.ok(card.rt.memcpy_async(y.ctypes.data, card.size, card.output, card.size, 2, card.stream))
    np.testing.assert_array_equal(y, np.full((ROWS, WIDTH), 2, np.float32))  # without a synchronize
    assert card.world.counts["pageable memcpy_async"] == 2
    card.close()


def test_s7_nothing_is_there_before_synchronize(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    card.y[:] = 7
    card.enqueue()
    assert (card.y.view(np.uint8) == POISON).all()
    assert card.world.counts["device.run"] == 0
    card.wait()
    np.testing.assert_array_equal(card.y, 2 * card.x)
    card.close()


def test_s7_device_memory_cannot_be_read(broken: Card) -> None:
    card = broken
    with pytest.raises(Violation, match=r"S7: ptr_to_numpy of .* which is device memory"):
        card.acl.util.ptr_to_numpy(card.output, (ROWS, WIDTH), np.dtype("float32").num)
    with pytest.raises(Violation, match="S7: ptr_to_bytes"):
        card.acl.util.ptr_to_bytes(card.output, 4)


def test_s7_time_is_told_between_events_of_one_stream(broken: Card) -> None:
    card = broken
    other = card.got(card.rt.create_stream())
    events = [card.got(card.rt.create_event()) for _ in range(2)]
    for event, stream in zip(events, (card.stream, other)):
        card.ok(card.rt.record_event(event, stream))
        card.ok(card.rt.synchronize_stream(stream))
    with pytest.raises(Violation, match="S7: event_elapsed_time of events of two streams"):
        card.rt.event_elapsed_time(*events)


def test_s7_an_event_that_nobody_synchronized_has_no_time(broken: Card) -> None:
    card = broken
    event = card.got(card.rt.create_event())
    card.copy_in()
    card.ok(card.rt.record_event(event, card.stream))
    with pytest.raises(Violation, match="S7: event_elapsed_time"):
        card.rt.event_elapsed_time(event, event)


@pytest.mark.parametrize(("to", "source", "kind"), [("host", "host", 1), ("card", "card", 2), ("host", "card", 3)])
def test_s14_a_copy_in_the_wrong_direction_is_caught(broken: Card, to: str, source: str, kind: int) -> None:
    card = broken
    places = {"host": card.pinned, "card": card.output}
    with pytest.raises(
        Violation, match=r"S14: a (h2d|d2h|d2d) copy whose (source|destination) .* is on the other side"
    ):
        card.rt.memcpy_async(places[to], 8, places[source], 8, kind, card.stream)


def test_s14_host_memory_in_a_dataset_is_caught(broken: Card) -> None:
    card = broken
    card.ok(card.acl.update_data_buffer(card.buffers[0], card.pinned, card.size))
    with pytest.raises(Violation, match=r"S14: input 0 of model double is at .* which is no device memory"):
        card.run()


def test_s15_memory_of_another_device_is_caught(broken: Card) -> None:
    card = broken
    card.got(card.rt.create_context(1))
    foreign = card.got(card.rt.malloc(card.size, 0))
    card.ok(card.rt.set_context(card.context))
    card.ok(card.acl.update_data_buffer(card.buffers[0], foreign, card.size))
    with pytest.raises(Violation, match="S15: input 0 of model double is in memory of device 1; the model is on 0"):
        card.run()
    event = card.got(card.rt.create_event())
    card.got(card.rt.create_context(1))
    with pytest.raises(Violation, match="S15: an event of device 0 on one of 1"):
        card.rt.record_event(event, card.got(card.rt.create_stream()))
    card.ok(card.rt.set_context(card.context))
    with pytest.raises(Violation, match="S15: a copy on device 0 of memory of device 1"):
        card.rt.memcpy_async(foreign, card.size, card.pinned, card.size, 1, card.stream)


def test_s6_what_a_stream_brings_to_pinned_memory_it_may_send_again(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    card.enqueue()
    card.ok(card.rt.memcpy_async(card.inputs[0], card.size, card.answer_at, card.size, 1, card.stream))
    card.run()
    card.copy_out()
    card.wait()
    np.testing.assert_array_equal(card.y, 4 * card.x)
    card.close()


def test_s5_an_address_that_malloc_never_gave_is_caught(broken: Card) -> None:
    card = broken
    with pytest.raises(Violation, match=r"S5: memcpy: .* is not in memory that is allocated"):
        card.rt.memcpy(card.output + 4096, 8, card.pinned, 8, 1)


def test_s6_a_copy_within_the_host_is_not_for_a_stream(broken: Card) -> None:
    card = broken
    with pytest.raises(Violation, match="S6: memcpy_async from host to host"):
        card.rt.memcpy_async(card.pinned, 8, card.answer_at, 8, 0, card.stream)


def test_s14_memset_is_for_memory_of_the_card(broken: Card) -> None:
    card = broken
    host = np.zeros(8, np.uint8)
    with pytest.raises(Violation, match=r"S14: memset of .* which is no device or pinned memory"):
        card.rt.memset(host.ctypes.data, 8, 0, 8)
    assert card.rt.memset(card.output, 4, 0, 8) == 100000
    assert card.rt.memset(card.output, 8, 256, 8) == 100000
    assert card.rt.get_mem_info(0) == (0, 0, 100000)


def test_memset_and_copies_on_the_device(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    card.ok(card.rt.memset(card.output, card.size, 0, card.size))
    card.ok(card.rt.memcpy(card.inputs[0], card.size, card.output, card.size, 3))
    card.run()
    card.copy_out()
    card.wait()
    assert not card.y.any()
    card.ok(card.rt.memset_async(card.output, card.size, 1, card.size, card.stream))
    card.copy_out()
    card.wait()
    assert (card.y.view(np.uint8) == 1).all()
    card.close()


def test_addresses_of_bytes_and_back(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    data = b"some bytes"
    util: Any = card.acl.util
    address = util.bytes_to_ptr(data)
    assert ctypes.string_at(address, len(data)) == data
    assert util.ptr_to_bytes(address, 4) == b"some"
    assert util.numpy_to_ptr(card.x) == card.pinned
    card.close()
