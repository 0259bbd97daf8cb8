"""What a model tells of itself, and the calls that only tell or keep something."""

from __future__ import annotations

from pathlib import Path

import pytest
from acl_sim import Violation
from acl_sim.fixtures import Npu
from card import ROWS, WIDTH, Card, geared


def test_what_a_desc_does_not_know_is_refused(broken: Card) -> None:
    card = broken
    mdl, desc = card.mdl, card.desc
    assert mdl.get_desc(desc, 5) == 100011
    for ask in (mdl.get_input_dims, mdl.get_output_dims, mdl.get_cur_output_dims):
        assert ask(desc, 2) == (0, 100000)
    for find in (mdl.get_input_index_by_name, mdl.get_output_index_by_name):
        assert find(desc, "z") == (0, 100000)
    assert mdl.get_input_dynamic_dims(desc, -1, 3) == (0, 100000)
    assert mdl.get_input_dynamic_gear_count(desc, -1) == (0, 0)
    assert [mdl.get_input_size_by_index(desc, 2), mdl.get_output_size_by_index(desc, 1)] == [0, 0]
    assert mdl.get_dataset_buffer(card.given, 2) == 0
    empty = mdl.create_desc()
    with pytest.raises(Violation, match=r"S4: desc .* is of no model that is loaded"):
        mdl.get_num_inputs(empty)
    card.ok(mdl.unload(card.model))
    with pytest.raises(Violation, match=r"S4: desc .* is of no model that is loaded"):
        mdl.get_num_inputs(desc)


def test_what_a_desc_tells(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    mdl, desc = card.mdl, card.desc
    assert [mdl.get_num_inputs(desc), mdl.get_num_outputs(desc)] == [2, 1]
    assert [mdl.get_input_name_by_index(desc, i) for i in range(3)] == ["x", "ascend_mbatch_shape_data", ""]
    assert [mdl.get_output_name_by_index(desc, i) for i in range(2)] == ["y", ""]
    assert mdl.get_output_index_by_name(desc, "y") == (0, 0)
    assert mdl.get_input_dims(desc, 1)[0]["dims"] == [1]
    assert mdl.get_output_dims(desc, 0)[0]["dims"] == [ROWS, WIDTH]
    assert [mdl.get_input_data_type(desc, 0), mdl.get_input_data_type(desc, 1), mdl.get_output_data_type(desc, 0)] == [
        0,
        9,
        0,
    ]
    assert [mdl.get_input_format(desc, 0), mdl.get_output_format(desc, 0)] == [0, 2]
    assert mdl.get_dynamic_hw(desc, -1) == ({"hwCount": 0, "hw": []}, 0)
    assert mdl.get_dataset_num_buffers(card.given) == 2
    assert mdl.get_dataset_buffer(card.given, 0) == card.buffers[0]
    assert card.acl.get_data_buffer_addr(card.buffers[0]) == card.inputs[0]
    assert card.acl.get_data_buffer_size(card.buffers[0]) == card.size
    card.close()


def test_a_model_from_memory(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    data = Path(geared(tmp_path)).read_bytes()
    model = card.got(card.mdl.load_from_mem(card.acl.util.bytes_to_ptr(data), len(data)))
    card.ok(card.mdl.unload(model))
    card.world.allow = True
    with pytest.raises(Violation, match=r"S14: load_from_mem of .* which is device memory"):
        card.mdl.load_from_mem(card.output, 8)


def test_the_text_of_a_failure_is_told_once(npu: Npu) -> None:
    acl = npu().module()
    acl.init()
    assert acl.get_recent_err_msg() == ""
    assert acl.rt.set_device(9) == 107001
    assert acl.get_recent_err_msg() == "acl_sim: rt.set_device returned 107001"
    assert acl.get_recent_err_msg() == ""


def test_limits_of_cores_are_kept(npu: Npu, tmp_path: Path) -> None:
    card = Card(npu(), geared(tmp_path))
    card.ok(card.rt.set_stream_res_limit(card.stream, 0, 12))
    card.ok(card.rt.set_device_res_limit(0, 1, 10))
    assert card.rt.get_stream_res_limit(card.stream, 0) == (12, 0)
    assert card.rt.get_stream_res_limit(card.stream, 1) == (0, 100000)
    assert card.rt.get_device_res_limit(0, 1) == (10, 0)
    card.ok(card.rt.reset_device_res_limit(0))
    assert card.rt.get_device_res_limit(0, 1) == (0, 100000)
    assert card.rt.set_device_res_limit(0, 2, 1) == 100000
    card.close()
