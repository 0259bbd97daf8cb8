from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny
from acl_sim.fixtures import put_atc_on_path
from onnx_files import node, save, tensor

from ge_engine import Model
from ge_engine.cache import Cache
from ge_engine.cores import Cores
from ge_engine.om import Compiled, compile_stage
from ge_engine.stage import BuiltStage
from ops import DeviceError, TensorSpec
from pipeline import Pipeline

SOC = "Ascend910B4"


class Atc:
    """atc, simulated; the command lines that it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._log = folder / "atc.log"
        put_atc_on_path(monkeypatch, log=str(self._log))
        monkeypatch.setenv("GEPIPE_CACHE", str(folder / "cache"))

    @property
    def lines(self) -> list[list[str]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()] if self._log.exists() else []

    def flags(self, run: int = -1) -> list[str]:
        """Without those that every run has."""
        always = ("--model=", "--framework=5", "--output=", "--log=", "--soc_version=", "--precision_mode_v2=")
        return [flag for flag in self.lines[run] if not flag.startswith(always)]


@pytest.fixture
def atc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Atc:
    return Atc(monkeypatch, tmp_path)


@pytest.fixture
def stage(tmp_path: Path) -> BuiltStage:
    return built(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4)))


_plans: list[Any] = []


def built(plan: Any) -> BuiltStage:
    _plans.append(plan)  # its graphs are there as long as it is
    (stage,) = plan.built.values()
    return stage  # type: ignore[no-any-return]


def compiled(stage: BuiltStage, rows: int = 4, cores: Cores = None, soc: str = SOC) -> Compiled:
    files = compile_stage(stage, rows, cores, soc)
    files.let_go()
    return files


def paths(files: Compiled) -> set[str]:
    return {Path(graph.path).name for graph in files.graphs.values()}


def test_batch_gears_become_one_file(atc: Atc, stage: BuiltStage) -> None:
    files = compiled(stage)
    assert paths(files) == {"dense_gears.om"}
    assert [gear.batch for gear in files.graphs] == [1, 2, 4]
    assert atc.flags() == ["--input_shape=scale:-1,8", "--dynamic_batch_size=1,2,4"]
    assert f"--soc_version={SOC}" in atc.lines[0]
    assert "--precision_mode_v2=origin" in atc.lines[0]


def test_one_gear_is_a_static_file(atc: Atc, stage: BuiltStage) -> None:
    assert paths(compiled(stage, rows=1)) == {"dense_1.om"}
    assert atc.flags() == []


def test_sizes_become_the_gears_of_one_file(atc: Atc, tmp_path: Path) -> None:
    stage = built(tiny.sized_pipeline(tmp_path).compile())
    files = compiled(stage)
    assert paths(files) == {"picture_gears.om"}
    (name,) = files.names.values()
    assert atc.flags() == [
        "--input_format=ND",
        f"--input_shape={name}:1,-1,-1,3",
        "--dynamic_dims=32,32;32,16;16,48",
    ]


def test_gears_without_a_graph_for_all_have_a_file_each(atc: Atc, stage: BuiltStage) -> None:
    files = compiled(replace(stage, shared={}))
    assert paths(files) == {"dense_1.om", "dense_2.om", "dense_4.om"}
    assert len(atc.lines) == 3


def test_a_second_time_it_comes_from_the_cache(atc: Atc, stage: BuiltStage) -> None:
    first = compiled(stage)
    (entry,) = [entry for entry in Cache.of_environment().entries() if entry.path == _folder(first)]  # type: ignore[union-attr]
    assert entry.about is not None
    assert (entry.about.stage, entry.about.gears) == (f"dense for {SOC}", ("1", "2", "4"))
    assert compiled(stage)[:2] == first[:2]
    assert len(atc.lines) == 1


def _folder(files: Compiled) -> Path:
    return Path(next(iter(files.graphs.values())).path).parent


Change = Callable[[pytest.MonkeyPatch, Path], dict[str, Any]]


def _another_cann(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, Any]:
    (folder / "version.info").write_text("Version=9.9.9\n")
    monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(folder))
    return {}


@pytest.mark.parametrize(
    "change",
    [
        lambda m, f: {"soc": "Ascend310P3"},
        lambda m, f: {"stage": built(tiny.vector_pipeline(f).compile(gears=(1, 2, 4), precision="fp16"))},
        lambda m, f: {"cores": "12|10"},
        lambda m, f: {"rows": 2},
        _another_cann,
        lambda m, f: {"stage": built(_other_weights(f).compile(gears=(1, 2, 4)))},
    ],
    ids=["soc", "precision", "cores", "gears", "cann", "weights"],
)
def test_what_an_om_depends_on_makes_another(
    atc: Atc, stage: BuiltStage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: Change
) -> None:
    first = compiled(stage)
    again = compiled(**{"stage": stage, **change(monkeypatch, tmp_path)})
    assert _folder(first) != _folder(again)
    assert len(atc.lines) == 2


def _other_weights(folder: Path) -> Pipeline:
    (folder / "other").mkdir()
    pipeline = Pipeline("vector")
    scaled = tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Model(tiny.vector_model(folder / "other", seed=9))(scaled))
    return pipeline


def test_without_a_cache_the_file_is_there_until_it_is_let_go(
    atc: Atc, stage: BuiltStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", "off")
    files = compile_stage(stage, 4, None, SOC)
    folder = _folder(files)
    assert (folder / "dense_gears.om").exists()
    files.let_go()
    assert not folder.exists()


@pytest.mark.parametrize("cache", ["on", "off"])
def test_a_failing_atc_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stage: BuiltStage, cache: str
) -> None:
    put_atc_on_path(monkeypatch, fail="E19010: no")
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache") if cache == "on" else "off")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    os.mkdir(tmp_path / "temp")
    with pytest.raises(DeviceError, match="E19010"):
        compile_stage(stage, 4, None, SOC)
    left = [path for path in tmp_path.rglob("*") if path.suffix in (".om", ".onnx") and "temp" in str(path)]
    assert not left
    assert not list((tmp_path / "temp").iterdir())
    assert not (tmp_path / "cache" / "entries").exists()


def test_a_name_with_a_colon_is_another_in_the_file(atc: Atc, tmp_path: Path) -> None:
    """A second level's input has the name that the first model's exporter gave its output."""
    save(
        tmp_path / "a.onnx",
        [node("Tanh", ["x"], ["onnx::Add_3"])],
        [tensor("x", ("batch", 8))],
        [tensor("onnx::Add_3", ("batch", 8))],
    )
    save(
        tmp_path / "b.onnx",
        [node("Add", ["p", "q"], ["y"])],
        [tensor("p", ("batch", 8)), tensor("q", ("batch", 8))],
        [tensor("y", ("batch", 8))],
    )
    pipeline = Pipeline("colon")
    a = Model(tmp_path / "a.onnx")(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Model(tmp_path / "b.onnx")(a, tiny.Scale(2.0)(a)))
    plan = pipeline.compile(gears=(1, 2))
    _plans.append(plan)
    (stage,) = [stage for name, stage in plan.built.items() if name.startswith("b")]
    assert any(":" in key for key, _ in stage.graph.inputs)
    files = compiled(stage, rows=2)
    assert all(":" not in name for name in files.names.values())
    assert atc.flags()[0].count(":") == 2


def test_a_tensorflow_graph_is_refused(stage: BuiltStage) -> None:
    static = {gear: replace(graph, path="stage.pb") for gear, graph in stage.static.items()}
    with pytest.raises(DeviceError, match="'dense' is a TensorFlow graph") as error:
        compile_stage(replace(stage, static=static), 4, None, SOC)
    assert error.value.fix.startswith("give the model as ONNX")


def test_a_shape_that_depends_on_data_is_refused(tmp_path: Path) -> None:
    where = [
        node("NonZero", ["x"], ["i"]),
        node("ReduceSum", ["i"], ["s"], keepdims=0),
        node("Cast", ["s"], ["c"], to=1),
    ]
    add = node("Add", ["x", "c"], ["y"])
    save(tmp_path / "nz.onnx", [*where, add], [tensor("x", ("batch", 8))], [tensor("y", ("batch", 8))])
    pipeline = Pipeline("nonzero")
    pipeline.output(y=Model(tmp_path / "nz.onnx")(pipeline.input("x", TensorSpec("float32", (8,)))))
    stage = built(pipeline.compile(gears=(1,)))
    with pytest.raises(DeviceError, match="depends on data, from node") as error:
        compile_stage(stage, 1, None, SOC)
    assert "cut the model before that node" in error.value.fix


def test_progress_says_what_atc_does_and_where_the_rest_comes_from(atc: Atc, stage: BuiltStage) -> None:
    told: list[tuple[str, int, int]] = []

    def opened(stage: BuiltStage) -> list[tuple[str, int, int]]:
        told.clear()
        compile_stage(stage, 4, None, SOC, lambda *said: told.append(said)).let_go()
        return told

    assert opened(stage) == [(f"dense for {SOC}: atc", 0, 1), (f"dense for {SOC}: atc", 1, 1)]
    assert opened(stage) == [(f"dense for {SOC}: from the cache", 1, 1)]
    alone = opened(replace(stage, shared={}))
    assert alone[::2] == [(f"dense for {SOC}: atc", done, 3) for done in range(3)]
    assert alone[-1][1:] == (3, 3)


def test_a_cache_that_cannot_be_used_is_told_and_done_without(
    atc: Atc, stage: BuiltStage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "file"))
    told: list[str] = []
    files = compile_stage(stage, 4, None, SOC, lambda what, done, total: told.append(what))
    assert told[0].startswith(f"dense for {SOC}: not kept, the cache cannot be used: ")
    assert Path(next(iter(files.graphs.values())).path).exists()
    files.let_go()


def test_a_disk_that_is_full_is_told(atc: Atc, stage: BuiltStage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, place: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))

    monkeypatch.setattr("shutil.move", full)
    with pytest.raises(DeviceError, match=r"stage 'dense' cannot be compiled: .*No space left on device") as error:
        compiled(stage)
    assert "TMPDIR names another" in error.value.fix
    entries = Cache.of_environment().entries()  # type: ignore[union-attr]
    assert not [entry for entry in entries if entry.about and SOC in entry.about.stage]


def test_a_damaged_entry_is_made_again(atc: Atc, stage: BuiltStage) -> None:
    first = compiled(stage)
    om = _folder(first) / "dense_gears.om"
    om.write_bytes(om.read_bytes()[:100])
    assert compiled(stage)[:2] == first[:2]
    assert len(atc.lines) == 2
    assert om.stat().st_size > 100


def test_an_interrupt_in_the_middle_of_atc_ends_it_and_leaves_nothing(
    stage: BuiltStage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "temp").mkdir()
    atc = tmp_path / "bin" / "atc"
    in_the_middle = "sleep 0.3"  # it is waited for by then
    atc.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\n{in_the_middle}\nkill -INT $PPID\nexec sleep 60\n")
    atc.chmod(0o755)
    monkeypatch.setenv("PATH", str(atc.parent), prepend=os.pathsep)
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    with pytest.raises(KeyboardInterrupt):
        compile_stage(stage, 4, None, SOC)
    assert not list((tmp_path / "temp").iterdir())
    assert not list((tmp_path / "cache" / "building").iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


KILLED = """
import sys
sys.path[:0] = ["tests/support"]
import pathlib, tiny
from ge_engine.om import compile_stage
plan = tiny.vector_pipeline(pathlib.Path(sys.argv[1])).compile(gears=(1, 2))
(stage,) = plan.built.values()
compile_stage(stage, 2, None, "Ascend910B4")
"""


def test_a_process_that_is_killed_in_the_middle_of_atc_ends_it_and_the_next_sweeps_up_what_it_leaves(
    tmp_path: Path, stage: BuiltStage, atc: Atc, monkeypatch: pytest.MonkeyPatch
) -> None:
    temp, cache, alive = (tmp_path / name for name in ("temp", "cache", "alive"))
    temp.mkdir()
    os.mkfifo(alive)  # open as long as atc, or what it starts, is there
    script = tmp_path / "bin" / "atc"
    script.parent.mkdir()
    both_are_there = "until set -- $(cat /proc/$PPID/task/*/children); [ $# = 2 ]; do :; done"  # atc, and its guard
    in_the_middle = f"touch half.om\n{both_are_there}\nkill -9 $PPID\nsleep 600 &\nsleep 600\n"
    script.write_text(f"#!/bin/sh\nexec 3>{alive}\n{in_the_middle}")
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{script.parent}:{os.environ['PATH']}", "TMPDIR": str(temp)}
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], env=environment) as killed:
        assert alive.read_bytes() == b""
    assert killed.returncode == -signal.SIGKILL
    places = (temp, cache / "building")
    assert all(list(place.glob("gepipe*")) for place in places)
    monkeypatch.setattr("tempfile.tempdir", str(temp))
    assert paths(compiled(stage)) == {"dense_gears.om"}
    assert not any(list(place.glob("gepipe*")) for place in places)
