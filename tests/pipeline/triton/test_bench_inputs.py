from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tiny

from ops import WrongUse
from pipeline.triton.bench_inputs import from_golden, from_words, inputs_of, made_up, requests, samples
from pipeline.triton.tensor import Tensor

IMAGE = Tensor("image", "BYTES", (1,))
X = Tensor("x", "FP32", (2, 3))


def test_inputs_are_read_from_the_metadata_of_either_interface() -> None:
    rows = [
        {"name": "image", "datatype": "BYTES", "shape": ["-1", "1"]},
        {"name": "x", "datatype": "FP32", "shape": [-1, 2, 3]},
    ]
    assert inputs_of({"inputs": rows}, batching=True) == [IMAGE, X]
    assert inputs_of({"inputs": rows[1:]}, batching=False) == [Tensor("x", "FP32", (-1, 2, 3))]


def test_made_up_samples_fit_and_differ() -> None:
    kinds = ("BOOL", "UINT8", "INT64", "FP16", "FP32", "FP64")
    made = made_up([IMAGE, *(Tensor(kind, kind, (2, 3)) for kind in kinds)])
    first, second = made[:2]
    assert first["image"].shape == (1,)
    assert len(first["image"][0]) == 16
    assert [first[kind].dtype for kind in kinds] == ["bool", "uint8", "int64", "float16", "float32", "float64"]
    assert all(first[kind].shape == (2, 3) for kind in kinds)
    assert (first["FP32"] != second["FP32"]).any()


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor("x", "FP32", (3, -1, -1)), r"'x' is FP32\[3,-1,-1\]: its size is open"),
        (Tensor("x", "BF16", (2,)), "BF16"),
    ],
)
def test_what_cannot_be_made_up_is_said(tensor: Tensor, message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        made_up([tensor])


def test_the_users_own_values_are_read(tmp_path: Path) -> None:
    (tmp_path / "bus.jpg").write_bytes(b"JPEG")
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    (sample,) = from_words([f"image=@{tmp_path}/bus.jpg", f"x=@{tmp_path}/x.npy"], [IMAGE, X])
    assert sample["image"].tolist() == [b"JPEG"]
    assert sample["x"].tolist() == np.ones((2, 3)).tolist()


def test_a_variable_size_takes_any() -> None:
    (sample,) = from_words(["x=[[1, 2], [3, 4]]"], [Tensor("x", "INT32", (-1, 2))])
    assert sample["x"].dtype == np.int32
    with pytest.raises(WrongUse, match=r"input 'x' is INT32\[-1,2\], not \[1,3\]"):
        from_words(["x=[[1, 2, 3]]"], [Tensor("x", "INT32", (-1, 2))])


def test_values_and_golden_requests_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="both given"):
        samples([X], ["x=[]"], tmp_path, "m", True)


def test_golden_requests_become_single_samples_and_batches_again(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 4))
    own = tiny.vectors(3)
    plan.export(tmp_path / "models", samples=tiny.vectors(3, seed=1))
    plan.export(tmp_path / "models", samples=own)
    found = from_golden(tmp_path / "models", "vector", batching=True)
    assert [sample["x"].tolist() for sample in found[:3]] == [sample["x"].tolist() for sample in own]
    whole = requests(found, 4, batching=True)
    assert [request["x"].shape for request in whole] == [(4, 8)] * 2
    assert whole[1]["x"][3].tolist() == found[1]["x"].tolist()


def test_without_a_batch_golden_requests_stay_whole(tmp_path: Path) -> None:
    folder = tmp_path / "m_v9" / "1"
    folder.mkdir(parents=True)
    value = {"dtype": "bytes", "shape": [2], "data": ["YQ==", "Yg=="]}
    told = {
        "format": 1,
        "model": "m_v9",
        "machine": "",
        "tolerance": 0,
        "requests": [{"inputs": {"t": value}, "outputs": {}}],
    }
    (folder / "golden.json").write_text(json.dumps(told))
    (sample,) = from_golden(tmp_path, "m", batching=False)
    (request,) = requests([sample], 1, batching=False)
    assert request["t"].tolist() == [b"a", b"b"]


def test_a_model_without_golden_requests_is_said(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="carries no golden requests for m"):
        from_golden(tmp_path, "m", batching=True)
