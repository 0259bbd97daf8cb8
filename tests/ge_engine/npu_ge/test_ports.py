from __future__ import annotations

from pathlib import Path

from onnx_files import scale_model

from ge_engine import runtime
from ge_engine.npu_ge.ports import Port, Ports, entry


def test_the_ports_of_a_file_have_the_names_of_their_dims(tmp_path: Path) -> None:
    session = runtime.session(scale_model(tmp_path / "m.onnx", dims=("batch", 4, None)))
    assert Ports.of_session(session) == Ports(
        (Port("x", "float32", (-1, 4, -1), ("batch", "", "")),), (Port("y", "float32", (-1, 4, -1), ("batch", "", "")),)
    )


def test_the_ports_of_a_configuration_are_as_they_stand_there() -> None:
    config = {
        "input": [{"name": "x", "data_type": "TYPE_FP16", "dims": [3, -1]}],
        "output": [{"name": "y", "data_type": "TYPE_BOOL", "dims": [1], "reshape": {"shape": []}}],
    }
    assert Ports.of_config(config) == Ports((Port("x", "float16", (3, -1)),), (Port("y", "bool", (1,), reshaped=True),))
    assert Ports.of_config({}) == Ports((), ())


def test_an_entry_leaves_the_batch_out() -> None:
    port = Port("x", "int64", (-1, 52))
    assert entry(port, batched=True) == {"name": "x", "data_type": "TYPE_INT64", "dims": [52]}
    assert entry(port, batched=False)["dims"] == [-1, 52]


def test_a_port_is_printed_with_the_names_of_its_dims() -> None:
    assert str(Port("x", "float32", (-1, 3), ("batch", ""))) == "x float32[batch,3]"
    assert str(Port("x", "float32", (-1, 3))) == "x float32[-1,3]"
