from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_files import node, onnx_model, save, scale_model, tensor

from ge_engine import weights
from ge_engine.model import Model
from ge_engine.skeleton import read_skeleton
from ops import ModelError, TensorSpec
from pipeline import Pipeline

BIG = np.arange(1000, dtype=np.float32).reshape(1, 1000)


def big_model(path: Path, **more: object) -> Path:
    x, y = tensor("x", ("batch", 1000)), tensor("y", ("batch", 1000))
    return save(path, [node("Add", ["x", "big"], ["y"])], [x], [y], {"big": BIG, "small": np.int64([3])}, **more)


def external_model(folder: Path, location: str, data: bytes = BIG.tobytes(), offset: int = 0) -> Path:
    model = onnx_model(
        [node("Add", ["x", "big"], ["y"])], [tensor("x", ("batch", 1000))], [tensor("y", ("batch", 1000))], {"big": BIG}
    )
    entry = model.graph.initializer[0]
    weights.refer(entry, location, offset, BIG.nbytes)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "data.bin").write_bytes(data)
    return folder / "model.onnx"


def test_a_skeleton_keeps_names_dims_and_small_values_and_refers_to_the_rest(tmp_path: Path) -> None:
    path = big_model(tmp_path / "m.onnx")
    big, small = read_skeleton(str(path)).model.graph.initializer
    assert (big.name, list(big.dims), big.data_type) == ("big", [1, 1000], TensorProto.FLOAT)
    assert not big.raw_data
    np.testing.assert_array_equal(weights.read(big), BIG)
    np.testing.assert_array_equal(numpy_helper.to_array(small), [3])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16", "uint8", "bool"])
def test_values_that_are_not_raw_bytes_are_found_again(tmp_path: Path, dtype: str) -> None:
    values = (np.arange(3000) % 100).astype(dtype)
    big = helper.make_tensor("big", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [3000], values)
    assert not big.raw_data
    model = onnx_model(
        [node("Identity", ["big"], ["unused"], name="n"), node("Identity", ["x"], ["y"])],
        [tensor("x", ("batch", 2))],
        [tensor("y", ("batch", 2))],
    )
    model.graph.initializer.append(big)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    skeleton = read_skeleton(str(path))
    assert skeleton.model.ByteSize() < 1000
    np.testing.assert_array_equal(weights.read(skeleton.model.graph.initializer[0]), values)


def test_weights_in_constants_subgraphs_and_functions_are_left_out_too(tmp_path: Path) -> None:
    def constant(name: str) -> onnx.NodeProto:
        return node("Constant", [], [name], value=numpy_helper.from_array(BIG, "value"))

    def branch(name: str) -> onnx.GraphProto:
        made = helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)
        return helper.make_graph([constant(f"{name}_out")], name, [], [made])

    function = helper.make_function(
        "local", "AddBig", ["a"], ["b"], [constant("c"), node("Add", ["a", "c"], ["b"])], [helper.make_opsetid("", 17)]
    )
    nodes = [
        node("If", ["flag"], ["chosen"], then_branch=branch("then"), else_branch=branch("else")),
        constant("plain"),
        node("Add", ["x", "chosen"], ["t"]),
        node("Add", ["t", "plain"], ["u"]),
        node("AddBig", ["u"], ["y"], domain="local"),
    ]
    x, y = tensor("x", ("batch", 1000)), tensor("y", ("batch", 1000))
    path = save(tmp_path / "m.onnx", nodes, [x], [y], {"flag": np.array(True)}, domains=["local"], functions=[function])
    skeleton = read_skeleton(str(path))
    assert skeleton.model.ByteSize() < 2500 < path.stat().st_size
    heavy = [entry for entry in skeleton.model.graph.initializer if weights.is_heavy(entry)]
    assert len(heavy) == 4
    assert not skeleton.model.functions
    for entry in heavy:
        np.testing.assert_array_equal(weights.read(entry), BIG)


def test_the_weights_of_branches_are_theirs_alone_and_left_out_too(tmp_path: Path) -> None:
    """Both branches call theirs w; a light one stays where it is."""

    def branch(name: str, weight: Any) -> onnx.GraphProto:
        return helper.make_graph(
            [node("Mul", ["x", "w"], [f"{name}_out"])],
            name,
            [],
            [tensor(f"{name}_out", ("batch", 1000))],
            [numpy_helper.from_array(weight, "w")],
        )

    nodes = [
        node("ReduceMax", ["x"], ["most"], keepdims=0),
        node("Greater", ["most", "zero"], ["flag"]),
        node("If", ["flag"], ["y"], then_branch=branch("then", BIG), else_branch=branch("else", np.float32([-1]))),
    ]
    x, y = tensor("x", ("batch", 1000)), tensor("y", ("batch", 1000))
    path = save(tmp_path / "m.onnx", nodes, [x], [y], {"zero": np.float32(0)})
    skeleton = read_skeleton(str(path))
    assert skeleton.model.ByteSize() < 1500
    pipeline = Pipeline("branches")
    pipeline.output(y=Model(path)(pipeline.input("x", TensorSpec("float32", (1000,)))))
    ones = np.ones(1000, np.float32)
    with pipeline.compile(gears=(1, 2)).session() as session:
        np.testing.assert_array_equal(session.run(x=ones)["y"], BIG[0])
        np.testing.assert_array_equal(session.run(x=-ones)["y"], ones)


def test_initializers_listed_as_inputs_are_not_inputs(tmp_path: Path) -> None:
    x, y, factor = tensor("x", ("batch", 4)), tensor("y", ("batch", 4)), tensor("factor", (1,))
    path = save(
        tmp_path / "m.onnx",
        [node("Mul", ["x", "factor"], ["y"])],
        [factor, x],
        [y],
        {"factor": np.float32([2])},
        opset=9,
        ir=3,
    )
    assert [value.name for value in read_skeleton(str(path)).model.graph.input] == ["x"]


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx", dims=("batch", 4))
    first = read_skeleton(str(path))
    assert read_skeleton(str(path)) is first
    scale_model(path, dims=("batch", 55))
    assert read_skeleton(str(path)) is not first


def test_external_data_is_found_beside_the_model(tmp_path: Path) -> None:
    path = external_model(tmp_path, "data.bin", b"?" * 8 + BIG.tobytes(), offset=8)
    np.testing.assert_array_equal(weights.read(read_skeleton(str(path)).model.graph.initializer[0]), BIG)


def test_small_external_values_are_read_at_once(tmp_path: Path) -> None:
    model = onnx_model(
        [node("Reshape", ["x", "shape"], ["y"])],
        [tensor("x", ("batch", 4))],
        [tensor("y", ("batch", 2, 2))],
        {"shape": np.int64([0, 2, 2])},
    )
    weights.refer(model.graph.initializer[0], "data.bin", 0, 24)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "data.bin").write_bytes(np.int64([0, 2, 2]).tobytes())
    entry = read_skeleton(str(tmp_path / "m.onnx")).model.graph.initializer[0]
    np.testing.assert_array_equal(numpy_helper.to_array(entry), [0, 2, 2])


@pytest.mark.parametrize("location", ["../data.bin", "/etc/passwd", "link.bin", "deep/../../data.bin", ""])
def test_external_data_outside_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "data.bin").write_bytes(BIG.tobytes())
    folder = tmp_path / "models"
    folder.mkdir()
    os.symlink(tmp_path / "data.bin", folder / "link.bin")
    path = external_model(folder, location)
    with pytest.raises(ModelError, match="outside the model's folder"):
        read_skeleton(str(path))


def test_missing_external_data_is_named(tmp_path: Path) -> None:
    path = external_model(tmp_path, "weights.data")
    with pytest.raises(ModelError, match=r"external data 'weights\.data' is missing"):
        read_skeleton(str(path))


def test_external_data_that_is_too_short_is_refused_with_both_sizes(tmp_path: Path) -> None:
    path = external_model(tmp_path, "data.bin", BIG.tobytes()[:-4])
    with pytest.raises(ModelError, match=r"'big' is bytes 0\+4000 of data.bin, which has 3996 bytes"):
        read_skeleton(str(path))


def test_a_missing_file_gets_a_near_miss_or_a_list(tmp_path: Path) -> None:
    scale_model(tmp_path / "yolo11n.onnx")
    with pytest.raises(ModelError, match=r"there is no file .*yolo1n\.onnx") as error:
        read_skeleton(str(tmp_path / "yolo1n.onnx"))
    assert error.value.fix == "did you mean 'yolo11n.onnx'?"
    with pytest.raises(ModelError) as error:
        read_skeleton(str(tmp_path / "clip.onnx"))
    assert error.value.fix == "use yolo11n.onnx"
    with pytest.raises(ModelError, match="nor a folder"):
        read_skeleton(str(tmp_path / "no" / "clip.onnx"))


def test_what_is_not_an_onnx_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with pytest.raises(ModelError, match="is a folder"):
        read_skeleton(str(tmp_path))
    for data, message in (
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" * 10, "is not an ONNX model"),
        (b"\x08\x08", "is not"),
    ):
        path.write_bytes(data)
        with pytest.raises(ModelError, match=message):
            read_skeleton(str(path))


def test_what_onnx_runtime_cannot_run_is_refused_with_a_fix(tmp_path: Path) -> None:
    for more, message, fix in (
        ({"ir": 99}, "IR version", "older IR"),
        ({"opset": 99}, "[Oo]pset", "an opset that onnxruntime"),
    ):
        path = scale_model(tmp_path / f"{fix}.onnx", **more)
        with pytest.raises(ModelError, match=message) as error:
            read_skeleton(str(path))
        assert fix in error.value.fix
    x, y = tensor("x", ("batch", 4)), tensor("y", ("batch", 4))
    path = save(tmp_path / "op.onnx", [node("Frobnicate", ["x"], ["y"], domain="mine")], [x], [y], domains=["mine"])
    with pytest.raises(ModelError, match="Frobnicate") as error:
        read_skeleton(str(path))
    assert "standard operators" in error.value.fix


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    data = big_model(tmp_path / "whole.onnx").read_bytes()
    path = tmp_path / "cut.onnx"
    for length in [*range(1, 120), *range(120, len(data), 97)]:
        path.write_bytes(data[:length])
        with pytest.raises(ModelError):
            read_skeleton(str(path))


def test_a_file_that_breaks_off_inside_a_part_that_was_copied_is_refused(tmp_path: Path) -> None:
    data = big_model(tmp_path / "m.onnx").read_bytes()
    (tmp_path / "m.onnx").write_bytes(data + b"\x0c")  # a field of a kind that ONNX does not have
    with pytest.raises(ModelError, match="wire type 4"):
        read_skeleton(str(tmp_path / "m.onnx"))


FUZZ = """
import random, sys
from pathlib import Path
from ge_engine.model import Model
from ops import GepipeError, TensorSpec
data = Path(sys.argv[1]).read_bytes()
path = Path(sys.argv[1]).with_name("fuzzed.onnx")
chance = random.Random(7)
sound = 0
for _ in range(400):
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(len(damaged))
        kind = chance.randrange(3)
        if kind == 0:
            damaged[position] ^= 1 << chance.randrange(8)
        elif kind == 1:
            damaged[position] = chance.randrange(256)
        else:
            del damaged[position : position + chance.randint(1, 8)]
    path.write_bytes(damaged)
    try:
        Model(str(path)).infer(TensorSpec("float32", (3, 8, 8)))
        sound += 1
    except GepipeError:
        pass
print("sound", sound)
"""


def test_damaged_files_are_refused_or_sound_and_never_crash(tmp_path: Path) -> None:
    weights_ = {
        "w": np.random.default_rng(0).random((4, 3, 3, 3), np.float32),
        "two": np.int64([2]),
        "zero": np.int64([0]),
        "rest": np.int64([-1]),
    }
    nodes = [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("Shape", ["c"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Concat", ["n", "rest"], ["target"], axis=0),
        node("Reshape", ["c", "target"], ["y"]),
    ]
    x, y = tensor("x", ("batch", 3, "h", "w")), tensor("y", ("batch", "k"))
    path = save(tmp_path / "m.onnx", nodes, [x], [y], weights_)
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("sound ")
    assert not done.stderr


MEASURE = """
import resource, sys, time
from ge_engine import Model
from ops import TensorSpec
from pipeline import Pipeline
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def validated(path, shape):
    pipeline = Pipeline("p")
    pipeline.output(y=Model(path)(pipeline.input("x", TensorSpec("float32", shape))))
    return pipeline.validate().outputs[0].spec
validated(sys.argv[1], (4,))
before, start = peak(), time.perf_counter()
spec = validated(sys.argv[2], (3, 224, 224))
print(spec, time.perf_counter() - start, peak() - before)
"""


def test_a_model_of_340_mb_is_validated_in_half_a_second_and_100_mb(tmp_path: Path) -> None:
    small, large = scale_model(tmp_path / "small.onnx"), vit_b16(tmp_path / "vit.onnx")
    assert large.stat().st_size > 340e6
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), str(large)], capture_output=True, text=True, check=True
    )
    spec, seconds, megabytes = done.stdout.split()
    assert spec == "float32[1000]"
    assert float(seconds) < 0.5
    assert float(megabytes) < 100


def test_a_model_of_3_gb_is_read_as_fast_as_a_small_one(tmp_path: Path) -> None:
    """Its weights lie in a file of holes; nothing may read them."""
    model = onnx_model(
        [node("Gather", ["table", "ids"], ["y"])], [tensor("ids", ("n", 8), np.int64)], [tensor("y", None)]
    )
    table = model.graph.initializer.add(name="table", dims=[1_000_000, 768], data_type=1)
    weights.refer(table, "table.bin", 0, 4 * 768_000_000)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with open(tmp_path / "table.bin", "wb") as file:
        file.truncate(4 * 768_000_000)
    start = time.perf_counter()
    (spec,) = Model(str(tmp_path / "m.onnx")).infer(TensorSpec("int64", (8,)))
    assert str(spec) == "float32[8,768]"
    assert time.perf_counter() - start < 0.5


def vit_b16(path: Path) -> Path:
    """The shapes of ViT-B/16: 12 layers of width 768 over 196 patches and a class token."""
    block = random.Random(0).randbytes(4 * 768 * 3072)
    nodes, initializers = [], []

    def weight(name: str, *dims: int) -> str:
        nbytes = 4 * int(np.prod(dims))
        initializers.append(TensorProto(name=name, dims=dims, data_type=1, raw_data=block[:nbytes]))
        return name

    def linear(x: str, name: str, into: int, out: int) -> str:
        nodes.append(node("MatMul", [x, weight(f"{name}.w", into, out)], [f"{name}.m"]))
        nodes.append(node("Add", [f"{name}.m", weight(f"{name}.b", out)], [name]))
        return name

    def norm(x: str, name: str) -> str:
        nodes.append(node("LayerNormalization", [x, weight(f"{name}.s", 768), weight(f"{name}.o", 768)], [name]))
        return name

    for name, values in {"grid": [0, 768, 196], "heads": [0, 197, 12, 64], "joined": [0, 197, 768]}.items():
        initializers.append(numpy_helper.from_array(np.int64(values), name))
    nodes.append(node("Conv", ["x", weight("patch", 768, 3, 16, 16)], ["p"], strides=[16, 16]))
    nodes += [node("Reshape", ["p", "grid"], ["q"]), node("Transpose", ["q"], ["r"], perm=[0, 2, 1])]
    initializers.append(numpy_helper.from_array(np.int64([1, 1, 1]), "ones"))
    nodes += [node("Pad", ["r", "pads"], ["s"]), node("Add", ["s", weight("position", 1, 197, 768)], ["h"])]
    initializers.append(numpy_helper.from_array(np.int64([0, 1, 0, 0, 0, 0]), "pads"))
    x = "h"
    for layer in range(12):
        n = norm(x, f"l{layer}.n1")
        for part in "qkv":
            nodes.append(node("Reshape", [linear(n, f"l{layer}.{part}", 768, 768), "heads"], [f"l{layer}.{part}4"]))
            perm = [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]
            nodes.append(node("Transpose", [f"l{layer}.{part}4"], [f"l{layer}.{part}t"], perm=perm))
        nodes.append(node("MatMul", [f"l{layer}.qt", f"l{layer}.kt"], [f"l{layer}.a"]))
        nodes.append(node("Softmax", [f"l{layer}.a"], [f"l{layer}.sm"]))
        nodes.append(node("MatMul", [f"l{layer}.sm", f"l{layer}.vt"], [f"l{layer}.av"]))
        nodes.append(node("Transpose", [f"l{layer}.av"], [f"l{layer}.at"], perm=[0, 2, 1, 3]))
        nodes.append(node("Reshape", [f"l{layer}.at", "joined"], [f"l{layer}.j"]))
        nodes.append(node("Add", [x, linear(f"l{layer}.j", f"l{layer}.o", 768, 768)], [f"l{layer}.x1"]))
        up = linear(norm(f"l{layer}.x1", f"l{layer}.n2"), f"l{layer}.up", 768, 3072)
        nodes.append(node("Relu", [up], [f"l{layer}.g"]))
        nodes.append(node("Add", [f"l{layer}.x1", linear(f"l{layer}.g", f"l{layer}.dn", 3072, 768)], [f"l{layer}.x2"]))
        x = f"l{layer}.x2"
    nodes.append(node("ReduceMean", [norm(x, "last")], ["mean"], axes=[1], keepdims=0))
    logits = linear("mean", "logits", 768, 1000)
    graph = helper.make_graph(
        nodes, "vit", [tensor("x", ("batch", 3, 224, 224))], [tensor(logits, ("batch", 1000))], initializers
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def test_a_path_that_may_never_end_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    for path in (str(tmp_path / "pipe.onnx"), "/dev/zero"):
        with pytest.raises(ModelError, match="is not a file"):
            read_skeleton(path)


def test_a_link_to_nowhere_and_a_path_with_a_nul_are_missing_files(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").symlink_to(tmp_path / "gone.onnx")
    with pytest.raises(ModelError, match=r"m\.onnx is a link to what is not there"):
        read_skeleton(str(tmp_path / "m.onnx"))
    with pytest.raises(ModelError, match="there is no file"):
        read_skeleton(str(tmp_path / "m\0.onnx"))


@pytest.mark.parametrize("output", ["x", "c"])
def test_an_output_that_no_node_makes_is_refused(tmp_path: Path, output: str) -> None:
    x, y, handed_on = tensor("x", ("n", 4)), tensor("y", ("n", 4)), tensor(output, ("n", 4))
    path = save(
        tmp_path / "m.onnx", [node("Relu", ["x"], ["y"])], [x], [y, handed_on], {"c": np.float32([[1, 2, 3, 4]])}
    )
    with pytest.raises(ModelError, match=f"its output '{output}' is an input or a weight, which no node makes"):
        read_skeleton(str(path))


def test_an_output_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    y = tensor("y", ("n", 4))
    path = save(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"])], [tensor("x", ("n", 4))], [y, y])
    with pytest.raises(ModelError, match="it lists the output 'y' twice"):
        read_skeleton(str(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            r"m\.onnx is a pointer of Git LFS: the model itself was not fetched\nfix: fetch it: git lfs pull",
        ),
        ("\n<!DOCTYPE html><html>Not found", r"m\.onnx is a web page, not a model\nfix: download the file itself"),
    ],
)
def test_what_a_download_leaves_in_a_models_place_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "m.onnx").write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=message):
        read_skeleton(str(tmp_path / "m.onnx"))


def test_a_sparse_weight_is_named(tmp_path: Path) -> None:
    """ONNX's shape inference takes it for a scalar."""
    model = onnx_model([node("MatMul", ["x", "w"], ["y"])], [tensor("x", ("n", 3))], [tensor("y", ("n", 3))])
    values, indices = numpy_helper.from_array(np.float32([1, 2]), "w"), numpy_helper.from_array(np.array([0, 4]), "i")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3, 3]))
    onnx.save(model, str(tmp_path / "m.onnx"))
    with pytest.raises(ModelError, match="its weight 'w' is a sparse_initializer, of which no shape can be inferred"):
        read_skeleton(str(tmp_path / "m.onnx"))
