from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ge_engine import runtime
from ops import DeviceError


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(DeviceError, match=r"m\.onnx: .*[Pp]rotobuf"):
        runtime.loaded(tmp_path / "m.onnx", threads=1)


def test_what_cannot_be_bound_has_no_address() -> None:
    array = np.zeros((2, 3), np.float32)
    assert runtime.address(array) == array.ctypes.data
    for other in (array.T, np.array([b"a"], object)):
        with pytest.raises(AssertionError):
            runtime.address(other)
