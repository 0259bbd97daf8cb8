from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from acl_sim.fixtures import put_atc_on_path

from ge_engine.cores import Cores
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
    ("cores", "flags"),
    [
        (None, []),
        ("12|10", ["--aicore_num=12|10", "--op_compiler_cache_mode=disable"]),
        ({"dense": "8|"}, ["--aicore_num=8|", "--op_compiler_cache_mode=disable"]),
        ({"other": "12|10"}, []),
    ],
    ids=str,
)
def test_precision_is_always_said_and_cores_where_they_are_set(
    stage: StageGraph, cores: Cores, flags: list[str]
) -> None:
    assert setting_flags(stage, cores) == ["--precision_mode_v2=origin", *flags]
    assert setting_flags(replace(stage, precision="fp16"), None) == ["--precision_mode_v2=fp16"]


def test_models_of_one_stage_have_the_same_cores(tmp_path: Path) -> None:
    from ascend_cases import chain

    stage = next(iter(chain(tmp_path).compile(gears=(1,)).built.values())).graph
    with pytest.raises(DeviceError, match=r"joins models of the cores '', '12\|10'") as error:
        setting_flags(stage, {"dense_0": "12|10"})
    assert error.value.fix == "give its models the same cores: they are one graph"


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


@pytest.mark.parametrize(
    ("script", "message", "fix"),
    [
        ("kill -9 $$", "atc ended with -9: it said nothing", "perhaps for want of memory: use fewer gears"),
        ("exit", "atc ended with 0: it said nothing", "look at atc's text"),
    ],
)
def test_an_atc_that_is_killed_or_makes_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str, fix: str
) -> None:
    with pytest.raises(DeviceError, match=message) as error:
        _run(monkeypatch, tmp_path, f"#!/bin/sh\n{script}\n")
    assert fix in error.value.fix


def test_an_atc_of_another_machine_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=r"atc cannot be run: .*Exec format error") as error:
        _run(monkeypatch, tmp_path, "\x7fELF of another chip")
    assert "install the CANN toolkit" in error.value.fix


def test_a_folder_that_atc_does_not_read_is_told_before_it_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_atc_on_path(monkeypatch, log=str(tmp_path / "log"))
    with pytest.raises(DeviceError, match=r"atc reads no file in .*/my models") as error:
        run_atc(tmp_path / "my models" / "graph.onnx", [], "dense")
    assert "let TMPDIR name a folder" in error.value.fix
    assert not (tmp_path / "log").exists()


def _run(monkeypatch: pytest.MonkeyPatch, folder: Path, atc: str) -> None:
    (folder / "atc").write_text(atc, encoding="latin-1")
    (folder / "atc").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    run_atc(folder / "graph.onnx", [], "dense")


def test_without_atc_the_remedy_is_the_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match="`atc`, CANN's compiler, is not on PATH") as error:
        run_atc(tmp_path / "graph.onnx", [], "dense")
    assert "source /usr/local/Ascend/ascend-toolkit/set_env.sh" in error.value.fix


def test_an_atc_that_says_nothing_is_quoted_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="atc ended with 3: it said nothing"):
        _run(monkeypatch, tmp_path, "#!/bin/sh\nexit 3\n")
