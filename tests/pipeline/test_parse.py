from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ops import ENCODED_IMAGE, TEXT, TensorSpec, Where, WrongUse
from pipeline.declaration import Input
from pipeline.parse import sample_from


def inputs(**specs: TensorSpec) -> list[Input]:
    return [Input(name, spec, Where("graph.py", 1)) for name, spec in specs.items()]


def value(word: str, spec: TensorSpec) -> Any:
    return sample_from([f"x={word}"], inputs(x=spec))["x"]


def test_text_is_its_utf8_and_a_file_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "猫.jpg").write_bytes(b"\xff\xd8=@")
    sample = sample_from([f"image=@{tmp_path / '猫.jpg'}", "text=一只=猫"], inputs(image=ENCODED_IMAGE, text=TEXT))
    assert sample == {"image": b"\xff\xd8=@", "text": "一只=猫".encode()}
    assert value("", TEXT) == b""


@pytest.mark.parametrize(
    ("word", "spec", "want"),
    [
        ("[1, 2]", TensorSpec("float32", (2,)), np.array([1, 2], np.float32)),
        ("[[1], [0]]", TensorSpec("bool", (2, 1)), np.array([[True], [False]])),
        ("[true, false]", TensorSpec("bool", (2,)), np.array([True, False])),
        ("[255]", TensorSpec("uint8", (1,)), np.array([255], np.uint8)),
        ("[9007199254740993]", TensorSpec("int64", (1,)), np.array([9007199254740993])),
        ("[0.1]", TensorSpec("float16", (1,)), np.array([0.1], np.float16)),
        ("[NaN]", TensorSpec("float32", (1,)), np.array([np.nan], np.float32)),
        ('["a", "猫"]', TensorSpec("bytes", (2,)), np.array([b"a", "猫".encode()], object)),
    ],
)
def test_json_is_an_array_of_the_inputs_dtype(word: str, spec: TensorSpec, want: Any) -> None:
    got = value(word, spec)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_arrays_come_from_files(tmp_path: Path) -> None:
    spec = TensorSpec("int32", (3,))
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.int32))
    (tmp_path / "x.json").write_text("[0, 1, 2]", encoding="utf-8")
    for name in ("x.npy", "x.json"):
        assert value(f"@{tmp_path / name}", spec).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("word", "dtype", "message"),
    [
        ("[1.5]", "int32", "1.5 is not a int32"),
        ("[256]", "uint8", "256 is not a uint8"),
        ("[-1]", "uint8", "-1 is not a uint8"),
        ("[2]", "bool", "2 is not a bool"),
        ("[NaN]", "int64", "nan is not a int64"),
        ("[1e40]", "int64", "is not a int64"),
        ('["a"]', "float32", "is not an array of numbers"),
        ("{}", "float32", "is not an array of numbers"),
        ("null", "float32", "is not an array of numbers"),
        ("[[1], [2, 3]]", "float32", "inhomogeneous"),
        ("[1", "float32", "Expecting"),
        ("dog.npy", "float32", "Expecting"),
        ("[1]", "bytes", "is not text"),
    ],
)
def test_what_the_dtype_does_not_hold_is_refused_and_not_bent(word: str, dtype: str, message: str) -> None:
    with pytest.raises(WrongUse, match=message) as error:
        value(word, TensorSpec(dtype, (1,)))
    assert "as JSON, or @ and the name of a .json or .npy file" in error.value.fix


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(WrongUse, match="allow_pickle"):
        value(f"@{tmp_path / 'x.npy'}", TensorSpec("float32", (1,)))


def test_names_are_looked_at_first() -> None:
    two = inputs(ids=TensorSpec("int64", (2,)), text=TEXT)
    for words, message in (
        (["ids"], "no '='"),
        (["idz=1"], "there is no input 'idz'\nfix: did you mean 'ids'"),
        (["text=a", "text=b"], "input 'text' is given twice"),
        (["text=a"], r"no value for input 'ids'\nfix: add -i ids=\[...\]"),
        ([], "no value for input 'ids', 'text'\nfix: add -i ids=.* -i text=@FILE"),
        (["text=@/no/such/file"], "No such file"),
    ):
        with pytest.raises(WrongUse, match=message):
            sample_from(words, two)


def test_the_bytes_of_a_word_are_what_the_terminal_sent() -> None:
    """In a C locale Python hands on what it cannot decode as surrogates."""
    assert value(os.fsdecode(b"\xe7\x8c\xab\xff"), TEXT) == b"\xe7\x8c\xab\xff"
