from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx_files import node, save, tensor

from ge_engine.fold import folded
from ge_engine.inspect.made_constant import made_constant
from ge_engine.skeleton import read_skeleton


def test_only_what_follows_from_weights_and_shapes_is_counted(tmp_path: Path) -> None:
    """Folding also joins a BatchNormalization with its Conv, and writes HardSwish as two nodes."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "first"], ["rows"]),
        node("Concat", ["rows", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["same"]),
        node("HardSwish", ["same"], ["h"]),
        node("Conv", ["h", "w"], ["c"]),
        node("BatchNormalization", ["c", "one", "zero", "zero", "one"], ["y"]),
    ]
    weights = {"first": np.int64([0]), "rest": np.int64([3, 8, 8]), "w": np.ones((2, 3, 1, 1), np.float32)}
    weights |= {"one": np.ones(2, np.float32), "zero": np.zeros(2, np.float32)}
    ports = [tensor("x", ("n", 3, 8, 8))], [tensor("y", ("n", 2, 8, 8))]
    model = read_skeleton(str(save(tmp_path / "m.onnx", nodes, *ports, weights))).model
    after = folded(model, {"x": (2, 3, 8, 8)})
    assert not {"HardSwish", "BatchNormalization"} & {node.op_type for node in after.graph.node}
    assert made_constant(model, after) == {"Shape": 1, "Gather": 1, "Concat": 1}


def test_what_is_still_there_is_not_counted(tmp_path: Path) -> None:
    nodes = [node("Shape", ["x"], ["shape"]), node("Cast", ["shape"], ["y"], to=1)]
    ports = [tensor("x", ("n", 4))], [tensor("y", (2,))]
    model = read_skeleton(str(save(tmp_path / "m.onnx", nodes, *ports))).model
    assert made_constant(model, folded(model, {"x": ("n", 4)})) == {}
