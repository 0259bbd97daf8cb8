from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxruntime.quantization import quantize_dynamic
from static import assert_static, run_alone
from weights import ROOT, laid_out

import ops
from ge_engine import Model
from ops import Array
from pipeline import Pipeline, Plan
from pipeline.load import load

GRAPH = str(ROOT / "examples/cnclip/graph.py")
SENTENCES = ["一只猫", "一杯咖啡", "摩托车", "公共汽车", "火箭发射", "网页", ""]


@pytest.fixture(scope="module")
def text_plan() -> Plan:
    return load(f"{GRAPH}:text").compile(gears=(1, 2, 4, 8), streams=2)


@pytest.mark.weights
def test_search_ranks_the_right_picture_first_for_at_least_8_of_10_sentences() -> None:
    laid_out("examples/cnclip/weights/page.png")
    script = str(ROOT / "examples/cnclip/search.py")
    done = subprocess.run([sys.executable, script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    last = done.stdout.decode().splitlines()[-1]
    assert last.endswith("of 10 right")
    assert int(last.split()[0]) >= 8


def test_vectors_have_length_1_and_batches_equal_single_runs(text_plan: Plan) -> None:
    samples = [{"text": sentence} for sentence in SENTENCES]
    with text_plan.session() as session:
        solo = [session.run(**sample)["vector"] for sample in samples]
        for n in range(8):
            answers = session.run_batch(samples[:n])
            assert [a["vector"].tobytes() for a in answers if isinstance(a, dict)] == [v.tobytes() for v in solo[:n]]
    for vector in solo:
        np.testing.assert_allclose(np.linalg.norm(vector), 1, atol=1e-6)


@pytest.mark.weights
def test_the_joined_pipeline_is_the_product_of_its_towers(text_plan: Plan) -> None:
    picture = laid_out("examples/cnclip/weights/chelsea.png").read_bytes()
    image_plan, both = load(f"{GRAPH}:image").compile(), load(GRAPH).compile()
    with text_plan.session() as texts, image_plan.session() as images, both.session() as joined:
        image = images.run(image=picture)["vector"]
        text = texts.run(text="一只猫")["vector"]
        similarity = joined.run(image=picture, text="一只猫")["similarity"]
    np.testing.assert_allclose(similarity, [image @ text], atol=1e-6)
    assert similarity.shape == (1,)


def test_every_static_graph_is_static_and_alone_gives_the_sessions_features() -> None:
    plan = load(GRAPH).compile(gears=(1, 2, 4))
    rng = np.random.default_rng(0)
    with plan.session() as session:
        for name, built in plan.built.items():
            assert not built.dynamic
            assert built.mixing_node is None
            with session.lease(name) as context:
                for array in context.inputs.values():
                    array[:] = rng.integers(0, 255, array.shape)
                for gear, static in built.static.items():
                    feeds = {key: array[: gear.batch].copy() for key, array in context.inputs.items()}
                    context.run(gear.batch)
                    for key, alone in run_alone(static, feeds).items():
                        assert alone.tobytes() == context.outputs[key][: gear.batch].tobytes()
                    assert_static(static, feeds)


def test_the_text_tower_quantized_to_int8_is_found_to_mix_rows_and_is_not_merged(tmp_path: Path) -> None:
    # Dynamic quantization, as for int8 transformers: one scale over the whole batch.
    source = ROOT / "examples/cnclip/mini_clip/text.onnx"
    quantize_dynamic(source, tmp_path / "text.onnx", op_types_to_quantize=["MatMul", "Gemm"])
    pipeline = Pipeline("quantized")
    ids, _, _ = ops.Tokenize(vocab=str(ROOT / "examples/cnclip/vocab.txt"))(pipeline.input("text", ops.TEXT))
    pipeline.output(features=Model(tmp_path / "text.onnx")(ids))
    plan = pipeline.compile(gears=(1, 2, 4))
    (built,) = plan.built.values()
    assert built.mixing_node is not None
    samples = [{"text": sentence} for sentence in SENTENCES]
    with plan.session() as session:
        solo = [session.run(**sample)["features"] for sample in samples]
        answers = session.run_batch(samples)
    assert [a["features"].tobytes() for a in answers if isinstance(a, dict)] == [v.tobytes() for v in solo]


def assert_rows_stay(plan: Plan, rows: Array, fillers: Iterable[Any]) -> None:
    """The first two rows of the gear of 4 give the same bytes, whatever fills the other two."""
    (built,) = plan.built.values()
    (static,) = built.static.values()
    ((key, dtype, shape),) = static.inputs
    batch = np.zeros(shape, dtype)
    batch[:2] = rows
    want = run_alone(static, {key: batch})
    for filler in fillers:
        batch[2:] = filler
        for output, array in run_alone(static, {key: batch}).items():
            assert array[:2].tobytes() == want[output][:2].tobytes()


def test_other_sentences_never_reach_the_real_rows_of_the_text_towers_static_graph() -> None:
    tokenize = ops.Tokenize(vocab=str(ROOT / "examples/cnclip/vocab.txt"))
    ids = [tokenize.run(sentence.encode())[0] for sentence in SENTENCES]
    others = [np.stack(ids[first : first + 2]) for first in range(2, len(ids) - 1)]
    assert_rows_stay(load(f"{GRAPH}:text").compile(gears=(4,)), np.stack(ids[:2]), others)


def test_other_pixels_never_reach_the_real_rows_of_the_image_towers_static_graph() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 224, 224, 3), np.uint8)
    assert_rows_stay(load(f"{GRAPH}:image").compile(gears=(4,)), pixels[:2], (255, pixels[2:]))


def test_nan_never_reaches_the_real_rows_of_the_image_model_that_is_given_floats() -> None:
    pipeline = Pipeline("floats")
    x = pipeline.input("x", ops.TensorSpec("float32", (3, 224, 224)))
    pipeline.output(features=Model(ROOT / "examples/cnclip/mini_clip/image.onnx")(x))
    values = np.random.default_rng(0).normal(size=(4, 3, 224, 224)).astype(np.float32)
    assert_rows_stay(pipeline.compile(gears=(4,)), values[:2], (255, np.nan, np.inf, values[2:]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "run make setup, or name pictures of your own"), (("一只猫", "-p", "none.jpg"), "No such file.*none.jpg")],
    ids=["no weights", "no picture"],
)
def test_search_without_pictures_says_so_in_words(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    shutil.copytree(ROOT / "examples/cnclip", tmp_path / "cnclip", ignore=shutil.ignore_patterns("weights"))
    command = [sys.executable, str(tmp_path / "cnclip" / "search.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(message, done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.weights
def test_both_towers_keep_their_direction_in_fp16() -> None:
    chelsea = laid_out("examples/cnclip/weights/chelsea.png").read_bytes()
    samples = {"image": [{"image": chelsea}], "text": [{"text": sentence} for sentence in SENTENCES]}
    for tower, asked in samples.items():
        vectors = []
        for precision in ("origin", "fp16"):
            with load(f"{GRAPH}:{tower}").compile(precision=precision).session() as session:
                vectors.append(np.stack([session.run(**sample)["vector"] for sample in asked]))
        wide, half = vectors
        assert not np.array_equal(wide, half)
        cosines = (wide * half).sum(1) / np.linalg.norm(wide, axis=1) / np.linalg.norm(half, axis=1)
        assert cosines.min() > 0.9999, tower
