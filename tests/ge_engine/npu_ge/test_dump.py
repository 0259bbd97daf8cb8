from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from frozen_graphs import dense_graph
from npu_ge_models import tanh_model

from ge_engine.npu_ge.instance import Instance
from ops import ValidationError

X = np.arange(16, dtype=np.float32).reshape(2, 8)
W = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)  # of the model y = tanh(h), h = x w
FP16 = {"session.ge.exec.precision_mode_v2": "fp16"}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where a server was started, with a model in it."""
    (tmp_path / "m" / "1").mkdir(parents=True)
    (tmp_path / "dump_data").mkdir()
    tanh_model(tmp_path / "m" / "1" / "model.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(**parameters: str) -> dict[str, Any]:
    return {
        "name": "m",
        "max_batch_size": 8,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [8]}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [4]}],
        "parameters": {key: {"string_value": value} for key, value in parameters.items()},
    }


def opened(server: Path, **parameters: str) -> Instance:
    return Instance(server / "m", config(**parameters), server, {})


def answer(instance: Instance) -> Any:
    return instance.answer([{"x": X}])[0]["y"].copy()  # type: ignore[index]


def files(server: Path) -> list[Path]:
    return sorted((server / "dump_data").iterdir())


def test_each_run_leaves_its_inputs_and_outputs_and_what_is_between_them(server: Path) -> None:
    instance = opened(server, dump_data="1")
    answers = [answer(instance) for _ in range(2)]
    assert [file.name for file in files(server)] == [f"m_{os.getpid()}_00000{number}.npz" for number in (1, 2)]
    for file, y in zip(files(server), answers):
        with np.load(file) as found:
            assert set(found) == {"x", "h", "y"}
            np.testing.assert_array_equal(found["x"], X)
            np.testing.assert_allclose(found["h"], X @ W, rtol=1e-5)
            np.testing.assert_array_equal(found["y"], y)


def test_where_a_precision_is_emulated_what_is_dumped_has_it(server: Path) -> None:
    answer(opened(server, dump_data="1", dump_graph="1", **FP16))
    (file,) = files(server)
    with np.load(file) as found:
        assert any(found[name].dtype == np.float16 for name in found)
        assert found["y"].dtype == np.float32
    graph = onnx.load(server / "dump_graph" / "m.onnx")
    assert "Cast" in {node.op_type for node in graph.graph.node}


def test_the_graph_is_dumped_when_it_is_loaded(server: Path) -> None:
    assert not list(opened(server, dump_graph="1", **dict.fromkeys(FP16, "origin")).advice())
    graph = onnx.load(server / "dump_graph" / "m.onnx")
    assert [node.op_type for node in graph.graph.node] == ["MatMul", "Tanh"]
    assert files(server) == []


def test_without_the_folder_the_model_is_refused_and_without_the_option_none_is_looked_for(server: Path) -> None:
    (server / "dump_data").rmdir()
    with pytest.raises(ValidationError, match=r"V23 fails .*dump_data needs the directory dump_data"):
        opened(server, dump_data="1")
    answer(opened(server))
    assert not (server / "dump_data").exists()


def test_what_cannot_be_written_ends_the_dump_and_not_the_request(
    server: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instance = opened(server, dump_data="1")
    wanted = answer(instance)
    shutil.rmtree(server / "dump_data")
    for _ in range(2):
        np.testing.assert_array_equal(answer(instance), wanted)
    assert capsys.readouterr().err.count("npu_ge stand-in: m is dumped no more: ") == 1


def test_a_python_without_onnx_dumps_inputs_and_outputs(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ge_engine.inside", None)  # as if what it imports were not installed
    instance = opened(server, dump_data="1", dump_graph="1")
    answer(instance)
    (file,) = files(server)
    with np.load(file) as found:
        assert set(found) == {"x", "y"}
    advice = list(instance.advice())
    assert any("V23 advice" in line and "what is inside the graph is not dumped" in line for line in advice)
    assert any(f"install onnx into the environment of {sys.executable}" in line for line in advice)


def test_a_tensorflow_graph_is_dumped_from_outside(server: Path) -> None:
    pytest.importorskip("openvino")
    (server / "m" / "1" / "model.onnx").unlink()
    dense_graph(server / "m" / "1" / "model.pb")
    instance = opened(server, dump_data="1")
    answer(instance)
    (file,) = files(server)
    with np.load(file) as found:
        assert set(found) == {"x", "y"}
    assert any("is not dumped: it is a TensorFlow graph" in line for line in instance.advice())
