from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from onnx_files import scale_model

import ops
from ge_engine import Model
from ops import Graded, TensorSpec
from pipeline import Pipeline, Plan
from pipeline.explain import explain, rows


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    pipeline = Pipeline("sized")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    image, transform = ops.Letterbox(sizes=((32, 32), (32, 16)))(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    pipeline.output(y=Model(tiny.picture_model(tmp_path_factory.mktemp("models")))(x), transform=transform)
    return pipeline.compile(gears=(1, 4))


def test_there_is_a_row_for_each_value_with_its_stage_layout_and_largest_size(plan: Plan) -> None:
    found = {row.key: row for row in rows(plan)}
    assert list(found) == ["image", "decode_image", "letterbox.image", "letterbox.transform", "normalize", "y"]
    assert {row.stage for row in found.values()} == {"", "host0", "picture"}
    assert [row.layout for row in found.values()] == ["", "HWC", "HWC", "", "CHW", ""]
    assert (found["normalize"].placement, found["normalize"].gears) == ("device", "32x32,32x16")
    assert [row.nbytes for row in found.values()] == [None, None, 32 * 32 * 3, 24, 32 * 32 * 3 * 4, 16]
    crossing = [row.key for row in found.values() if row.crosses]
    assert crossing == ["image", "letterbox.image", "letterbox.transform", "y"]


def test_columns_are_aligned_and_each_stage_is_headed(plan: Plan) -> None:
    lines = explain(plan).splitlines()
    assert [line for line in lines if line.startswith(("caller", "host0", "picture ("))] == [
        "caller",
        "host0 (host)",
        "picture (device, gears 32x32,32x16)",
    ]
    end = lines.index("passes:")
    values = [line for line in lines[:end] if line.startswith("  ")]
    assert len({len(line) for line in values}) == 1
    assert lines[end - 1] == "outputs: y = y, transform = letterbox.transform"
    (built,) = (line for line in lines if line.startswith("picture: 2 static graphs"))
    assert "; up to 4 samples of one size at once on CPU; " in built


def test_a_plan_of_one_graph_and_one_stream_is_told_in_the_singular(tmp_path: Path) -> None:
    text = explain(tiny.vector_pipeline(tmp_path).compile())
    assert "dense: 1 static graph; one session serves all on CPU; each static graph, run alone, gives the same " in text
    assert text.splitlines()[-3].endswith("; 1 stream")


def test_a_model_of_a_fixed_batch_has_sessions_of_its_own(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "fixed.onnx", dims=(2, 8))
    pipeline = Pipeline("fixed")
    pipeline.output(y=Model(path)(pipeline.input("x", tiny.VECTOR)))
    plan = pipeline.compile(gears=(2,))
    assert "each gear has a session of its own on CPU" in explain(plan)
    assert "G52 advice" in explain(plan)


def test_a_layout_is_told_only_for_pictures() -> None:
    pipeline = Pipeline("any")
    specs = {
        "hwc": ("H", "W", 3),
        "chw": (1, 8, 8),
        "rows": (7, 8, 9),
        "flat": (3,),
        "sized": (Graded("H", (4,)), 2, 4),
    }
    for name, shape in specs.items():
        edge = pipeline.input(name, TensorSpec("float32", shape))  # type: ignore[arg-type]
        pipeline.output(**{f"same_{name}": tiny.Same()(edge)})
    found = {row.key: row.layout for row in rows(pipeline.compile())}
    assert [found[name] for name in specs] == ["HWC", "CHW", "", "", "HWC"]


def test_the_passes_say_what_was_and_what_is_and_why(plan: Plan) -> None:
    lines = explain(plan).splitlines()
    start = lines.index("passes:")
    assert lines[start + 1].startswith("  place: normalize (")
    assert "test_explain.py:" in lines[start + 1]
    assert lines[start + 2 : start + 4] == [
        "    on the host, normalize float32[3,H,W] crosses -> in the graph, letterbox.image uint8[H,W,3] crosses",
        "    9,216 bytes less; bitwise; an NPU is spared bytes, and the host work",
    ]


def test_a_plan_that_keeps_every_byte_says_so(tmp_path: Path) -> None:
    assert "passes, exact: every byte is kept: nothing changed" in str(
        tiny.vector_pipeline(tmp_path).compile(exact=True)
    )


@pytest.mark.parametrize(
    ("precision", "said"),
    [
        ("origin", "dense: 1 static graph; one session"),
        ("fp16", "dense: 1 static graph, fp16 (emulated); one session"),
        ("mixed_hif8", "dense: 1 static graph, mixed_hif8 (not emulated: runs as origin); one session"),
    ],
)
def test_a_precision_is_told_with_what_a_cpu_does_for_it(tmp_path: Path, precision: str, said: str) -> None:
    assert said in explain(tiny.vector_pipeline(tmp_path).compile(precision=precision))
