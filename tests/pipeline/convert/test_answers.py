from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from frozen_graphs import dense_answer, dense_graph
from onnx_files import node, save, scale_model, tensor

from ge_engine.openvino_runtime import Port
from ops import DeviceError
from pipeline.convert.answers import answer_of, runnable, source_answers
from pipeline.convert.options import Options
from pipeline.convert.source import ONNX, Source

X = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)


def test_an_onnx_file_and_a_frozen_graph_answer_by_name(tmp_path: Path) -> None:
    onnx = runnable(scale_model(tmp_path / "m.onnx", dims=("batch", 8)))
    assert onnx.inputs == [Port("x", "float32", ("batch", 8))]
    assert onnx({"x": X})["y"].tolist() == (2 * X).tolist()
    pytest.importorskip("openvino")
    frozen = runnable(dense_graph(tmp_path / "m.pb"))
    assert frozen.inputs == [Port("x", "float32", (None, 8))]
    np.testing.assert_allclose(frozen({"x": X})["y"], dense_answer(X), atol=1e-6)


def test_a_run_that_fails_is_told_in_the_runtimes_own_words(tmp_path: Path) -> None:
    nodes = [node("Reshape", ["x", "shape"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [tensor("x", ("n", 8))], [tensor("y", (2, 8))], {"shape": np.int64([2, 8])})
    with pytest.raises(DeviceError, match="cannot be reshaped"):
        runnable(path)({"x": X})
    assert isinstance(answer_of(runnable(path), {"x": X}), DeviceError)


def test_a_source_that_is_onnx_is_asked_here(tmp_path: Path) -> None:
    source = Source(ONNX, str(scale_model(tmp_path / "m.onnx", dims=("n", 8))))
    options = Options(python="no python is needed")
    answer, failure = source_answers(source, [{"x": X}, {"x": X[:, 1:]}], options)
    assert isinstance(answer, dict)
    assert answer["y"].tolist() == (2 * X).tolist()
    assert isinstance(failure, DeviceError)
