from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_files import node, onnx_model, tensor

from ge_engine.inspect.layout import layout_of

NEG = [node("Neg", ["x"], ["y"])]


def layout(dims: Sequence[Any] | None, nodes: Sequence[onnx.NodeProto] = NEG, dtype: str = "float32") -> str:
    kind = np.float32 if dtype == "float32" else np.dtype(dtype)
    return layout_of("x", dtype, dims, onnx_model(nodes, [tensor("x", dims, kind)], []).graph)


@pytest.mark.parametrize(
    ("dims", "wanted"),
    [
        (("b", 3, 8, 8), "NCHW"),
        (("b", 8, 8, 3), "NHWC"),
        (("b", 3, 8, 3), ""),
        (("b", "channels", "height", "width"), "NCHW"),
        (("b", "h", "w", "c"), "NHWC"),
        (("b", 8), "vector"),
        ((), "scalar"),
        (("b", 4, 5), ""),
        (None, ""),
    ],
)
def test_by_sizes_and_names(dims: Sequence[Any] | None, wanted: str) -> None:
    assert layout(dims) == wanted


def test_ids_are_tokens_and_bytes_with_channels_last_a_picture() -> None:
    assert layout(("b", "s"), dtype="int64") == "tokens"
    assert layout(("H", "W", 3), dtype="uint8") == "HWC"
    assert layout(("height", "width", "channel"), dtype="uint8") == "HWC"


def test_who_reads_it_says_more_than_its_sizes() -> None:
    assert layout(("b", 3, 8, 3), [node("Div", ["x", "s"], ["d"]), node("Conv", ["d", "w"], ["y"])]) == "NCHW"
    assert layout(("b", 3, 8, 3), [node("Transpose", ["x"], ["y"], perm=[0, 3, 1, 2])]) == "NHWC"
