from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frozen_graphs import dense_answer, dense_graph
from npu_ge_models import tanh_model

from ge_engine import openvino_runtime
from ge_engine.cores import usable_cores
from ge_engine.npu_ge.command_line import CommandLine
from ge_engine.npu_ge.complete import Missing, missing_of
from ge_engine.npu_ge.instance import Instance
from ops import DeviceError, GepipeError, ModelError, ValidationError

X = {"x": np.ones((2, 8), np.float32)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A backend's directory."""
    folder = tmp_path / "npu_ge"
    folder.mkdir()
    (folder / "model.py").touch()
    return folder


def config(count: int = 1, **parameters: str) -> dict[str, Any]:
    return {
        "name": "m",
        "max_batch_size": 8,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [8]}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [4]}],
        "instance_group": [{"count": count}],
        "parameters": {key: {"string_value": value} for key, value in parameters.items()},
    }


def folder(tmp_path: Path, *versions: str) -> Path:
    for version in versions:
        (tmp_path / "m" / version).mkdir(parents=True)
    if versions:
        tanh_model(tmp_path / "m" / versions[0] / "model.onnx")
    return tmp_path / "m"


def test_an_instance_answers_and_counts(tmp_path: Path, home: Path) -> None:
    instance = Instance(folder(tmp_path, "1"), config(), home, {})
    (answer,) = instance.answer([X])
    assert not isinstance(answer, GepipeError)
    assert answer["y"].shape == (2, 4)
    assert (instance.work.requests, instance.work.runs) == (1, 1)
    assert instance.inputs == ("x",)


@pytest.mark.parametrize(
    ("count", "blocks", "at_once"), [(1, "1", 1), (4, "2", 2), (2, "4", 2), (64, "8", 8), (3, "-1", 3)]
)
def test_the_cores_are_divided_among_what_runs_at_once(
    tmp_path: Path, home: Path, count: int, blocks: str, at_once: int
) -> None:
    instance = Instance(folder(tmp_path, "1"), config(count, device_exec_blocks=blocks), home, {})
    assert (instance.at_once, instance.threads) == (at_once, max(1, usable_cores() // at_once))
    assert f"{at_once} runs at once" in str(instance)
    instance.answer([X])


def test_the_command_line_beside_the_backend_is_read(tmp_path: Path, home: Path) -> None:
    CommandLine(backend_config={"instance_exec_blocks": "2"}).write(home)
    with pytest.raises(ValidationError, match="V06 fails"):
        Instance(folder(tmp_path, "1"), config(), home, {})
    CommandLine(threads=3).write(home)
    assert Instance(tmp_path / "m", config(), home, {}).threads == 3


def test_several_version_directories_are_advice(tmp_path: Path, home: Path) -> None:
    advice = list(Instance(folder(tmp_path, "1", "2"), config(), home, {}).advice())
    assert advice[-1] == "V27: npu_ge does not look at versions: 1, 2"
    assert "V20 advice" in advice[0]


def test_a_model_that_is_not_there_is_refused(tmp_path: Path, home: Path) -> None:
    (tmp_path / "m").mkdir()
    with pytest.raises(ModelError, match="Model file not found"):
        Instance(tmp_path / "m", config(), home, {})


def answer_in(tmp_path: Path, home: Path, **parameters: str) -> Any:
    (answer,) = Instance(folder(tmp_path), config(**parameters), home, {}).answer([X])
    assert not isinstance(answer, GepipeError)
    return answer["y"].copy()


@pytest.mark.parametrize(
    ("key", "value"),
    [("precision_mode_v2", "fp16"), ("precision_mode", "force_fp16"), ("precision_mode", "force_fp32")],
)
def test_a_precision_is_emulated_as_the_config_says(tmp_path: Path, home: Path, key: str, value: str) -> None:
    folder(tmp_path, "1")
    wide = answer_in(tmp_path, home)
    half = answer_in(tmp_path, home, **{f"session.ge.exec.{key}": value})
    assert not np.array_equal(half, wide)
    np.testing.assert_allclose(half, wide, atol=0.01)
    in_fp16 = np.array_equal(half, half.astype(np.float16).astype(np.float32))
    assert in_fp16 == (value != "force_fp32")  # which makes fp32 of fp16


def test_a_precision_that_is_not_emulated_runs_as_origin_and_says_so(tmp_path: Path, home: Path) -> None:
    said = {"session.ge.exec.precision_mode_v2": "mixed_float16"}
    folder(tmp_path, "1")
    np.testing.assert_array_equal(answer_in(tmp_path, home, **said), answer_in(tmp_path, home))
    (advice,) = Instance(folder(tmp_path), config(**said), home, {}).advice()
    assert "precision mixed_float16 is not emulated: the stand-in runs it as origin" in advice


def test_a_python_without_onnx_cannot_emulate(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ge_engine.half.files", None)  # as if what it imports were not installed
    folder(tmp_path, "1")
    with pytest.raises(DeviceError, match="precision fp16 is emulated by rewriting the graph") as error:
        answer_in(tmp_path, home, **{"session.ge.exec.precision_mode_v2": "fp16"})
    assert "install onnx into the environment of the server's Python" in error.value.fix


def frozen(tmp_path: Path, batch: int = -1) -> Path:
    (tmp_path / "m" / "1").mkdir(parents=True)
    dense_graph(tmp_path / "m" / "1" / "model.pb", batch=batch)
    return tmp_path / "m"


def test_a_tensorflow_graph_is_run_by_openvino(tmp_path: Path, home: Path) -> None:
    pytest.importorskip("openvino")
    instance = Instance(frozen(tmp_path), config(), home, {})
    assert str(instance).startswith(f"find tensorflow pb path: {tmp_path}/m/1/model.pb")
    (answer,) = instance.answer([X])
    assert not isinstance(answer, GepipeError)
    np.testing.assert_allclose(answer["y"], dense_answer(X["x"]), atol=1e-6)


def test_nothing_is_read_from_a_tensorflow_graph(tmp_path: Path, home: Path) -> None:
    pytest.importorskip("openvino")
    folder = frozen(tmp_path)
    without: dict[str, Any] = {**config(), "input": [], "output": []}
    assert missing_of(without, folder) == Missing((), ())
    with pytest.raises(ValidationError, match="not support model_mode_TENSOR_ZERO"):
        Instance(folder, without, home, {})
    for port in (*(whole := config())["input"], *whole["output"]):
        port["dims"] = [-1, *port["dims"]]
    with pytest.raises(ValidationError, match="not support model_mode_TENSOR_ZERO"):
        Instance(folder, {**whole, "max_batch_size": 0}, home, {})


def test_without_openvino_a_tensorflow_graph_is_refused(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> Any:
        raise ModelError("No module named 'openvino'")

    monkeypatch.setattr(openvino_runtime, "core", absent)
    with pytest.raises(DeviceError, match=r"V26: model.pb is a TensorFlow graph, .* cannot: No module") as error:
        Instance(frozen(tmp_path), config(), home, {})
    assert error.value.fix == "install openvino into the environment of the server's Python"
