from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ops import WrongUse
from pipeline.arrays import array_in, arrays_in, inputs_in, names_in

X = np.float32([[1, 2]])


def saved(path: Path) -> Path:
    np.savez(path, x=X, y=X + 1)
    return path


def test_an_npz_has_arrays_by_name_and_an_npy_has_one(tmp_path: Path) -> None:
    path = saved(tmp_path / "m.npz")
    assert names_in(path) == ["x", "y"]
    assert array_in(path, "y").tolist() == [[2, 3]]
    assert {name: array.tolist() for name, array in arrays_in(path).items()} == {"x": [[1, 2]], "y": [[2, 3]]}
    np.save(tmp_path / "m.npy", X)
    assert array_in(tmp_path / "m.npy").tolist() == arrays_in(tmp_path / "m.npy")[""].tolist() == [[1, 2]]


def flipped(path: Path) -> None:
    data = bytearray(saved(path).read_bytes())
    data[150] ^= 255  # a value: the checksum tells
    path.write_bytes(bytes(data))


def endless(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, X)
    path.write_bytes(path.read_bytes().replace(b"(1, 2)", b"(1, 99999999999999)"))


@pytest.mark.parametrize(
    "write",
    [
        lambda path: path.touch(),
        lambda path: path.write_bytes(b"text"),
        lambda path: path.write_bytes(b"PK\x03\x04text"),
        lambda path: path.mkdir(),
        lambda path: np.savez(path, x=np.array([{}], object)),
        lambda path: None,
        flipped,
        endless,
    ],
)
def test_a_file_that_holds_no_arrays_is_refused(tmp_path: Path, write: Callable[[Path], object]) -> None:
    path = tmp_path / "m.npz"
    write(path)
    with pytest.raises(WrongUse, match=r"m\.npz cannot be read: .") as error:
        arrays_in(path)
    assert error.value.fix.startswith("write it with numpy.savez")


@pytest.mark.parametrize(
    ("names", "message", "fix"),
    [
        (["x", "yy"], "has no input 'yy'; it has x, y", "in the file call 'y' 'yy'"),
        (["ids", "y"], "has no input 'ids'; it has x, y", "in the file call 'x' 'ids'"),
        (
            ["ids", "mask"],
            "has no input 'ids'; it has x, y",
            "write it with numpy.savez(file, name=array), by the inputs' names: ids, mask",
        ),
    ],
)
def test_it_is_the_file_that_has_to_use_the_names_of_the_inputs(
    tmp_path: Path, names: list[str], message: str, fix: str
) -> None:
    with pytest.raises(WrongUse, match=message) as error:
        inputs_in(saved(tmp_path / "m.npz"), names)
    assert error.value.fix == fix
