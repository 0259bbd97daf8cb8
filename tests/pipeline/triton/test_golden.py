from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tiny
from offline import agree
from onnx_files import node, save, tensor

import ops
from ge_engine import Model
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


def test_ids_that_the_pipeline_itself_makes_are_not_hidden_by_other_samples(tmp_path: Path) -> None:
    nodes = [node("Add", ["ids", "much"], ["far"]), node("Gather", ["table", "far"], ["y"])]  # not seen before it runs
    ids, y = tensor("ids", ("batch", 4), np.int64), tensor("y", ("batch", 4))
    save(tmp_path / "m.onnx", nodes, [ids], [y], {"much": np.int64([7]), "table": np.zeros(8, np.float32)})
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
    pipeline = Pipeline("far")
    made = ops.Tokenize(tmp_path / "vocab.txt", max_length=4)(pipeline.input("text", ops.TEXT))
    pipeline.output(y=Model(tmp_path / "m.onnx")(made.ids))
    with pytest.raises(ExportError, match="an id is 9, and the table has 8 rows") as caught:
        export(pipeline.compile(), tmp_path / "models")
    assert re.search("is its vocabulary the model's.*; or give samples", caught.value.fix)


def test_made_up_samples_that_fail_ask_for_real_ones_and_say_where_and_why(tmp_path: Path) -> None:
    pipeline = Pipeline("picky")
    pipeline.output(y=tiny.Picky()(tiny.Scale(1e6)(pipeline.input("x", tiny.VECTOR))))
    words = r"made up of random data, fails: node 'picky' \(Picky, \S*test_golden\.py:\d+\): .*too small"
    with pytest.raises(ExportError, match=words) as caught:
        export(pipeline.compile(), tmp_path / "models")
    assert "-i NAME=@FILE" in caught.value.fix
