from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tiny

from ge_engine.half.files import write_emulated
from ops import ModelError


def test_a_file_is_written_as_a_cpu_runs_it_with_its_weights_beside_it(tmp_path: Path) -> None:
    source = tiny.vector_model(tmp_path, size=400)  # 6 KiB of weights
    (tmp_path / "out").mkdir()
    written = Path(write_emulated(source, "force_fp16", tmp_path / "out"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["dense.fp16.onnx", "dense.fp16.weights"]
    x = np.random.default_rng(3).normal(size=(2, 400)).astype(np.float32)
    wide, half = (
        onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for path in (source, written)
    )
    assert not np.array_equal(wide, half)
    np.testing.assert_array_equal(half, half.astype(np.float16).astype(np.float32))
    np.testing.assert_allclose(half, wide, atol=0.05)


def test_a_file_that_onnx_cannot_read_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(ModelError, match=r"bad\.onnx cannot be computed in fp16: "):
        write_emulated(tmp_path / "bad.onnx", "fp16", tmp_path)
