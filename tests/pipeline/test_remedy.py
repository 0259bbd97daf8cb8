from __future__ import annotations

from pathlib import Path

import pytest
from bad_graphs import PRELUDE, declared, findings_of

SAMPLE = 'sample = pipeline.input("sample", TensorSpec("float32", ({})))\npipeline.output(y={})\n'
NORMALIZED = """
pixels = pipeline.input("pixels", {})
normal = ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(pixels)
pipeline.output(y={}(normal){})
"""
HEAD = """
image, x = pipeline.input("image", IMAGE), pipeline.input("x", VECTOR)
head = pipeline.input("head", TensorSpec("float32", (6, 84)))
framed, transform = ops.Letterbox(height=64, width=64)(image)
"""


def fix_of(source: str, folder: Path) -> str:
    (found,) = findings_of(declared(PRELUDE + source, folder)[0])
    assert found.severity == "refused"
    return found.fix


@pytest.mark.parametrize("pixels", ["IMAGE", "PIXELS"])
@pytest.mark.parametrize(
    "op", ["Resize(height=64, width=64)", 'Resize(height=64, width=64, filter="pillow_bilinear")', "Letterbox(64, 64)"]
)
def test_what_reads_pixels_behind_normalize_is_to_be_swapped_with_it(project: Path, pixels: str, op: str) -> None:
    said = fix_of(NORMALIZED.format(pixels, f"ops.{op}", ".image" * op.startswith("Letterbox")), project)
    name = op.partition("(")[0]
    assert said == f"swap the two: {name} reads pixels, so it stands before node 'normalize' (Normalize) at graph.py:15"


@pytest.mark.parametrize(
    ("dims", "reader", "sample"),
    [
        ("1, 3, 640, 640", 'Model("weights/square.onnx")(sample)', "(3,640,640)"),
        ('"N", 8', "dense(sample)", "(8,)"),
        ("1, 8", "ops.TopK(k=2)(sample).scores", "(8,)"),
    ],
)
def test_a_batch_in_the_spec_of_an_input_is_to_be_left_out(project: Path, dims: str, reader: str, sample: str) -> None:
    assert fix_of(SAMPLE.format(dims, reader), project) == f"leave out the batch at graph.py:13: {sample}"


@pytest.mark.parametrize("dims", ["2, 8", "1, 9"])
def test_what_is_no_batch_is_not_said_to_be_one(project: Path, dims: str) -> None:
    assert fix_of(SAMPLE.format(dims, "dense(sample)"), project) == "give a sample of rank 1"


def test_the_one_value_that_fits_is_named(project: Path) -> None:
    source = HEAD + "pipeline.output(x=dense(x), boxes=ops.YoloBoxes()(transform, transform).boxes, f=framed, h=head)\n"
    found = findings_of(declared(PRELUDE + source, project)[0])
    fix = next(one.fix for one in found if one.rule == "G11")
    assert fix.startswith("pass input 'head' at graph.py:15, the one value before it that fits; or give")


def test_of_several_that_fit_none_is_named(project: Path) -> None:
    source = 'a, b = pipeline.input("a", VECTOR), pipeline.input("b", VECTOR)\nimage = pipeline.input("image", IMAGE)\n'
    used = "pipeline.output(s=ops.Similarity()(a, b), t=ops.TopK(k=2)(image).scores)\n"
    assert "pass" not in fix_of(source + used, project)
