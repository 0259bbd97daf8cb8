from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_files import node, save, tensor

from ge_engine.inside import Inside, write_graph
from ops import ModelError

X = np.arange(4, dtype=np.float32).reshape(1, 4)
W = np.arange(4096, dtype=np.float32).reshape(4, 1024)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = relu(h), h = x w, where the weights are no small ones; and s, which splits y."""
    nodes = [
        node("MatMul", ["x", "w"], ["h"]),
        node("Relu", ["h"], ["y"]),
        node("SplitToSequence", ["y"], ["s"], axis=1, keepdims=1),
        node("SequenceLength", ["s"], ["n"]),
    ]
    ports = [tensor("x", (1, 4))], [tensor("y", (1, 1024)), tensor("n", (), np.int64)]
    return save(tmp_path / "model.onnx", nodes, *ports, {"w": W})


def test_every_value_is_told_in_order_though_the_file_is_gone(model: Path) -> None:
    inside = Inside(model, threads=1)
    model.unlink()
    values = dict(inside.values({"x": X}))
    assert list(values) == ["h", "y", "s", "n"]
    np.testing.assert_allclose(values["h"], X @ W, rtol=1e-6)
    assert values["s"] == values["n"] == 1024


def test_the_graph_is_written_without_its_weights(model: Path, tmp_path: Path) -> None:
    write_graph(model, tmp_path / "graph.onnx")
    graph = onnx.load(tmp_path / "graph.onnx")
    onnx.checker.check_model(graph)
    assert [node.op_type for node in graph.graph.node] == ["MatMul", "Relu", "SplitToSequence", "SequenceLength"]
    assert [value.name for value in graph.graph.input] == ["x", "w"]
    assert (tmp_path / "graph.onnx").stat().st_size < 1000 < W.nbytes


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelError, match=r"model\.onnx"):
        Inside(tmp_path / "model.onnx", threads=1)
