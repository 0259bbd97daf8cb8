from __future__ import annotations

import re
from pathlib import Path

import pytest
from onnx import TensorProto, helper
from onnx_files import f32, node, save, scale_model, tensor, two_inputs

from ge_engine.builder import GraphBuilder
from ge_engine.model import Model
from ops import Graded, SpecError, TensorSpec


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


def test_a_size_gear_for_a_fixed_dim_is_refused(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx", dims=("n", 3, 640, 640))
    with pytest.raises(SpecError, match=r"dim 2 takes the sizes 640, 480, .*wants"):
        Model(str(path)).infer(f32(3, 640, Graded("W", (640, 480))))


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


def test_bfloat16_at_the_border_is_refused(tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(name, TensorProto.BFLOAT16, ["n", 4]) for name in "xy")
    path = save(tmp_path / "m.onnx", [node("Identity", ["x"], ["y"])], [x], [y])
    with pytest.raises(SpecError, match="input 'x' is bfloat16, which numpy does not have"):
        Model(str(path)).infer(TensorSpec("bfloat16", (4,)))
