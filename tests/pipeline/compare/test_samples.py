from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from onnx_files import node, save, tensor

from ge_engine.skeleton import Skeleton, read_skeleton
from ops import ENCODED_IMAGE, TEXT, TensorSpec, Where, WrongUse
from pipeline.compare.samples import model_feeds, pipeline_samples, random_feeds
from pipeline.declaration import Input

X = np.float32([[1, 2, 3, 4]])


def declared(**specs: TensorSpec) -> list[Input]:
    return [Input(name, spec, Where("graph.py", 1)) for name, spec in specs.items()]


@pytest.fixture
def skeleton(tmp_path: Path) -> Skeleton:
    ports = [tensor("x", ["batch", 4]), tensor("i", ["batch"], np.int64)]
    nodes = [node("Relu", ["x"], ["y"], name="r"), node("Identity", ["i"], ["j"], name="s")]
    path = save(tmp_path / "m.onnx", nodes, ports, [tensor("y", ["batch", 4]), tensor("j", ["batch"], np.int64)])
    return read_skeleton(str(path))


def test_a_folder_of_files_is_a_sample_a_file(tmp_path: Path) -> None:
    for name, data in (("b.jpg", b"two"), ("a.jpg", b"one"), ("c.jpg", b"three")):
        (tmp_path / name).write_bytes(data)
    inputs = declared(image=ENCODED_IMAGE)
    assert pipeline_samples(tmp_path, inputs, 2) == [{"image": b"one"}, {"image": b"two"}]
    assert pipeline_samples(tmp_path / "b.jpg", inputs, 2) == [{"image": b"two"}]


def test_an_npz_is_a_sample_with_its_inputs_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", image=np.frombuffer(b"\0jpeg\0", np.uint8), text=np.frombuffer(b"cat", np.uint8), x=X)
    (sample,) = pipeline_samples(tmp_path, declared(image=ENCODED_IMAGE, text=TEXT, x=TensorSpec("float32", (1, 4))), 8)
    assert (sample["image"], sample["text"], sample["x"].tolist()) == (b"\0jpeg\0", b"cat", X.tolist())


def test_a_models_inputs_come_whole(tmp_path: Path, skeleton: Skeleton) -> None:
    np.savez(tmp_path / "s.npz", x=X, i=np.array([7]))
    (feeds,) = model_feeds(tmp_path / "s.npz", skeleton, 8)
    assert {name: array.tolist() for name, array in feeds.items()} == {"x": X.tolist(), "i": [7]}


def test_random_samples_have_one_row_and_small_ids_and_differ(skeleton: Skeleton) -> None:
    feeds, other = random_feeds(skeleton, 2)
    assert feeds["x"].tolist() != other["x"].tolist()
    assert (feeds["x"].shape, feeds["i"].shape) == ((1, 4), (1,))
    assert feeds["i"].max() < 3


def wrong(tmp_path: Path, message: str, *inputs: Input) -> None:
    with pytest.raises(WrongUse, match=message):
        pipeline_samples(tmp_path, inputs, 8)


def test_samples_that_are_none_are_refused(tmp_path: Path) -> None:
    (image,) = declared(image=ENCODED_IMAGE)
    (x,) = declared(x=TensorSpec("float32", (4,)))
    wrong(tmp_path / "gone", "there is no .*gone", image)
    wrong(tmp_path, "holds no files", image)
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    wrong(tmp_path, r"a\.txt is one file, the inputs are x float32\[4\]", x)
    wrong(tmp_path, r"a\.txt is one file, the inputs are image bytes, x float32\[4\]", image, x)


def test_an_npz_that_lacks_an_input_or_is_damaged_is_refused(tmp_path: Path) -> None:
    (x,) = declared(x=TensorSpec("float32", (4,)))
    np.savez(tmp_path / "s.npz", xs=X)
    wrong(tmp_path, r"s\.npz has no input 'x'; it has xs\nfix: in the file call 'xs' 'x'", x)
    (tmp_path / "s.npz").write_bytes(b"PK\3\4 no archive")
    wrong(tmp_path, r"s\.npz cannot be read", x)
    np.savez(tmp_path / "s.npz")
    wrong(tmp_path, r"it has no array with a name\nfix: write it with numpy\.savez\(file, name=array\)", x)


def test_samples_from_no_file_are_refused() -> None:
    wrong(Path(os.devnull), "null is one file, the inputs are x", *declared(x=TensorSpec("float32", (4,))))


def test_an_array_that_the_model_does_not_take_is_refused(tmp_path: Path, skeleton: Skeleton) -> None:
    np.savez(tmp_path / "s.npz", x=X[0], i=np.array([7]))
    with pytest.raises(WrongUse, match=r"x is float32\[4\], the model takes float32\['batch', 4\]"):
        model_feeds(tmp_path / "s.npz", skeleton, 8)


def test_a_model_of_open_sizes_needs_samples(tmp_path: Path) -> None:
    ports = [tensor("x", ["batch", "height"])]
    path = save(tmp_path / "m.onnx", [node("Relu", ["x"], ["y"], name="r")], ports, [tensor("y", ["batch", "height"])])
    with pytest.raises(WrongUse, match=r"input x is of any size: \['batch', 'height'\]"):
        random_feeds(read_skeleton(str(path)), 1)
