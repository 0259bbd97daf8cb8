from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_files import model_stage, node, save, tensor

from ge_engine import lock
from ge_engine.build import build
from ge_engine.cache import Cache, build_cached, folders
from ge_engine.gears import Gear, Gears
from ge_engine.stage import BuiltStage, StageGraph
from ge_engine.verify import Runner
from ops import BuildError, Finding, TensorSpec

GEARS = Gears.of_batches((1, 2))
PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_cached import GEARS, heavy_stage
from ge_engine.cache import Cache, build_cached

def say(what, done, total):
    print(what, flush=True)
    if len(sys.argv) > 4:
        sys.stdin.readline()

stage = heavy_stage(Path(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
built, held = build_cached(stage, GEARS, Cache(Path(sys.argv[3])), say)
print(built.shared[()], flush=True)
"""


def heavy_stage(path: Path) -> StageGraph:
    if not path.exists():
        weights = {"w": np.random.default_rng(0).random((64, 16), np.float32)}
        names = [tensor("x", ("n", 64))], [tensor("y", ("n", 16))]
        save(path, [node("MatMul", ["x", "w"], ["y"])], *names, weights)
    return model_stage(path, TensorSpec("float32", (64,)))


def troubled_stage(path: Path) -> StageGraph:
    """One whose build has much to say: rows that mix, a shape that depends on data, operators of another domain."""
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("NonZero", ["d"], ["hits"]),
        node("Shape", ["hits"], ["count"]),
        node("Cast", ["count"], ["number"], to=onnx.TensorProto.FLOAT),
        node("ReduceSum", ["number"], ["sum"], keepdims=0),
        node("Mul", ["sum", "zero"], ["nothing"]),
        node("Add", ["d", "nothing"], ["e"]),
        node("FusedMatMul", ["e", "w"], ["y"], domain="com.microsoft"),
    ]
    weights = {"w": np.eye(64, dtype=np.float32), "zero": np.float32(0)}
    names = [tensor("x", ("n", 64))], [tensor("y", ("n", 64))]
    save(path, nodes, *names, weights, domains=["com.microsoft"])
    return model_stage(path, TensorSpec("float32", (64,)))


def at(stage: StageGraph, where: str) -> StageGraph:
    return dataclasses.replace(stage, steps=tuple(dataclasses.replace(step, where=where) for step in stage.steps))


def same(a: BuiltStage, b: BuiltStage) -> bool:
    """Whether two built stages are alike, down to the bytes of their graphs, wherever these lie."""

    def without_folders(built: BuiltStage) -> BuiltStage:
        static = {gear: dataclasses.replace(graph, path=Path(graph.path).name) for gear, graph in built.static.items()}
        shared = {dims: Path(path).name for dims, path in built.shared.items()}
        return dataclasses.replace(built, static=static, shared=shared)

    files = [
        [*map(Path, (graph.path for graph in built.static.values())), *map(Path, built.shared.values())]
        for built in (a, b)
    ]
    return without_folders(a) == without_folders(b) and [f.read_bytes() for f in files[0]] == [
        f.read_bytes() for f in files[1]
    ]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def test_the_second_time_nothing_is_built(cache: Cache, tmp_path: Path) -> None:
    stage = heavy_stage(tmp_path / "model.onnx")
    said: list[tuple[str, int, int]] = []
    first, held = build_cached(stage, GEARS, cache, lambda *step: said.append(step))
    assert [what for what, _, _ in said] == ["stage: gear 1", "stage: gear 2", "stage: checking", "stage: built"]
    held.close()
    said.clear()
    second, held = build_cached(stage, GEARS, cache, lambda *step: said.append(step))
    assert said == [("stage: from the cache", 3, 3)]
    assert second == first
    assert same(second, build(stage, GEARS, tmp_path / "fresh"))
    x = np.random.default_rng(1).random((2, 64), np.float32)
    (y,) = Runner(second.static[Gear(2)].path)({"x": x})
    np.testing.assert_array_equal(y, Runner(tmp_path / "model.onnx")({"x": x})[0])
    held.close()


def test_findings_are_those_of_a_fresh_build_at_the_lines_of_today(cache: Cache, tmp_path: Path) -> None:
    stage = troubled_stage(tmp_path / "model.onnx")
    first, held = build_cached(at(stage, "graph.py:10"), GEARS, cache)
    held.close()
    fresh = build(at(stage, "graph.py:20"), GEARS, tmp_path / "fresh")
    second, held = build_cached(at(stage, "graph.py:20"), GEARS, cache)
    held.close()
    assert {finding.rule for finding in second.findings} >= {"G50", "G51", "G54"}
    assert {finding.where for finding in first.findings} == {"graph.py:10"}
    assert {finding.where for finding in second.findings} == {"graph.py:20"}
    assert second.findings == fresh.findings
    assert (second.mixing_node, second.dynamic) == (fresh.mixing_node, fresh.dynamic)
    assert second.dynamic


def test_a_damaged_entry_is_built_again(cache: Cache, tmp_path: Path) -> None:
    stage = heavy_stage(tmp_path / "model.onnx")
    first, held = build_cached(stage, GEARS, cache)
    held.close()
    path = Path(first.static[Gear(1)].path)
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    second, held = build_cached(stage, GEARS, cache)
    assert second == first
    assert path.read_bytes() == whole
    held.close()


def test_a_damaged_entry_that_a_plan_holds_is_left_to_it(cache: Cache, tmp_path: Path) -> None:
    stage = heavy_stage(tmp_path / "model.onnx")
    first, held = build_cached(stage, GEARS, cache)
    path = Path(first.static[Gear(1)].path)
    path.write_bytes(b"")
    second, other = build_cached(stage, GEARS, cache)
    assert Path(second.static[Gear(1)].path).parent == other.path != path.parent
    assert path.exists()
    other.close()
    assert not other.path.exists()
    held.close()


@pytest.mark.parametrize("with_cache", [True, False])
def test_a_model_that_is_replaced_while_it_is_built_is_refused(with_cache: bool, cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    stage = heavy_stage(path)

    def change(what: str, done: int, total: int) -> None:
        os.utime(path, (1e9, 1e9))

    with pytest.raises(BuildError, match=r"a model of stage 'stage' was replaced while it was built: .*model.onnx"):
        build_cached(stage, GEARS, cache if with_cache else None, change)
    assert cache.entries() == []
    built, held = build_cached(stage, GEARS, cache if with_cache else None)
    assert Path(built.shared[()]).exists()
    held.close()


def test_threads_that_want_the_same_build_it_once(cache: Cache, tmp_path: Path) -> None:
    stage = heavy_stage(tmp_path / "model.onnx")
    said: list[str] = []
    together = threading.Barrier(4)

    def one(_: int) -> BuiltStage:
        together.wait()
        built, held = build_cached(stage, GEARS, cache, lambda what, done, total: said.append(what))
        held.close()
        return built

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(one, range(4)))
    assert all(built == results[0] for built in results)
    assert said.count("stage: built") == 1
    assert said.count("stage: from the cache") == 3


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROGRAM, Path(__file__).parent, folder / "model.onnx", folder / "cache", *more]
    path = os.pathsep.join([str(Path(__file__).parents[2] / "support"), *sys.path])
    return subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env={**os.environ, "PYTHONPATH": path})


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_two_processes_that_want_the_same_both_get_it(cache: Cache, tmp_path: Path) -> None:
    heavy_stage(tmp_path / "model.onnx")
    with start(tmp_path) as first, start(tmp_path) as second:
        assert (line(first), line(second)) == ("ready", "ready")
        said = [process.communicate("\n")[0].splitlines() for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0)
    assert said[0][-1] == said[1][-1] == str(cache.folder / "entries" / cache.entries()[0].key / "stage_any.onnx")
    assert sum("stage: built" in words for words in said) == 1


def test_who_waits_for_another_process_says_so(cache: Cache, tmp_path: Path) -> None:
    stage = heavy_stage(tmp_path / "model.onnx")
    said: list[str] = []

    def say(what: str, done: int, total: int) -> None:
        said.append(what)
        if what == "stage: another process builds it":
            other.communicate("\n" * 9)

    with start(tmp_path, "slowly") as other:
        assert line(other) == "ready"
        go_on(other)
        assert line(other) == "stage: gear 1"
        build_cached(stage, GEARS, cache, say)[1].close()
    assert said == ["stage: another process builds it", "stage: from the cache"]


def test_what_a_process_that_was_killed_left_is_swept_up(cache: Cache, tmp_path: Path) -> None:
    stage = heavy_stage(tmp_path / "model.onnx")
    with start(tmp_path, "slowly") as other:
        assert line(other) == "ready"
        go_on(other)
        assert line(other) == "stage: gear 1"
        go_on(other)
        assert line(other) == "stage: gear 2"
        other.kill()
    assert len(list((cache.folder / "building").iterdir())) == 1
    assert cache.entries() == []
    build_cached(stage, GEARS, cache)[1].close()
    assert list((cache.folder / "building").iterdir()) == []
    assert len(cache.entries()) == 1


def test_without_locks_both_build_and_both_get_theirs(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "HAS_LOCKS", False)
    # There open files keep `sweep` off; here it would take the folders of whoever else works in this temporary folder.
    monkeypatch.setattr(folders, "_is_ours", lambda entry: False)
    stage = heavy_stage(tmp_path / "model.onnx")
    inner: list[BuiltStage] = []

    def meanwhile(what: str, done: int, total: int) -> None:
        if what == "stage: checking" and not inner:
            inner.append(build_cached(stage, GEARS, cache)[0])

    built, held = build_cached(stage, GEARS, cache, meanwhile)
    assert same(built, inner[0])
    assert len(cache.entries()) == 1
    held.close()


def unusable(findings: tuple[Finding, ...]) -> str:
    (finding,) = findings
    assert (finding.rule, finding.severity, finding.where) == ("G58", "advice", "test.py:1")
    assert finding.fix == "give GEPIPE_CACHE a folder that can be written and has room, or set it to off"
    return finding.message


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    stage = at(heavy_stage(tmp_path / "model.onnx"), "test.py:1")
    (tmp_path / "file").touch()
    built, held = build_cached(stage, GEARS, Cache(tmp_path / "file" / "cache"))
    assert "stage 'stage' was built without the compile cache: " in unusable(built.findings)
    assert Path(built.shared[()]).exists()
    held.close()
    assert not Path(built.shared[()]).exists()


def test_a_read_only_cache_still_gives_what_it_has(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = at(heavy_stage(tmp_path / "model.onnx"), "test.py:1")
    build_cached(stage, GEARS, cache)[1].close()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)  # the superuser may write anywhere
    monkeypatch.setattr(os, "utime", refuse)
    built, held = build_cached(stage, GEARS, cache)
    assert built.findings == ()
    assert held.path.parent == cache.folder / "entries"
    held.close()


def test_a_full_disk_is_said_and_done_without(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = at(heavy_stage(tmp_path / "model.onnx"), "test.py:1")
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if cache.folder in path.parents:
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    built, held = build_cached(stage, GEARS, cache)
    assert "No space left on device" in unusable(built.findings)
    assert list((cache.folder / "building").iterdir()) == []
    assert same(dataclasses.replace(built, findings=()), build(stage, GEARS, tmp_path / "fresh"))
    held.close()


def test_a_folder_that_vanishes_while_a_stage_is_built_in_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    def clean(what: str, done: int, total: int) -> None:
        for folder in (tmp_path / "temporary").iterdir():
            shutil.rmtree(folder)

    with pytest.raises(BuildError, match=r"gepipe-\w+ vanished while stage 'stage' was built in it\nfix: .*TMPDIR"):
        build_cached(heavy_stage(tmp_path / "model.onnx"), GEARS, None, clean)


def test_without_a_cache_the_graphs_go_with_their_folder(tmp_path: Path) -> None:
    built, held = build_cached(heavy_stage(tmp_path / "model.onnx"), GEARS, None)
    assert built.findings == ()
    assert Path(built.shared[()]).exists()
    held.close()
    assert not Path(built.shared[()]).exists()
