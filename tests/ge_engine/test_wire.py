from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

from ge_engine.wire import Truncated, strip


def stripped(model: ModelProto) -> ModelProto:
    return ModelProto.FromString(strip(model.SerializeToString(), "/m.onnx"))


def test_what_is_small_is_copied_as_it_is() -> None:
    model = ModelProto(ir_version=8, graph=GraphProto(node=[NodeProto(op_type="Relu")] * 500))
    assert stripped(model) == model


def test_a_payload_becomes_a_reference_to_its_bytes() -> None:
    tensor = TensorProto(name="w", dims=[3000], data_type=2, raw_data=b"ab" * 1500, doc_string="kept")
    data = ModelProto(graph=GraphProto(initializer=[tensor])).SerializeToString()
    (found,) = ModelProto.FromString(strip(data, "/m.onnx")).graph.initializer
    entries = {entry.key: entry.value for entry in found.external_data}
    offset, length = int(entries["offset"]), int(entries["length"])
    assert data[offset : offset + length] == tensor.raw_data
    assert (entries["location"], found.doc_string, found.data_location) == ("/m.onnx", "kept", TensorProto.EXTERNAL)


def test_training_information_is_left_out() -> None:
    model = ModelProto(ir_version=8, graph=GraphProto(node=[NodeProto(op_type="Relu")] * 500))
    model.training_info.add().algorithm.initializer.add(raw_data=bytes(5000))
    assert stripped(model) == ModelProto(ir_version=8, graph=model.graph)


def test_graphs_within_graphs_within_graphs_have_an_end() -> None:
    graph = GraphProto(doc_string="x" * 2000)
    for _ in range(31):
        graph = GraphProto(node=[NodeProto(attribute=[helper.make_attribute("body", graph)])])
    with pytest.raises(Truncated, match="nested too deeply"):
        strip(ModelProto(graph=graph).SerializeToString(), "/m.onnx")


@given(st.binary(max_size=3000))
def test_any_bytes_are_copied_or_refused(data: bytes) -> None:
    with contextlib.suppress(Truncated):
        assert isinstance(strip(data, "/m.onnx"), bytes)
