from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_files import f32, node, save, scale_model, tensor

from ge_engine.model import Model
from ops import Graded, SpecError, TensorSpec


def pool_model(path: Path) -> Path:
    """A picture halved twice, and joined with its own size again: takes multiples of 4."""
    nodes = [
        node("AveragePool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        node("AveragePool", ["half"], ["quarter"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["quarter", "", "scales"], ["up"]),
        node("Concat", ["half", "up"], ["y"], axis=1),
    ]
    dims = ("batch", 3, "height", "width")
    return save(
        path, nodes, [tensor("x", dims)], [tensor("y", ("batch", 6, "h2", "w2"))], {"scales": np.float32([1, 1, 2, 2])}
    )


def test_size_gears_make_graded_outputs(tmp_path: Path) -> None:
    model = Model(str(pool_model(tmp_path / "m.onnx")))
    height, width = Graded("H", (64, 64)), Graded("W", (64, 48))
    (spec,) = model.infer(f32(3, height, width))
    assert spec == f32(6, 32, Graded("w2", (32, 24)))


def test_an_axis_of_the_size_of_an_inputs_has_its_name_and_no_exporters(tmp_path: Path) -> None:
    """torch.onnx writes the operator, the output and the number of the axis, where nobody has named it."""
    nodes = [node("Relu", ["x"], ["mask"]), node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2])]
    outputs = [
        tensor("mask", ("n", 3, "Relumask_dim_2", "Relumask_dim_3")),
        tensor("half", ("n", 3, "MaxPoolhalf_dim_2", "rows")),
    ]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("n", 3, "h", "w"))], outputs)
    height, width = Graded("H", (64, 32)), Graded("W", (64, 48))
    mask, half = Model(str(path)).infer(f32(3, height, width))
    assert mask == f32(3, height, width)
    assert half == f32(3, Graded("half_1", (32, 16)), Graded("rows", (32, 24)))
    square = Graded("W", (64, 32))  # as high as wide each time: it is told from H by its place
    mask, _ = Model(str(path)).infer(f32(3, height, square))
    assert mask == f32(3, height, square)


def test_a_size_that_the_model_cannot_take_is_refused_with_the_reason(tmp_path: Path) -> None:
    model = Model(str(pool_model(tmp_path / "m.onnx")))
    with pytest.raises(SpecError, match=r"cannot take x \[3, 64, 42\] a sample: .*Concat") as error:
        model.infer(f32(3, Graded("H", (64, 64)), Graded("W", (64, 42))))
    assert error.value.input == "x"
    assert "multiples of its stride" in error.value.fix
    with pytest.raises(SpecError, match=r"cannot take x \[3, 42, 64\]"):
        model.infer(f32(3, 42, 64))


def test_gears_of_two_lengths_are_refused(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx", dims=("n", "h", "w"))
    with pytest.raises(SpecError, match="2 and 3 sizes"):
        Model(str(path)).infer(f32(Graded("H", (1, 2)), Graded("W", (1, 2, 3))))


def test_a_model_that_only_says_that_it_takes_any_batch_is_found_out(tmp_path: Path) -> None:
    nodes = [node("Reshape", ["x", "shape"], ["r"]), node("Concat", ["x", "r"], ["y"], axis=1)]
    x, y = tensor("x", ("batch", 2, 3)), tensor("y", ("batch", 4, 3))
    path = save(tmp_path / "m.onnx", nodes, [x], [y], {"shape": np.int64([1, 2, 3])})
    with pytest.raises(SpecError, match=r"takes one sample only, though its batch axis is dynamic: .*Concat") as error:
        Model(str(path)).infer(f32(2, 3))
    assert "export it" in error.value.fix


def test_outputs_without_a_batch_axis_are_refused(tmp_path: Path) -> None:
    x = tensor("x", ("batch", 4))
    for op, attributes, dims, message in (
        ("ReduceSum", {"keepdims": 0}, (), "a scalar"),
        ("Transpose", {}, (4, "batch"), "first axis is not the batch"),
        ("Flatten", {"axis": 0}, (1, "n"), "first axis is not the batch"),
    ):
        path = save(tmp_path / f"{op}.onnx", [node(op, ["x"], ["y"], **attributes)], [x], [tensor("y", dims)])
        with pytest.raises(SpecError, match=f"output 'y' .*{message}"):
            Model(str(path)).infer(f32(4))


def test_an_output_that_grows_with_the_batch_is_refused(tmp_path: Path) -> None:
    nodes = [node("Transpose", ["x"], ["t"]), node("MatMul", ["x", "t"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("batch", 4))], [tensor("y", ("batch", "b2"))])
    with pytest.raises(SpecError, match="dim 0 grows with the batch"):
        Model(str(path)).infer(f32(4))


def test_dims_that_depend_on_data_keep_their_names(tmp_path: Path) -> None:
    nodes = [
        node("ReduceMax", ["x"], ["k"], keepdims=0),
        node("Cast", ["k"], ["whole"], to=7),
        node("Unsqueeze", ["whole", "zero"], ["ends"]),
        node("Slice", ["x", "zero", "ends", "one"], ["y"]),
        node("Identity", ["y"], ["z"]),
    ]
    x, y, z = tensor("x", ("batch", 4)), tensor("y", ("batch", "kept")), tensor("z", ("batch", None))
    path = save(tmp_path / "m.onnx", nodes, [x], [y, z], {"zero": np.int64([0]), "one": np.int64([1])})
    assert [str(spec) for spec in Model(str(path)).infer(f32(4))] == ["float32[kept]", "float32[z_0]"]


def test_shapes_computed_by_the_graph_are_found(tmp_path: Path) -> None:
    """batch and channels taken from Shape, the rest by arithmetic on floats: what exporters write."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "two"], ["h"]),
        node("Cast", ["h"], ["hf"], to=1),
        node("Mul", ["hf", "half"], ["hh"]),
        node("Floor", ["hh"], ["hl"]),
        node("Cast", ["hl"], ["hi"], to=7),
        node("Range", ["start", "hi0", "step"], ["r"]),
        node("Squeeze", ["hi"], ["hi0"]),
        node("Shape", ["r"], ["n"]),
        node("Gather", ["s", "zero"], ["b"]),
        node("Concat", ["b", "n", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    nodes[6], nodes[7] = nodes[7], nodes[6]
    weights = {
        "two": np.int64([2]),
        "zero": np.int64([0]),
        "half": np.float32([0.5]),
        "start": np.array(0, np.int64),
        "step": np.array(1, np.int64),
        "rest": np.int64([-1]),
    }
    x, y = tensor("x", ("batch", 3, "h", "w")), tensor("y", ("batch", "a", "b"))
    model = Model(str(save(tmp_path / "m.onnx", nodes, [x], [y], weights)))
    assert model.infer(f32(3, 9, 8)) == (f32(4, 54),)


def loop_model(path: Path, declared: int | str, given: int | str = 4) -> Path:
    """y = 8 x, by doubling it three times in a Loop: shape inference does not see through it."""
    dims = ["n", given]
    flag, count, state = (helper.make_tensor_value_info(*v) for v in (("c", 9, []), ("i", 7, []), ("s", 1, dims)))
    ends = [helper.make_tensor_value_info("d", 9, []), helper.make_tensor_value_info("t", 1, dims)]
    body = helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("Add", ["s", "s"], ["t"])], "body", [count, flag, state], ends
    )
    weights = {"times": np.int64(3), "go": np.bool_(True)}
    loop = node("Loop", ["times", "go", "x"], ["y"], body=body)
    return save(path, [loop], [tensor("x", ("n", given))], [tensor("y", ("n", declared))], weights)


def test_where_inference_is_blind_the_files_own_number_counts(tmp_path: Path) -> None:
    spec = TensorSpec("float32", (4,))
    assert Model(str(loop_model(tmp_path / "m.onnx", 4))).infer(spec) == (spec,)
    assert Model(str(loop_model(tmp_path / "k.onnx", "k"))).infer(spec) == (TensorSpec("float32", ("k",)),)


@pytest.mark.parametrize("declared", ["s0", "(2*s0 - 1)//2 + 1", "floor(s0/1)"])
def test_where_inference_is_blind_the_files_own_expression_counts(declared: str, tmp_path: Path) -> None:
    model = Model(str(loop_model(tmp_path / "m.onnx", declared, "s0")))
    assert model.infer(f32(6)) == (f32(6),)
    (spec,) = model.infer(f32(Graded("length", (6, 9))))
    assert [spec.at_gear(0), spec.at_gear(1)] == [(6,), (9,)]


def test_an_expression_of_what_nobody_knows_is_a_name(tmp_path: Path) -> None:
    model = Model(str(loop_model(tmp_path / "m.onnx", "s1//2", "s0")))
    assert [str(spec) for spec in model.infer(f32(6))] == ["float32[y_0]"]
