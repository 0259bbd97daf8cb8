from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ge_engine.openvino_runtime import Port
from ops import Array, DeviceError, WrongUse
from pipeline.convert.samples import Sampler, given


class Model:
    """Ten rows can be looked up."""

    def __init__(self, *inputs: Port) -> None:
        self.inputs = inputs

    def __call__(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        try:
            return {"y": np.arange(10)[feeds["ids"]]}
        except IndexError as error:
            raise DeviceError(str(error)) from error


IDS = Port("ids", "int64", ("batch", "length"))
IMAGE = Port("image", "float32", (None, 3, None, 8))


def test_random_inputs_are_of_one_sample_and_of_three() -> None:
    one, three = Sampler(Model(IMAGE), {"image.2": 5}).points()
    assert (one.label, one.feeds["image"].shape) == ("random, batch 1", (1, 3, 5, 8))
    assert (three.label, three.feeds["image"].shape) == ("random, batch 3", (3, 3, 5, 8))
    assert len(Sampler(Model(Port("x", "float32", (2, 3))), {}).points()) == 1
    assert len(Sampler(Model(IMAGE), {"image.2": 5, "image.0": 2}).points()) == 1


def test_a_point_of_other_sizes_says_so() -> None:
    point = Sampler(Model(IMAGE), {"image.2": 5}).point({"image.2": 7})
    assert (point.label, point.feeds["image"].shape) == ("random, batch 1, image.2=7", (1, 3, 7, 8))


def test_ids_are_such_as_the_model_takes() -> None:
    sampler = Sampler(Model(IDS), {"length": 6})
    for point in (*sampler.points(), sampler.point({"length": 9})):
        assert 2 < point.feeds["ids"].max() < 10


def test_where_no_ids_do_that_are_tried_those_of_an_example_do() -> None:
    class Late(Model):
        def __call__(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
            if feeds["ids"].min() < 101:
                raise DeviceError("too small")
            return {}

    with pytest.raises(DeviceError, match="too small"):
        Sampler(Late(IDS), {"length": 4})
    _, three = Sampler(Late(IDS), {"length": 40}, {"ids": [101, 103]}).points()
    assert set(three.feeds["ids"].flat) == {101, 102, 103}
    assert three.feeds["ids"].dtype == np.int64
    one, _ = Sampler(Late(IDS), {"length": 4}, {"ids": [102, 102]}).points()
    assert one.feeds["ids"].tolist() == [[102] * 4]


def test_an_example_of_one_number_does_not_stand_for_all_ids() -> None:
    one, _ = Sampler(Model(IDS), {"length": 40}, {"ids": [0, 0]}).points()
    assert 2 < one.feeds["ids"].max() < 10


def test_given_inputs_are_taken_whole(tmp_path: Path) -> None:
    image = np.asfortranarray(np.ones((2, 3, 5, 8), np.float32))
    np.savez(tmp_path / "data.npz", image=image)
    taken = given(tmp_path / "data.npz", [IMAGE])["image"]
    assert taken.tolist() == image.tolist()
    assert taken.flags.c_contiguous


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "has no input 'image'; it has no array with a name"),
        ({"imag": np.ones(1)}, r"has no input 'image'; it has imag\nfix: in the file call 'imag' 'image'"),
        ({"image": np.ones(1), "mask": np.ones(1)}, r"has 'mask', which is no input\nfix: leave it out of the file"),
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
