from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from ops import ENCODED_IMAGE, Counted, Graded, SampleError, TensorSpec, Where
from pipeline.declaration import Input
from pipeline.sample import SampleCheck


def check(contiguous: str = "", **specs: TensorSpec) -> SampleCheck:
    inputs = tuple(Input(name, spec, Where("graph.py", 1)) for name, spec in specs.items())
    return SampleCheck(inputs, frozenset(contiguous.split()))


@pytest.mark.parametrize("value", [b"ab", bytearray(b"ab"), memoryview(b"ab"), "ab"])
def test_bytes_and_text_in_any_form_become_bytes(value: Any) -> None:
    values, copied = check(image=ENCODED_IMAGE).values({"image": value})
    assert values == {"image": b"ab"}
    assert type(values["image"]) is bytes
    assert copied == 0  # arrays are counted


def test_the_callers_array_is_handed_on_as_it_is() -> None:
    x = np.zeros((2, 3), np.float32)
    values, copied = check("x", x=TensorSpec("float32", (2, "n"))).values({"x": x})
    assert values["x"] is x
    assert copied == 0


def test_an_array_that_ops_read_is_brought_into_one_piece_and_counted() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4).T
    spec = TensorSpec("float32", (4, 3))
    values, copied = check("x", x=spec).values({"x": x})
    assert values["x"].flags.c_contiguous
    np.testing.assert_array_equal(values["x"], x)
    assert copied == x.nbytes
    values, copied = check(x=spec).values({"x": x})  # what goes into a buffer is copied there, once
    assert values["x"] is x
    assert copied == 0


SPECS = {
    "x": TensorSpec("uint8", ("H", "W", 3)),
    "y": TensorSpec("float32", ("H", Counted("boxes", 2))),
}
FINE = {"x": np.zeros((4, 5, 3), np.uint8), "y": np.zeros((4, 1), np.float32)}


def test_a_name_is_one_size_in_all_inputs() -> None:
    assert set(check(**SPECS).values(FINE)[0]) == {"x", "y"}
    with pytest.raises(
        SampleError, match=r"input 'y' \(graph.py:1\): float32\[3,1\], wanted float32\[H,boxes<=2\]"
    ) as error:
        check(**SPECS).values({**FINE, "y": np.zeros((3, 1), np.float32)})
    assert "a named dim has one size in all inputs" in error.value.fix


def test_a_size_is_one_of_the_gears() -> None:
    sized = check(x=TensorSpec("uint8", (Graded("H", (8, 8)), Graded("W", (8, 6)))))
    assert sized.values({"x": np.zeros((8, 6), np.uint8)})[1] == 0
    with pytest.raises(SampleError, match=r"uint8\[6,8\], wanted uint8\[H,W\]"):
        sized.values({"x": np.zeros((6, 8), np.uint8)})


def test_a_size_that_inputs_share_is_one_size() -> None:
    length = Graded("length", (8, 6))
    shared = check(ids=TensorSpec("int64", (length,)), mask=TensorSpec("int64", (length,)))
    ids = np.zeros(6, np.int64)
    assert set(shared.values({"ids": ids, "mask": ids})[0]) == {"ids", "mask"}
    with pytest.raises(SampleError, match=r"input 'mask' .*int64\[8\], wanted int64\[length\]") as error:
        shared.values({"ids": ids, "mask": np.zeros(8, np.int64)})
    assert "a named dim has one size in all inputs" in error.value.fix


@pytest.mark.parametrize(
    ("change", "message", "fix"),
    [
        ({"y": np.zeros((4, 1))}, r"'y' .*: float64\[4,1\], wanted float32", r"\.astype\(np\.float32\)"),
        ({"x": np.zeros((1, 4, 5, 3), np.uint8)}, r"uint8\[1,4,5,3\], wanted uint8\[H,W,3\]", r"no batch axis"),
        ({"x": np.zeros((4, 5, 4), np.uint8)}, r"uint8\[4,5,4\], wanted", r"give the shape \[H,W,3\]"),
        ({"y": np.zeros((4, 3), np.float32)}, r"float32\[4,3\], wanted", "give the shape"),
        ({"x": [[0]]}, "'x' .*: a list, wanted", "a numpy array of uint8"),
        ({"X": 1}, "there is no input 'X'", "did you mean 'x'"),
    ],
)
def test_what_is_wrong_is_named_with_both_and_the_remedy(change: dict[str, Any], message: str, fix: str) -> None:
    with pytest.raises(SampleError, match=f"(?s){message}.*fix: .*{fix}"):
        check(**SPECS).values({**FINE, **change})


def test_every_input_that_is_missing_is_named() -> None:
    with pytest.raises(SampleError, match="no value for input 'x', 'y'"):
        check(**SPECS).values({})


class Broken(Mapping[str, Any]):
    """A mapping whose values cannot be had."""

    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("the file is gone")

    def __iter__(self) -> Iterator[str]:
        return iter(SPECS)

    def __len__(self) -> int:
        return len(SPECS)


def test_a_mapping_of_the_callers_own_may_fail() -> None:
    with pytest.raises(SampleError, match=r"cannot be read: RuntimeError: the file is gone"):
        check(**SPECS).values(Broken())
