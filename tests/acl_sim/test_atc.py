from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import onnx
import pytest
from acl_sim.fixtures import put_atc_on_path
from acl_sim.om import read
from atc_sim.main import main
from card import SOC, WIDTH, atc, onnx_file
from onnx import TensorProto, helper

from ge_engine.npu_ge.gears import Gears
from ge_engine.npu_ge.options import Options
from ge_engine.npu_ge.ports import Port
from ops import SpecError

SHAPE = f"--input_shape=x:-1,{WIDTH}"
BATCHES = "--dynamic_batch_size=1,2"


def image_file(folder: Path) -> Path:
    """y = x + x, an image of open height and width."""
    value = [helper.make_tensor_value_info(key, TensorProto.FLOAT, [1, 3, "h", "w"]) for key in "xy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "image", value[:1], value[1:])
    path = folder / "image.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        # Gears against each other.
        ((SHAPE, BATCHES, "--dynamic_image_size=2,2;4,4"), "E10009"),
        ((SHAPE, BATCHES, "--dynamic_dims=1;2", "--input_format=ND"), "E10009"),
        ((SHAPE, BATCHES, "--input_shape_range=x:[1~2,6]"), "E10009"),
        ((SHAPE, "--dynamic_image_size=2,2;4,4", "--dynamic_dims=1;2", "--input_format=ND"), "E10009"),
        ((SHAPE, "--dynamic_dims=1;2", "--input_shape_range=x:[1~2,6]", "--input_format=ND"), "E10009"),
        ((SHAPE, "--dynamic_image_size=2,2;4,4", "--input_shape_range=x:[1~2,6]"), "E10009"),
        ((SHAPE, "--dynamic_dims=1;2"), "E10001"),
        ((SHAPE, "--dynamic_dims=1;2", "--input_format=NCHW"), "E10001"),
        ((SHAPE, "--dynamic_dims=1;2", "--input_format=ND", "--insert_op_conf=aipp.cfg"), "E10001"),
        # Gears.
        ((SHAPE, "--dynamic_batch_size=1"), "E10035"),
        ((SHAPE, f"--dynamic_batch_size={','.join(map(str, range(1, 102)))}"), "E10036"),
        ((SHAPE, "--dynamic_dims=1;2,3", "--input_format=ND"), "E10003"),
        ((SHAPE, "--dynamic_batch_size=0,1"), "E10038"),
        ((SHAPE, "--dynamic_batch_size=2,1,2"), "E10039"),
        ((SHAPE, "--dynamic_batch_size=1,2049"), "E10001"),
        ((SHAPE, "--dynamic_batch_size=1, 2"), "E10003"),
        ((SHAPE, "--dynamic_batch_size=1;2"), "E10003"),
        ((SHAPE, "--dynamic_dims=1;x", "--input_format=ND"), "E10001"),
        ((SHAPE, "--dynamic_dims=1,2;3,4", "--input_format=ND"), "E10003"),
        (("--input_shape=x:-1,-1", "--dynamic_dims=1;2", "--input_format=ND"), "E10003"),
        # Gears against the shape.
        ((f"--input_shape=x:2,{WIDTH}", BATCHES), "E10031"),
        (("--input_shape=x:-1,-1", BATCHES), "E10018"),
        (("--input_shape=x:", BATCHES), "E10012"),
        ((BATCHES,), "E10001"),
        ((SHAPE, "--dynamic_image_size=2,2;4,4"), "E10019"),
        ((f"--input_shape=x:2,{WIDTH}", "--dynamic_dims=1;2", "--input_format=ND"), "E10001"),
        ((f"--input_shape=x:1~4,{WIDTH}", BATCHES), "E10040"),
        # The shape.
        ((SHAPE,), "E10011"),
        (("--input_shape=x:0,6",), "E10011"),
        (("--input_shape=x,6",), "E10002"),
        (("--input_shape=:1,6",), "E10002"),
        (("--input_shape=x:1,6;x:1,6",), "E10002"),
        (("--input_shape=x:1.5,6",), "E10002"),
        (("--input_shape=x:one,6",), "E10002"),
        (("--input_shape=z:1,6",), "E10016"),
        (("--input_shape=x:1,6,1",), "E10049"),
        (("--input_shape=x:1,7",), "E10050"),
        ((), "E10001"),  # an open dim, and nothing says what it is
        # Precision and cores.
        ((SHAPE, BATCHES, "--precision_mode=force_fp16", "--precision_mode_v2=fp16"), "E10056"),
        ((SHAPE, BATCHES, "--precision_mode_v2=fp32"), "E10001"),
        ((SHAPE, BATCHES, "--precision_mode=fp16"), "E10001"),
        ((SHAPE, BATCHES, "--precision_mode_v2=mixed_hif8"), "E10001"),
        ((SHAPE, BATCHES, "--aicore_num=12"), "E10001"),
        ((SHAPE, BATCHES, "--aicore_num=12|"), "E10001"),
        ((SHAPE, BATCHES, "--aicore_num=012|10"), "E10001"),
        ((SHAPE, BATCHES, "--aicore_num=12 |10"), "E10001"),
        ((SHAPE, BATCHES, "--aicore_num=21|10"), "E10001"),
        ((SHAPE, BATCHES, "--op_compiler_cache_mode=on"), "E10001"),
        ((SHAPE, BATCHES, "--op_select_implmode=fast"), "E10001"),
        ((SHAPE, BATCHES, "--optypelist_for_implmode=Pooling"), "E10001"),
        ((SHAPE, BATCHES, "--input_format=NHWC"), "E10001"),
        ((SHAPE, BATCHES, "--log=loud"), "E10010"),
        ((SHAPE, BATCHES, "--deterministic=yes"), "E10006"),
        ((SHAPE, BATCHES, "--output_type=FP64"), "E10001"),
        ((SHAPE, BATCHES, "--insert_op_conf=aipp.cfg", "--input_fp16_nodes=x"), "E10034"),
        ((SHAPE, BATCHES, "--insert_op_conf=nowhere.cfg"), "E10001"),
        ((SHAPE, BATCHES, "--out_nodes=y:0"), "E10055"),
    ],
)
def test_a_command_line_is_refused_with_its_code(tmp_path: Path, flags: tuple[str, ...], code: str) -> None:
    text = atc(onnx_file(tmp_path), *flags)
    assert "ATC run failed" in text
    assert text.splitlines()[-1].startswith(f"{code}: ")
    assert not (tmp_path / "double.om").exists()


@pytest.mark.parametrize(
    ("without", "instead", "code"),
    [
        ("model", "", "E10054"),
        ("output", "", "E10054"),
        ("soc_version", "", "E10054"),
        ("framework", "", "E10007"),
        ("framework", "--framework=6", "E10007"),
        ("framework", "--framework=3", "E10055"),
        ("framework", "--framework=5 --mode=1", "E10055"),
        ("soc_version", "--soc_version=910B4", "E10001"),
        ("model", "--model=nowhere.onnx", "E10001"),
        ("output", "--output=a+b", "E10001"),
        ("output", "--output=nowhere/y", "E10001"),
        ("output", "--output=folder/", "E10022"),
    ],
)
def test_what_every_command_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], without: str, instead: str, code: str
) -> None:
    model = onnx_file(tmp_path)
    flags = {"model": model, "framework": 5, "output": tmp_path / "y", "soc_version": SOC}
    command = [f"--{name}={value}" for name, value in flags.items() if name != without]
    assert main([*command, SHAPE, BATCHES, *instead.split()]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"{code}: ")


@pytest.mark.parametrize("flag", ["--dynamic_batchsize=1,2", "-model=x", "model"])
def test_an_unknown_flag_is_refused(tmp_path: Path, flag: str) -> None:
    assert "unknown command line flag" in atc(onnx_file(tmp_path), flag)


@pytest.mark.parametrize(
    ("opset", "op", "name"),
    [(19, "Add", "ai.onnx::19::Add"), (20, "Gelu", "ai.onnx::20::Gelu"), (10, "Add", "ai.onnx::10::Add")],
)
def test_an_operator_without_a_parser_is_named(tmp_path: Path, opset: int, op: str, name: str) -> None:
    model = onnx_file(tmp_path, opset=opset) if op == "Add" else _gelu(tmp_path)
    assert f"E16002: No ONNX parser is registered for optype {name}." in atc(model, SHAPE, BATCHES)


def _gelu(folder: Path) -> Path:
    value = [helper.make_tensor_value_info(key, TensorProto.FLOAT, ["batch", WIDTH]) for key in "xy"]
    graph = helper.make_graph([helper.make_node("Gelu", ["x"], ["y"])], "gelu", value[:1], value[1:])
    path = folder / "gelu.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


def test_a_path_has_only_characters_that_atc_takes(tmp_path: Path) -> None:
    folder = tmp_path / "a model"
    folder.mkdir()
    assert f"E10001: Value {folder / 'double.onnx'} for parameter --model" in atc(onnx_file(folder), SHAPE, BATCHES)
    folder = tmp_path / "模型"
    folder.mkdir()
    assert "ATC run success" in atc(onnx_file(folder), SHAPE, BATCHES)


def test_aipp_does_not_go_with_dims_and_is_not_simulated(tmp_path: Path) -> None:
    config = tmp_path / "aipp.cfg"
    config.write_text("aipp_op { aipp_mode: static }", encoding="utf-8")
    aipp = f"--insert_op_conf={config}"
    text = atc(onnx_file(tmp_path), SHAPE, "--dynamic_dims=1;2", "--input_format=ND", aipp)
    assert f"E10001: Value {config} for parameter --insert_op_conf is invalid." in text
    assert "E10055" in atc(onnx_file(tmp_path), SHAPE, BATCHES, aipp)


def test_a_file_that_is_no_onnx_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "double.onnx"
    path.write_bytes(b"\xff\xff")
    assert f"E10041: Failed to load the model from {path}." in atc(path)


@pytest.mark.parametrize(
    ("flags", "kind", "shapes"),
    [
        (("--input_shape=x:3,6",), "static", [(3, 6)]),
        ((SHAPE, BATCHES), "batch", [(1, 6), (2, 6)]),
        ((SHAPE, "--dynamic_dims=4;2;", "--input_format=ND"), "dims", [(4, 6), (2, 6)]),
        ((SHAPE, BATCHES, "--precision_mode_v2=mixed_bfloat16", "--aicore_num=12|10"), "batch", [(1, 6), (2, 6)]),
    ],
)
def test_what_is_accepted_has_its_gears_in_the_file(
    tmp_path: Path, flags: tuple[str, ...], kind: str, shapes: list[tuple[int, ...]]
) -> None:
    assert "ATC run success" in atc(onnx_file(tmp_path), *flags)
    om = read(str(tmp_path / "double.om"))
    assert om is not None
    assert (om.kind, list(om.inputs[0].shapes), list(om.outputs[0].shapes)) == (kind, shapes, shapes)
    assert (om.soc, om.inputs[0].dtype) == (SOC, "float32")


def test_image_sizes(tmp_path: Path) -> None:
    model = image_file(tmp_path)
    assert "ATC run success" in atc(model, "--input_shape=x:1,3,-1,-1", "--dynamic_image_size=4,6;8,2")
    om = read(str(tmp_path / "image.om"))
    assert om is not None
    assert om.outputs[0].shapes == ((1, 3, 4, 6), (1, 3, 8, 2))
    wrong: list[tuple[tuple[str, ...], str]] = [
        (("--input_shape=x:1,3,-1,-1", "--dynamic_image_size=4,6;8"), "E10020"),
        (("--input_shape=x:1,3,-1,4", "--dynamic_image_size=4,6;8,2"), "E10019"),
        (("--input_shape=x:1,3,-1,-1", "--dynamic_image_size=4,6;8x2"), "E10003"),
        (("--input_shape=x:1,3,-1,-1", "--dynamic_image_size=4,6;8,2", "--input_format=ND"), "E10019"),
    ]
    for flags, code in wrong:
        assert f"{code}: " in atc(model, *flags)


def test_a_chip_of_the_older_kind_takes_its_cores_alone(tmp_path: Path) -> None:
    flags = (SHAPE, BATCHES, "--aicore_num=8|")
    assert "ATC run success" in atc(onnx_file(tmp_path), *flags, soc="Ascend310P3")
    assert "E10001" in atc(onnx_file(tmp_path), SHAPE, BATCHES, "--precision_mode_v2=mixed_bfloat16", soc="Ascend310P3")


def test_s17_the_two_ways_to_give_gears_refuse_the_same_text(tmp_path: Path) -> None:
    """Online, GE takes them as options, which the stand-in for npu_ge reads; offline atc does."""
    for text, code in (("1", "E10035"), ("0;1", "E10038"), ("1;1", "E10039")):
        options = Options(levels=_levels(f"x:-1,{WIDTH}", text))
        with pytest.raises(SpecError, match=f"{code}: "):
            Gears.of(options, [_port("x")])
        assert f"{code}: " in atc(onnx_file(tmp_path), SHAPE, f"--dynamic_dims={text}", "--input_format=ND")


def test_s17_online_matches_by_place_and_offline_by_name(tmp_path: Path) -> None:
    shape = f"x:-1,{WIDTH};b:-1,{WIDTH}"
    with pytest.raises(SpecError, match=r"E10001: ge.inputShape lists x, b; the inputs are b, x"):
        Gears.of(Options(levels=_levels(shape, "1,1;2,2")), [_port("x"), _port("b")])
    value = [helper.make_tensor_value_info(key, TensorProto.FLOAT, ["batch", WIDTH]) for key in "bxy"]
    graph = helper.make_graph([helper.make_node("Add", ["b", "x"], ["y"])], "two", value[:2], value[2:])
    path = tmp_path / "two.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    assert "ATC run success" in atc(path, f"--input_shape={shape}", BATCHES)


def test_s17_a_shape_that_is_no_gear_fails_online(tmp_path: Path) -> None:
    gears = Gears.of(Options(levels=_levels(f"x:-1,{WIDTH}", "1;2")), [_port("x")])
    assert gears is not None
    with pytest.raises(SpecError, match="E13025: The input tensor dimension"):
        gears.check([(3, WIDTH)], [_port("x")])


def _levels(shape: str, dims: str) -> Any:
    graph = {"ge.inputShape": shape, "ge.dynamicDims": dims, "ge.dynamicNodeType": "1"}
    return {"session": {}, "graph": graph, "global": {}, "ge": {}}


def _port(name: str) -> Port:
    return Port(name, "float32", (-1, WIDTH))


def test_the_command_is_on_path_and_can_be_told_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    put_atc_on_path(monkeypatch, log=str(log))
    model = onnx_file(tmp_path)
    output = f"--output={tmp_path / 'double'}"
    command = ["atc", "--model", str(model), "--framework=5", output, f"--soc_version={SOC}", SHAPE, BATCHES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "ATC run success, welcome to the next use.")
    assert BATCHES in log.read_text(encoding="utf-8")
    put_atc_on_path(monkeypatch, fail="E19999: opp version of the model does not match")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "E19999" in done.stdout


def test_an_output_whose_size_the_data_decides_is_refused(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", WIDTH])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [2, "found"])
    graph = helper.make_graph([helper.make_node("NonZero", ["x"], ["y"])], "found", [x], [y])
    path = tmp_path / "found.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    assert "E10055: The operation is not supported. Reason: NonZero in a graph with gears" in atc(path, SHAPE, BATCHES)
    assert "E10055: The operation is not supported. Reason: the simulator" in atc(path, f"--input_shape=x:2,{WIDTH}")
