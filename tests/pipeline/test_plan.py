from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import tiny

import ops
from ge_engine import Model
from ops import ENCODED_IMAGE, Finding, TensorSpec
from pipeline import Pipeline


def test_the_files_of_a_plan_live_as_long_as_it_does(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2))
    folder = plan.folder
    assert len(list(folder.rglob("*.onnx"))) >= 2
    del plan
    gc.collect()
    assert not folder.exists()


def test_a_failed_build_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tiny.vector_pipeline(tmp_path).compile(progress=stop)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_progress_counts_the_gears(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4), progress=lambda *step: seen.append(step))
    assert all(0 <= done <= total for _, done, total in seen)
    assert len({what for what, _, _ in seen}) >= 3


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
