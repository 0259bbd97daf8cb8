from __future__ import annotations

from pathlib import Path

from onnx_files import node, save, tensor

from ge_engine.builder import GraphBuilder
from ge_engine.model import Model
from ops import TensorSpec

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
