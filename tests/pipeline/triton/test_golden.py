from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny
from offline import agree

import ops
from ops import ExportError, TensorSpec
from pipeline import Pipeline
from pipeline.triton.repository import export


def test_arrays_of_bytes_have_golden_requests_too(tmp_path: Path) -> None:
    pipeline = Pipeline("words")
    pipeline.output(y=tiny.Same()(pipeline.input("x", TensorSpec("bytes", (3,)))))
    export(pipeline.compile(), tmp_path / "models")
    agree(pipeline.compile(), tmp_path / "models", [{"x": np.array([b"a", b"", b"\xff\x00"], object)}])


def test_golden_samples_that_fail_say_why_and_none_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"a golden sample fails: input 'x' .*: float32\[3\], wanted float32\[8\]"):
        export(tiny.vector_pipeline(tmp_path).compile(), tmp_path / "models", samples=[{"x": np.zeros(3, np.float32)}])
    pipeline = Pipeline("picture")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    pipeline.output(y=ops.Resize(height=8, width=8)(pixels))
    with pytest.raises(ExportError, match=r"fails: node 'decode_image' \(DecodeImage, .*: not an image: ") as caught:
        export(pipeline.compile(), tmp_path / "models", samples=[{"image": b"text"}])
    assert caught.value.fix == "send a JPEG, PNG, WebP, BMP, TIFF or GIF"
    with pytest.raises(ExportError, match="samples is empty"):
        export(tiny.vector_pipeline(tmp_path).compile(), tmp_path / "models", samples=[])


def test_made_up_samples_that_fail_ask_for_real_ones_and_say_where_and_why(tmp_path: Path) -> None:
    pipeline = Pipeline("picky")
    pipeline.output(y=tiny.Picky()(tiny.Scale(1e6)(pipeline.input("x", tiny.VECTOR))))
    words = r"made up of random data, fails: node 'picky' \(Picky, \S*test_golden\.py:\d+\): .*too small"
    with pytest.raises(ExportError, match=words) as caught:
        export(pipeline.compile(), tmp_path / "models")
    assert "-i NAME=@FILE" in caught.value.fix
