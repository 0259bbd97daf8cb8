from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_files import node, onnx_model, save, tensor
from weights import laid_out

from ge_engine.dynamic import values_of
from ge_engine.gears import Gear
from ge_engine.inspect import facts_of
from ge_engine.inspect.cost import flops_of, peak_bytes
from ge_engine.inspect.gear_facts import gear_facts
from ge_engine.shapes import shape_of

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def flops(one: onnx.NodeProto, **shapes: tuple[int, ...]) -> int | None:
    inputs = [tensor(name, shapes[name]) for name in one.input]
    model = onnx_model([one], inputs, [onnx.helper.make_empty_tensor_value_info(name) for name in one.output])
    for value in model.graph.output:
        value.type.tensor_type.elem_type = 1
    return flops_of(one, {name: shape_of(value) for name, value in values_of(model).items()})


# By hand: two for each multiplication with its addition.
@pytest.mark.parametrize(
    ("one", "shapes", "count"),
    [
        (node("MatMul", ["a", "b"], ["y"]), {"a": (2, 3, 4), "b": (4, 5)}, 2 * 2 * 3 * 5 * 4),
        (node("Gemm", ["a", "b"], ["y"], transA=1), {"a": (4, 3), "b": (4, 5)}, 2 * 3 * 5 * 4),
        (node("Conv", ["a", "b"], ["y"]), {"a": (1, 4, 5, 5), "b": (8, 4, 3, 3)}, 2 * 8 * 3 * 3 * 4 * 9),
        (node("Conv", ["a", "b"], ["y"], group=4), {"a": (1, 4, 5, 5), "b": (4, 1, 3, 3)}, 2 * 4 * 3 * 3 * 9),
        (node("ConvTranspose", ["a", "b"], ["y"]), {"a": (1, 4, 5, 5), "b": (4, 8, 2, 2)}, 2 * 4 * 25 * 8 * 4),
        (
            node("Einsum", ["a", "b"], ["y"], equation="bij,bjk->bik"),
            {"a": (2, 3, 4), "b": (2, 4, 5)},
            2 * 2 * 3 * 4 * 5,
        ),
        (node("MaxPool", ["a"], ["y"], kernel_shape=[2, 2], strides=[2, 2]), {"a": (1, 3, 8, 8)}, 3 * 16 * 4),
        (node("ReduceSum", ["a"], ["y"]), {"a": (6, 7)}, 42),
        (node("Sigmoid", ["a"], ["y"]), {"a": (6, 7)}, 42),
        (node("Transpose", ["a"], ["y"]), {"a": (6, 7)}, 0),
    ],
)
def test_the_operations_of_a_node(one: onnx.NodeProto, shapes: dict[str, Any], count: int) -> None:
    assert flops(one, **shapes) == count


def test_nothing_is_counted_where_a_shape_is_open_or_nobody_knows_what_is_computed() -> None:
    shapes = {"x": (2, 4), "y": (2, 4)}
    assert flops_of(node("FusedMatMul", ["x", "x"], ["y"], domain="com.microsoft"), shapes) is None
    assert flops_of(node("If", ["x"], ["y"]), shapes) is None
    assert flops_of(node("Neg", ["x"], ["y"]), {"x": (None, 4), "y": (None, 4)}) is None


@pytest.mark.weights
def test_yolo11n_is_what_ultralytics_says() -> None:
    """6.5 GFLOPs at 640 x 640: their table of models."""
    path = laid_out("examples/yolo11/weights/yolo11n.onnx")
    (gear,) = facts_of(str(path), (1,), [{"height": 640, "width": 640}]).gears
    assert gear.flops == pytest.approx(6.5e9, rel=0.02)


def test_resnet_50_is_what_torchvision_says() -> None:
    """4.09e9 multiply-adds, which its table of models calls FLOPs; what is no product adds a little."""
    model = onnx.load(LIGHT / "light_resnet50.onnx")
    names = {tensor.name for tensor in model.graph.initializer}
    (image,) = (value.name for value in model.graph.input if value.name not in names)
    facts = gear_facts(model, Gear(1), {image: (1, 3, 224, 224)})
    assert facts.error == ""
    assert facts.known_flops == pytest.approx(2 * 4.09e9, rel=0.01)


def test_the_peak_is_what_is_alive_at_once(tmp_path: Path) -> None:
    """x (held) 16, a and b at once 32, y (held) 16; a is gone before c comes."""
    nodes = [
        node("Neg", ["x"], ["a"]),
        node("Abs", ["a"], ["b"]),
        node("Exp", ["b"], ["c"]),
        node("Neg", ["c"], ["y"]),
    ]
    model = onnx.load(save(tmp_path / "m.onnx", nodes, [tensor("x", (1, 4))], [tensor("y", (1, 4))]))
    assert peak_bytes(model.graph, values_of(model)) == 16 + 32 + 16
    model.graph.node[3].input[0] = "a"  # now a lives on, and c is for nothing
    assert peak_bytes(model.graph, values_of(model)) == 16 + 48 + 16


def test_weights_are_no_part_of_the_peak(tmp_path: Path) -> None:
    path = save(
        tmp_path / "m.onnx",
        [node("MatMul", ["x", "w"], ["y"])],
        [tensor("x", ("batch", 1000))],
        [tensor("y", ("batch", 4))],
        {"w": np.ones((1000, 4), np.float32)},
    )
    facts = facts_of(str(path), (1, 4))
    assert [gear.peak for gear in facts.gears] == [4000 + 16, 4 * (4000 + 16)]
    assert facts.weights == 16000
    assert facts.memory(1) == 16000 + 16064
    assert facts.memory(3) == 3 * (16000 + 16064)
    assert facts_of(str(path), (4,)).memory(3) == 16000 + 3 * 16064  # one gear is static: one copy
