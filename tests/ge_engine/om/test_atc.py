from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from acl_sim.fixtures import put_atc_on_path

from ge_engine.devices import Settings
from ge_engine.gears import Gears
from ge_engine.om.atc import gear_flags, run_atc, setting_flags
from ge_engine.stage import StageGraph
from ops import DeviceError, Graded, TensorSpec


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> StageGraph:
    plan = tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 2))
    return plan.built["dense"].graph


def of_inputs(*inputs: tuple[str, TensorSpec]) -> StageGraph:
    return StageGraph("stage", (), inputs, (), {})


def test_batch_gears_are_a_list_and_the_batch_is_open() -> None:
    stage = of_inputs(("ids", TensorSpec("int64", (52,))), ("image", TensorSpec("float32", (3, 224, 224))))
    gears = list(Gears.of_batches((1, 2, 8)))
    assert gear_flags(stage, {"ids": "ids", "image": "image"}, gears) == [
        "--input_shape=ids:-1,52;image:-1,3,224,224",
        "--dynamic_batch_size=1,2,8",
    ]


def test_sizes_are_rows_of_what_is_open_in_the_order_of_the_inputs() -> None:
    high, wide = Graded("H", (32, 64)), Graded("W", (16, 48))
    stage = of_inputs(("x", TensorSpec("float32", (3, high, wide))), ("mask", TensorSpec("uint8", (wide,))))
    gears = list(Gears.of_specs([spec for _, spec in stage.inputs], (1,)))
    assert gear_flags(stage, {"x": "x", "mask": "input_1"}, gears) == [
        "--input_format=ND",
        "--input_shape=x:1,3,-1,-1;input_1:1,-1",
        "--dynamic_dims=32,16,16;64,48,48",
    ]


@pytest.mark.parametrize("gears", [tuple(range(1, 102)), (1, 2049)])
def test_more_gears_than_atc_takes_are_refused(gears: tuple[int, ...]) -> None:
    stage = of_inputs(("x", TensorSpec("float32", (8,))))
    with pytest.raises(DeviceError, match=f"has {len(gears)} gears, the largest {gears[-1]}") as error:
        gear_flags(stage, {"x": "x"}, list(Gears.of_batches(gears)))
    assert "100 gears at most, and a batch of 2048 at most" in error.value.fix


@pytest.mark.parametrize(
    ("settings", "flags"),
    [
        (Settings(), ["--precision_mode_v2=origin"]),
        (Settings(precision="fp16"), ["--precision_mode_v2=fp16"]),
        (Settings(precision={"dense": "fp16"}), ["--precision_mode_v2=fp16"]),
        (Settings(precision={"other": "fp16"}), ["--precision_mode_v2=origin"]),
        (
            Settings(cores="12|10"),
            ["--precision_mode_v2=origin", "--aicore_num=12|10", "--op_compiler_cache_mode=force"],
        ),
        (Settings(cores={"other": "12|10"}), ["--precision_mode_v2=origin"]),
    ],
    ids=str,
)
def test_precision_is_always_said_and_cores_where_they_are_set(
    stage: StageGraph, settings: Settings, flags: list[str]
) -> None:
    assert setting_flags(settings, stage) == flags


def test_models_of_one_stage_have_one_precision(tmp_path: Path) -> None:
    from ascend_cases import chain

    stage = next(iter(chain(tmp_path).compile(gears=(1,)).built.values())).graph
    with pytest.raises(DeviceError, match="joins models of the precision 'fp16', 'origin'") as error:
        setting_flags(Settings(precision={"dense_0": "fp16"}), stage)
    assert error.value.fix == "give its models one precision: they are one graph"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("E19010: No parser is registered for Op [Attention, optype [ai.onnx::23::Attention]].", "up to 18"),
        ("E19999: Inner Error! opp version of the model does not match", "op package"),
        ("E77777: something new", "look at atc's text"),
    ],
)
def test_what_atc_says_is_told_with_its_command_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, fix: str
) -> None:
    put_atc_on_path(monkeypatch, fail=text)
    with pytest.raises(DeviceError) as error:
        run_atc(tmp_path / "graph.onnx", ["--soc_version=Ascend910B4"], "dense")
    assert f"stage 'dense': atc ended with 1: {text}" in str(error.value)
    assert "--model=graph.onnx --framework=5 --output=graph --soc_version=Ascend910B4" in str(error.value)
    assert fix in error.value.fix


def test_without_atc_the_remedy_is_the_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match="`atc`, CANN's compiler, is not on PATH") as error:
        run_atc(tmp_path / "graph.onnx", [], "dense")
    assert "source /usr/local/Ascend/ascend-toolkit/set_env.sh" in error.value.fix


def test_an_atc_that_says_nothing_is_quoted_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    silent = tmp_path / "atc"
    silent.write_text("#!/bin/sh\nexit 3\n")
    silent.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match="atc ended with 3: it said nothing"):
        run_atc(tmp_path / "graph.onnx", [], "dense")
