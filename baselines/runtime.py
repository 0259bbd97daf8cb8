"""ONNX Runtime sessions, as every one of these opens them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime


def open_session(model: Path, threads: int) -> Any:
    """A session on the CPU. threads: of one run; 0 for one a core."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
