from __future__ import annotations

from pathlib import Path

import pytest

from ge_engine.npu_ge.discover import find_model, versions
from ops import ModelError


def made(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_the_model_is_found_anywhere_below(tmp_path: Path) -> None:
    made(tmp_path, "config.pbtxt", "1/deep/er/net.onnx", "1/net.onnx.bak", "1/NET.ONNX", "1/net.weights")
    assert find_model(tmp_path) == tmp_path / "1/deep/er/net.onnx"


def test_a_choice_is_refused_with_every_candidate(tmp_path: Path) -> None:
    made(tmp_path, "1/a.onnx", "2/b.onnx")
    with pytest.raises(ModelError, match=r"V01: 2 .onnx files, npu_ge takes any of them: 1/a.onnx, 2/b.onnx"):
        find_model(tmp_path)


def test_a_tensorflow_graph_is_found_if_it_is_the_only_one(tmp_path: Path) -> None:
    assert find_model(made(tmp_path, "1/frozen.pb")) == tmp_path / "1/frozen.pb"
    with pytest.raises(ModelError, match=r"V01: 2 .pb files, npu_ge takes any of them: 1/frozen.pb, 2/other.pb"):
        find_model(made(tmp_path, "2/other.pb"))


def test_an_onnx_beside_a_tensorflow_graph_is_taken(tmp_path: Path) -> None:
    assert find_model(made(tmp_path, "1/frozen.pb", "1/net.onnx")).name == "net.onnx"


def test_no_model_is_told_as_npu_ge_tells_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"Model file not found: dir path {tmp_path}"):
        find_model(made(tmp_path, "1/readme.txt"))


def test_links_are_followed_once(tmp_path: Path) -> None:
    made(tmp_path / "elsewhere", "net.onnx")
    model = made(tmp_path / "model", "1/readme.txt")
    (model / "1" / "assets").symlink_to(tmp_path / "elsewhere")
    (model / "1" / "loop").symlink_to(model)
    assert find_model(model) == model / "1" / "assets" / "net.onnx"


def test_version_directories_are_counted(tmp_path: Path) -> None:
    made(tmp_path, "1/x", "2/x", "assets/x", "3")
    assert versions(tmp_path) == ["1", "2"]
