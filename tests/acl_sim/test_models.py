"""S8 to S11, S16: models, datasets and streams, on client code that gets them wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from acl_sim import Violation
from acl_sim.fixtures import Npu
from card import ROWS, WIDTH, Card, atc, geared, onnx_file


def beside(card: Card) -> tuple[int, int, int]:
    """Another stream, and datasets of its own for the same model."""
    sizes = [card.size, 8]
    inputs = [card.got(card.rt.malloc(size, 0)) for size in sizes]
    output = card.got(card.rt.malloc(card.size, 0))
    card.ok(card.rt.memset(inputs[0], card.size, 0, card.size))
    return card.got(card.rt.create_stream()), card.dataset(*zip(inputs, sizes)), card.dataset((output, card.size))


def test_s8_a_model_on_two_streams_is_caught(broken: Card) -> None:
    card = broken
    stream, given, taken = beside(card)
    card.copy_in()
    card.run()
    with pytest.raises(Violation, match=r"S8: model double .* runs on stream 0 already: load it twice"):
        card.mdl.execute_async(card.model, given, taken, stream)
    with pytest.raises(Violation, match="S8"):
        card.mdl.execute(card.model, given, taken)
    card.wait()
    card.ok(card.mdl.execute_async(card.model, given, taken, stream))


def test_s8_a_model_on_two_streams_one_behind_the_other_is_fine(broken: Card) -> None:
    card = broken
    stream, given, taken = beside(card)
    card.copy_in()
    card.run()
    event = card.got(card.rt.create_event())
    card.ok(card.rt.record_event(event, card.stream))
    card.ok(card.rt.stream_wait_event(stream, event))
    card.ok(card.mdl.execute_async(card.model, given, taken, stream))
    card.ok(card.rt.synchronize_stream(stream))
    assert card.world.counts["device.run"] == 2  # the one that it waited for, too


def test_s9_datasets_of_the_wrong_arity_are_refused(broken: Card) -> None:
    card = broken
    one = card.dataset((card.inputs[0], card.size))
    assert card.mdl.execute_async(card.model, one, card.taken, card.stream) == 100017
    assert card.mdl.execute_async(card.model, card.given, card.given, card.stream) == 100018


@pytest.mark.parametrize(("address", "size"), [("own", -4), ("null", 0)])
def test_s9_a_buffer_that_is_too_small_or_null_is_refused(broken: Card, address: str, size: int) -> None:
    card = broken
    place = card.output if address == "own" else 0
    wrong = card.dataset((place, card.size + size))
    assert card.mdl.execute_async(card.model, card.given, wrong, card.stream) == 100000


def test_s9_pieces_of_a_block_keep_their_distance(broken: Card) -> None:
    card = broken
    block = card.got(card.rt.malloc(1024, 0))
    near = card.dataset((block, card.size), (block + 96, 8))
    with pytest.raises(Violation, match=r"S9: input 1 of model double .* not aligned to 64 bytes"):
        card.mdl.execute_async(card.model, near, card.taken, card.stream)
    near = card.dataset((block, card.size), (block + 64, 8))
    with pytest.raises(
        Violation, match=r"S9: two buffers of a run are at bytes 0 and 64 .* a piece of 96 bytes takes 128"
    ):
        card.mdl.execute_async(card.model, near, card.taken, card.stream)
    far = card.dataset((block, card.size), (block + 128, 8))
    card.ok(card.rt.memset(block, 1024, 0, card.size))
    card.ok(card.mdl.execute_async(card.model, far, card.taken, card.stream))


def test_s10_gears(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    assert card.mdl.get_dynamic_batch(card.desc) == ({"batchCount": 3, "batch": [1, 2, 4]}, 0)
    assert card.mdl.get_input_index_by_name(card.desc, "ascend_mbatch_shape_data") == (1, 0)
    assert card.mdl.get_input_dims(card.desc, 0) == ({"name": "x", "dimCount": 2, "dims": [-1, WIDTH]}, 0)
    assert card.size == ROWS * WIDTH * 4
    card.enqueue()  # no gear set: the largest
    card.wait()
    assert card.mdl.get_cur_output_dims(card.desc, 0)[0]["dims"] == [ROWS, WIDTH]
    np.testing.assert_array_equal(card.y, 2 * card.x)
    assert card.mdl.set_dynamic_batch_size(card.model, card.given, 1, 3) == 145013
    assert card.mdl.set_dynamic_batch_size(card.model, card.given, 0, 2) == 100000
    assert card.mdl.set_dynamic_hw_size(card.model, card.given, 1, 2, 2) == 100019
    card.gear(2)
    assert card.mdl.get_cur_output_dims(card.desc, 0)[0]["dims"] == [2, WIDTH]
    card.close()


def test_s10_a_gear_needs_its_buffer(broken: Card) -> None:
    card = broken
    none = card.dataset((card.inputs[0], card.size))
    small = card.dataset((card.inputs[0], card.size), (card.inputs[1], 4))
    for given in (none, small):
        assert card.mdl.set_dynamic_batch_size(card.model, given, 1, 2) == 100000


def test_s10_a_gear_set_while_a_run_reads_it_is_caught(broken: Card) -> None:
    card = broken
    card.gear(1)
    card.enqueue()
    with pytest.raises(Violation, match=r"S16: setting the gear of double on the host writes .* run on stream 0 reads"):
        card.gear(2)


def test_s10_dims_and_image_sizes(npu: Npu, tmp_path: Path) -> None:
    world = npu()
    model = onnx_file(tmp_path, "dims")
    assert "success" in atc(model, f"--input_shape=x:-1,{WIDTH}", "--dynamic_dims=1;3", "--input_format=ND")
    card = Card(world, str(model.with_suffix(".om")))
    assert card.mdl.get_input_dynamic_gear_count(card.desc, -1) == (2, 0)
    gears, _ = card.mdl.get_input_dynamic_dims(card.desc, -1, 2)
    assert [gear["dims"] for gear in gears] == [[1, WIDTH], [3, WIDTH]]
    wrong = {"name": "", "dimCount": 2, "dims": [2, WIDTH]}
    assert card.mdl.set_input_dynamic_dims(card.model, card.given, 1, wrong) == 145013
    assert card.mdl.set_input_dynamic_dims(card.model, card.given, 1, {**wrong, "dimCount": 1}) == 100000
    assert card.mdl.set_input_dynamic_dims(card.model, card.given, 1, gears[0]) == 0
    card.close()


def test_s11_nothing_ends_that_something_in_flight_needs(broken: Card) -> None:
    card = broken
    card.enqueue()
    calls: list[tuple[str, Any]] = [
        ("model .* is destroyed while run on stream 0 needs it", lambda: card.mdl.unload(card.model)),
        ("dataset .* is destroyed", lambda: card.mdl.destroy_dataset(card.given)),
        ("databuffer .* is destroyed", lambda: card.acl.destroy_data_buffer(card.buffers[0])),
        ("destroy_stream with h2d in flight on stream 0", lambda: card.rt.destroy_stream(card.stream)),
        ("memory of device 0 .* is freed while", lambda: card.rt.free(card.output)),
        ("pinned memory .* is freed while h2d", lambda: card.rt.free_host(card.pinned)),
        ("destroy_context with stream", lambda: card.rt.destroy_context(card.context)),
    ]
    for text, call in calls:
        with pytest.raises(Violation, match=f"S11: {text}"):
            call()
    card.wait()
    card.close()


def test_s11_an_event_lives_until_its_stream_has_come_to_it(broken: Card) -> None:
    card = broken
    event = card.got(card.rt.create_event())
    card.copy_in()
    card.ok(card.rt.record_event(event, card.stream))
    with pytest.raises(Violation, match="S11: destroy_event while stream 0 has not come to it"):
        card.rt.destroy_event(event)
    card.ok(card.rt.synchronize_event(event))
    card.ok(card.rt.destroy_event(event))


def test_s16_a_reader_on_another_stream_waits_for_an_event(broken: Card) -> None:
    card = broken
    other = card.got(card.rt.create_stream())
    card.copy_in()
    card.run()
    with pytest.raises(
        Violation, match=r"S16: d2h on stream 1 reads .* run on stream 0 writes, and nothing orders the two"
    ):
        card.rt.memcpy_async(card.answer_at, card.size, card.output, card.size, 2, other)
    event = card.got(card.rt.create_event())
    with pytest.raises(Violation, match="S16: stream_wait_event on an event that was never recorded"):
        card.rt.stream_wait_event(other, event)
    with pytest.raises(Violation, match="S16: synchronize_event on an event that was never recorded"):
        card.rt.synchronize_event(event)
    card.ok(card.rt.record_event(event, card.stream))
    card.ok(card.rt.stream_wait_event(other, event))
    card.ok(card.rt.memcpy_async(card.answer_at, card.size, card.output, card.size, 2, other))
    card.ok(card.rt.synchronize_stream(other))
    np.testing.assert_array_equal(card.y, 2 * card.x)


def test_s16_an_event_orders_only_what_was_before_it(broken: Card) -> None:
    card = broken
    other = card.got(card.rt.create_stream())
    event = card.got(card.rt.create_event())
    card.copy_in()
    card.ok(card.rt.record_event(event, card.stream))
    card.run()
    card.ok(card.rt.stream_wait_event(other, event))
    with pytest.raises(Violation, match="S16: d2h on stream 1 reads"):
        card.rt.memcpy_async(card.answer_at, card.size, card.output, card.size, 2, other)


def test_s16_a_writer_behind_a_reader_on_another_stream_is_caught(broken: Card) -> None:
    card = broken
    other = card.got(card.rt.create_stream())
    card.copy_in()
    card.run()
    with pytest.raises(Violation, match="S16: h2d on stream 1 writes"):
        card.rt.memcpy_async(card.inputs[0], card.size, card.pinned, card.size, 1, other)


def test_s16_a_synchronous_copy_is_ordered_behind_no_stream(broken: Card) -> None:
    card = broken
    card.copy_in()
    card.run()
    with pytest.raises(Violation, match=r"S16: memcpy on the host reads .* run on stream 0 writes"):
        card.rt.memcpy(card.answer_at, card.size, card.output, card.size, 2)
    card.wait()
    card.ok(card.rt.memcpy(card.answer_at, card.size, card.output, card.size, 2))
    np.testing.assert_array_equal(card.y, 2 * card.x)


def test_a_model_for_another_chip_or_of_a_newer_cann_is_not_loaded(npu: Npu, tmp_path: Path) -> None:
    world = npu(soc="Ascend310P3")
    world.module().init()
    acl = world.module()
    context, _ = acl.rt.create_context(0)
    path = geared(tmp_path)
    assert acl.mdl.load_from_file(path) == (0, 500000)
    world.soc, world.cann = "Ascend910B4", "8.3.0"
    assert acl.mdl.load_from_file(path) == (0, 500000)
    assert acl.mdl.load_from_file(str(tmp_path / "double.onnx")) == (0, 100013)
    assert acl.mdl.load_from_file(str(tmp_path / "none.om")) == (0, 100003)
    acl.rt.destroy_context(context)
