from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ge_engine.openvino_runtime import Port
from ops import Array, WrongUse
from pipeline.convert.samples import feeds_for, given, tensors_of


class Model:
    """Ten rows can be looked up."""

    def __init__(self, *inputs: Port) -> None:
        self.inputs = inputs

    def __call__(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        return {"y": np.arange(10)[feeds["ids"]]}


IDS = Port("ids", "int64", ("batch", "length"))
IMAGE = Port("image", "float32", (None, 3, None, 8))


def test_random_inputs_are_of_one_sample_and_of_three() -> None:
    one, three = feeds_for(Model(IMAGE), {"image.2": 5}, None)
    assert one["image"].shape == (1, 3, 5, 8)
    assert three["image"].shape == (3, 3, 5, 8)
    assert len(feeds_for(Model(Port("x", "float32", (2, 3))), {}, None)) == 1


def test_ids_are_such_as_the_model_takes() -> None:
    for feeds in feeds_for(Model(IDS), {"length": 6}, None):
        assert feeds["ids"].max() < 10


@pytest.mark.parametrize(("port", "asked"), [(IDS, "--at length=640"), (IMAGE, "--at image.2=640")])
def test_a_dim_without_a_size_is_asked_for(port: Port, asked: str) -> None:
    with pytest.raises(WrongUse, match="varies") as error:
        tensors_of([port], {}, batch=1)
    assert error.value.fix == f"give it a size: {asked}"


def test_given_inputs_are_taken_whole(tmp_path: Path) -> None:
    image = np.asfortranarray(np.ones((2, 3, 5, 8), np.float32))
    np.savez(tmp_path / "data.npz", image=image)
    taken = feeds_for(Model(IMAGE), {"image.2": 5}, tmp_path / "data.npz")[-1]["image"]
    assert taken.tolist() == image.tolist()
    assert taken.flags.c_contiguous


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "has no array 'image'"),
        ({"imag": np.ones(1)}, "has 'imag', which is no input"),
        ({"image": np.ones((1, 3, 5, 8))}, r"'image' is float64\[1, 3, 5, 8\], the model wants float32\[\?,3,\?,8\]"),
        ({"image": np.ones((3, 5, 8), np.float32)}, r"'image' is float32\[3, 5, 8\]"),
        ({"image": np.ones((1, 4, 5, 8), np.float32)}, r"'image' is float32\[1, 4, 5, 8\]"),
    ],
)
def test_given_inputs_that_do_not_fit_are_refused(tmp_path: Path, arrays: dict[str, Array], message: str) -> None:
    np.savez(tmp_path / "data.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(WrongUse, match=message):
        given(tmp_path / "data.npz", [IMAGE])


def test_a_npy_is_the_one_input(tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.ones((2, 3, 5, 8), np.float32))
    assert given(tmp_path / "image.npy", [IMAGE])["image"].shape == (2, 3, 5, 8)


def test_a_file_that_is_no_npz_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.npz").write_bytes(b"text")
    with pytest.raises(WrongUse, match="cannot be read"):
        given(tmp_path / "data.npz", [IMAGE])
