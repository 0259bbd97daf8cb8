from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_files import model_stage, node, onnx_model, save, tensor

from ge_engine.build import build
from ge_engine.builder import GraphBuilder
from ge_engine.gears import Gears
from ge_engine.model import Model
from ops import BuildError, TensorSpec

X, Y = tensor("x", ("n", 4)), tensor("y", ("n", 4))


def test_nodes_without_names_and_with_one_name_get_their_own(tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Relu", ["a"], ["b"]), node("Neg", ["b"], ["y"], name="Relu")]
    model = Model(str(save(tmp_path / "m.onnx", nodes, [X], [Y])))
    g = GraphBuilder(17)
    x = g.input("x", TensorSpec("float32", (4,)))
    for prefix in ("one/", "two/"):
        g.prefix = prefix
        (y,) = model.lower(g, x)
        assert y.name == f"{prefix}y"
    names = [entry.name for entry in g.nodes]
    assert len(set(names)) == len(names) == 6
    assert {name.partition("/")[0] for name in names} == {"one", "two"}
    assert [list(entry.input) for entry in g.nodes[:2]] == [["x"], ["one/a"]]


def test_sparse_weights_are_refused(tmp_path: Path) -> None:
    values, indices = numpy_helper.from_array(np.float32([1, 2]), "s"), numpy_helper.from_array(np.int64([0, 3]), "i")
    model = onnx_model([node("Add", ["x", "s"], ["y"])], [X], [Y])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(BuildError, match="has sparse initializers"):
        build(model_stage(tmp_path / "m.onnx", TensorSpec("float32", (4,))), Gears.of_batches((1,)), tmp_path / "b")
