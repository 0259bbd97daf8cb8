from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_files import node, onnx_model, tensor

from ops import WrongUse
from pipeline.compare.sides import DumpSide, GraphSide, Raw, fitted

PLACES = {"/head/Conv_output_0": ("/head/Conv", 0), "split_b": ("/split", 1), "y": ("last", 0)}
A = np.float32([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("file", "tensor_name"),
    [
        ("_head_Conv_output_0.npy", "/head/Conv_output_0"),  # the tensor's own name
        ("Conv2D._head_Conv.12.3.1682067845380164.output.0.npy", "/head/Conv_output_0"),  # a dump of GE, parsed
        ("Conv2D._head_Conv.3.1682067845380164.output.0.npy", "/head/Conv_output_0"),
        ("SplitD._split.12.3.1682067845380164.output.1.npy", "split_b"),
        ("_split.1.1682148256368588.npy", "split_b"),  # what Ascend's tools dump of an ONNX model
        ("last.npy", "y"),  # the node's name
    ],
)
def test_a_tensor_is_found_by_the_name_that_its_file_has(tmp_path: Path, file: str, tensor_name: str) -> None:
    np.save(tmp_path / file, A)
    side = DumpSide(tmp_path)
    assert side.known(PLACES) == {tensor_name}
    ((name, value),) = side.values({}, [tensor_name])
    assert name == tensor_name
    np.testing.assert_array_equal(value, A)


def test_an_npz_holds_tensors_by_name_and_what_belongs_to_none_is_told(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", y=A, split_b=A + 1)
    np.save(tmp_path / "fused_away.npy", A)
    side = DumpSide(tmp_path)
    assert side.known(PLACES) == {"y", "split_b"}
    assert {name: value.tolist() for name, value in side.values({}, ["y", "split_b"])} == {
        "y": A.tolist(), "split_b": (A + 1).tolist(),
    }  # fmt: skip
    assert side.strangers() == [str(tmp_path / "fused_away.npy")]


def raw(path: Path, data: bytes) -> Raw:
    path.write_bytes(data)
    return Raw(path)


def test_bytes_take_the_dtype_of_their_length_and_another_layout_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "y.bin"
    np.testing.assert_array_equal(fitted(raw(path, A.tobytes()), A), A)
    np.testing.assert_array_equal(fitted(raw(path, A.astype(np.float16).tobytes()), A), A.astype(np.float16))
    np.testing.assert_array_equal(fitted(A.reshape(4, 1), A), A)
    assert fitted(raw(path, b"123"), A) == "3 bytes are no float32[2, 2]"
    assert fitted(A[0], A) == "its shape is [2], not [2, 2]"


def test_bytes_that_do_not_fit_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "y.bin").open("wb") as file:
        file.truncate(1 << 40)
    assert fitted(Raw(tmp_path / "y.bin"), A) == f"{1 << 40} bytes are no float32[2, 2]"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (np.array(["a"] * 4), "<U1"),
        (np.zeros(4, complex), "complex128"),
        (np.zeros(4, "M8[s]"), "datetime64[s]"),
        ([A, A], "list"),
    ],
)
def test_what_is_no_number_is_a_fault(value: Any, kind: str) -> None:
    assert fitted(value, A) == f"it is {kind}, no numbers"


def test_a_folder_without_tensors_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match=r"there is no \.npy, \.npz, \.bin in"):
        DumpSide(tmp_path)


def test_a_file_that_is_no_array_is_refused(tmp_path: Path) -> None:
    (tmp_path / "y.npy").write_bytes(b"no array")
    side = DumpSide(tmp_path)
    side.known(PLACES)
    with pytest.raises(WrongUse, match=r"y\.npy cannot be read"):
        list(side.values({}, ["y"]))


def test_a_graph_gives_its_values_by_the_names_of_the_comparison() -> None:
    graph = onnx_model([node("Neg", ["own"], ["made"], name="n")], [tensor("own", [2])], [tensor("made", [2])])
    side = GraphSide("other", graph, {"own": "x", "made": "y"})
    assert side.known({"y": ("last", 0), "z": ("none", 0)}) == {"y"}
    ((name, value),) = side.values({"x": np.float32([1, 2])}, ["y"])
    assert (name, value.tolist()) == ("y", [-1, -2])
