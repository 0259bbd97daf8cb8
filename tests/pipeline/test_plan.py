from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tiny
from acl_sim import World
from acl_sim.fixtures import Npu
from acl_sim.fixtures import npu as npu

import ops
from ge_engine import Model
from ge_engine.cache import Cache
from ge_engine.devices.ascend import library
from ops import ENCODED_IMAGE, BuildError, Finding, TensorSpec
from pipeline import Pipeline, Plan


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compile cache of the test's own, with nothing in it."""
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def card(npu: Npu) -> Iterator[World]:
    """A simulated one."""
    library.finalize()
    yield npu()
    library.finalize()


def files_of(plan: Plan) -> list[Path]:
    """The static graphs of a plan."""
    return [Path(graph.path) for stage in plan.built.values() for graph in stage.static.values()]


def test_the_files_of_a_plan_live_as_long_as_it_does(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), cache=False)
    files = files_of(plan)
    assert len(files) == 2
    assert all(path.exists() for path in files)
    del plan
    gc.collect()
    assert not any(path.exists() for path in files)


def test_a_plan_from_the_cache_answers_as_a_fresh_one(tmp_path: Path, cache: Path) -> None:
    said: list[str] = []
    pipeline = tiny.vector_pipeline(tmp_path)
    plans = [
        pipeline.compile(gears=(1, 2), cache=use, progress=lambda what, done, total: said.append(what))
        for use in (False, True, True)
    ]
    assert said.count("dense: built") == 2
    assert said[-1] == "dense: from the cache"
    answers = []
    for plan in plans:
        with plan.session() as session:
            answers.append([session.run(**sample)["y"].tobytes() for sample in tiny.vectors(3)])
    assert answers[0] == answers[1] == answers[2]
    assert str(plans[0]) == str(plans[1]) == str(plans[2])


def test_a_cache_that_is_cleared_leaves_a_living_plan_its_files(tmp_path: Path, cache: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2))
    store = Cache(cache)
    assert store.clear() == []
    with plan.session() as session:
        session.run(**tiny.vectors(1)[0])
    files = files_of(plan)
    del plan, session
    gc.collect()
    assert all(path.exists() for path in files)
    assert len(store.clear()) == 1
    assert not any(path.exists() for path in files)


def test_the_cache_can_be_off(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = tiny.vector_pipeline(tmp_path)
    pipeline.compile(cache=False)
    monkeypatch.setenv("GEPIPE_CACHE", "off")
    assert pipeline.compile().findings == ()
    assert not cache.exists()


def test_a_cache_that_cannot_be_used_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "file" / "cache"))
    pipeline = tiny.vector_pipeline(tmp_path)
    with pytest.warns(UserWarning, match=r"built without the compile cache: .*\nfix: give GEPIPE_CACHE") as warned:
        plan = pipeline.compile()
    assert (len(warned), warned[0].filename) == (1, __file__)
    assert [(finding.rule, finding.severity) for finding in plan.findings] == [("G58", "advice")]
    assert "built without the compile cache" in str(plan)


def test_a_failed_build_leaves_nothing_behind(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tiny.vector_pipeline(tmp_path).compile(progress=stop)
    with pytest.raises(KeyboardInterrupt):
        tiny.vector_pipeline(tmp_path).compile(progress=stop, cache=False)
    assert list((tmp_path / "temporary").iterdir()) == list((cache / "building").iterdir()) == []


def test_progress_counts_the_gears(tmp_path: Path, cache: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4), progress=lambda *step: seen.append(step))
    assert all(0 <= done <= total for _, done, total in seen)
    assert len({what for what, _, _ in seen}) >= 3


def test_progress_is_said_to_a_session_as_to_compile(
    tmp_path: Path, cache: Path, card: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the error output for a terminal
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2))
    for silent in (None, False):
        plan.session("npu:0", silent).close()
        assert capsys.readouterr() == ("", "")
        Cache(cache).clear()
    plan.session("npu:0", progress=True).close()
    assert "dense for Ascend910B4: " in capsys.readouterr().err
    told: list[str] = []
    plan.session("npu:0", progress=lambda what, done, total: told.append(what)).close()
    assert told == ["dense for Ascend910B4: from the cache"]


def test_a_constant_reaches_the_host_and_the_device(tmp_path: Path) -> None:
    bank = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    pipeline = Pipeline("bank")
    vector = Model(tiny.vector_model(tmp_path))(pipeline.input("x", tiny.VECTOR))
    rows = pipeline.constant("bank", bank)
    again = Model(tiny.vector_model(tmp_path, "again", size=5))(ops.Similarity()(vector, rows))
    pipeline.output(likeness=ops.Similarity()(vector, rows), again=again)
    plan = pipeline.compile(gears=(1, 4))
    samples = tiny.vectors(3)
    with plan.session() as session:
        answers = session.run_batch(samples)
        solo = [session.run(**sample) for sample in samples]
    for answer, alone in zip(answers, solo):
        assert isinstance(answer, dict)
        assert answer["again"].tobytes() == alone["again"].tobytes()
        assert answer["likeness"].shape == (5,)


def test_the_plan_explains_every_value_with_its_spec_bytes_placement_and_gears() -> None:
    pipeline = Pipeline("explained")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ENCODED_IMAGE))
    image, transform = ops.Letterbox(height=4, width=6)(pixels)
    pipeline.output(picture=image, where=transform)
    lines = [" ".join(line.split()) for line in str(pipeline.compile()).splitlines()]
    assert lines[1:8] == [
        "caller",
        "image* input bytes varies",
        "host0 (host)",
        "decode_image DecodeImage uint8[H,W,3] HWC varies",
        "letterbox.image* Letterbox uint8[4,6,3] HWC 72",
        "letterbox.transform* Letterbox float32[6] 24",
        "outputs: picture = letterbox.image, where = letterbox.transform",
    ]


def test_the_plan_says_how_each_device_stage_was_built(tmp_path: Path) -> None:
    text = str(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), streams=3))
    assert "dense (device, gears 1,2)" in text
    assert "2 static graphs; one session serves all on CPU" in text
    assert "3 streams" in text


def test_findings_of_the_build_are_the_plans(tmp_path: Path) -> None:
    pipeline = Pipeline("mixing")
    pipeline.output(y=Model(tiny.mixing_model(tmp_path))(pipeline.input("x", TensorSpec("float32", (8,)))))
    plan = pipeline.compile(gears=(1, 2))
    mixing = [finding for finding in plan.findings if "mix" in finding.message]
    assert isinstance(mixing[0], Finding)
    assert "rows mix at" in str(plan)
    assert str(mixing[0]) in str(plan)


def test_what_the_machine_lacks_is_said_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = tiny.vector_pipeline(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(BuildError, match=r"the graphs cannot be built: .*No such file") as error:
        pipeline.compile(cache=False)
    assert "TMPDIR names another" in error.value.fix


@pytest.mark.parametrize("most", [0, 4000])  # bytes: the first graph cannot be written, or the weights cannot
def test_a_full_disk_is_no_fault_of_the_gears(tmp_path: Path, cache: Path, most: int) -> None:
    resource = pytest.importorskip("resource")
    pipeline = Pipeline("wide")
    x = pipeline.input("x", TensorSpec("float32", (2000,)))
    pipeline.output(y=Model(tiny.vector_model(tmp_path, size=2000))(x))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        with pytest.raises(BuildError, match="the graphs cannot be built") as error:
            pipeline.compile()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "need room in the folder for temporary files" in error.value.fix


def test_a_gear_beyond_the_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="there is not enough memory") as error:
        tiny.vector_pipeline(tmp_path).compile(gears=(2**31 - 1,))
    assert error.value.fix == "use smaller gears"


def test_a_forked_child_does_not_take_the_files_away(tmp_path: Path) -> None:
    code = f"""
import gc, os, pathlib, sys
sys.path.insert(0, {os.path.dirname(tiny.__file__)!r})
import tiny
from ge_engine import Gear
plan = tiny.vector_pipeline(pathlib.Path({str(tmp_path)!r})).compile(cache=False)
child = os.fork()
if not child:
    del plan
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
graph = pathlib.Path(plan.built["dense"].static[Gear(1)].path)
assert graph.exists()
del plan
gc.collect()
assert not graph.exists()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_plan_is_not_pickled_or_copied(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="it owns files; compile the pipeline where it is to run"):
            attempt(plan)


def test_a_model_whose_file_has_a_long_name_gets_a_short_one(tmp_path: Path) -> None:
    pipeline = Pipeline("long")
    pipeline.output(y=Model(tiny.vector_model(tmp_path, name="m" * 240))(pipeline.input("x", tiny.VECTOR)))
    (stage,) = pipeline.compile().stages
    assert stage.name == "m" * 99


def answers(plan: Plan) -> list[bytes]:
    with plan.session() as session:
        return [session.run(**sample)["y"].tobytes() for sample in tiny.vectors(3)]


def test_a_precision_changes_what_a_cpu_runs_and_not_what_is_exported(tmp_path: Path) -> None:
    pipeline = tiny.vector_pipeline(tmp_path)
    wide, half = (pipeline.compile(gears=(1, 2), cache=False, precision=name) for name in ("origin", "fp16"))
    assert answers(wide) != answers(half)
    assert [path.read_bytes() for path in files_of(wide)] == [path.read_bytes() for path in files_of(half)]
    folders = [files_of(plan)[0].parent for plan in (wide, half)]
    names = [{path.name for path in folder.glob("*.onnx")} for folder in folders]
    assert names[1] - names[0] == {"dense_1.fp16.onnx", "dense_2.fp16.onnx", "dense_any.fp16.onnx"}
    assert half.built["dense"].shared_deviation == 0  # checked on these, too


def test_a_precision_is_given_by_model_and_the_others_keep_theirs(tmp_path: Path) -> None:
    pipeline = tiny.vector_pipeline(tmp_path)
    wide = answers(pipeline.compile())
    assert answers(pipeline.compile(precision={"dense": "fp16"})) == answers(pipeline.compile(precision="fp16")) != wide


def test_models_of_one_stage_have_one_precision(tmp_path: Path) -> None:
    pipeline = Pipeline("chain")
    first = Model(tiny.vector_model(tmp_path, "first", size=8))(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Model(tiny.vector_model(tmp_path, "second", size=4))(first))
    with pytest.raises(BuildError, match="joins models of different precision: 'first' is fp16, 'second' is origin"):
        pipeline.compile(precision={"first": "fp16"})


def test_a_precision_that_is_not_emulated_is_told_and_runs_as_origin(tmp_path: Path) -> None:
    pipeline = tiny.vector_pipeline(tmp_path)
    plan = pipeline.compile(precision="mixed_float16")
    (finding,) = (found for found in plan.findings if found.rule == "G59")
    assert "precision 'mixed_float16' (fp16 for the operators that a table of the SoC lets" in finding.message
    assert finding.message.endswith("is not emulated: on a CPU it runs as origin")
    assert answers(plan) == answers(pipeline.compile())


def test_what_onnx_runtime_is_to_serve_computes_as_the_graph_says(tmp_path: Path) -> None:
    pipeline = tiny.vector_pipeline(tmp_path)
    plan = pipeline.compile(precision="fp16", model_backend="onnxruntime")
    assert answers(plan) == answers(pipeline.compile(model_backend="onnxruntime"))
