from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from npu_ge_models import tanh_model

from ge_engine.cores import usable_cores
from ge_engine.npu_ge.command_line import CommandLine
from ge_engine.npu_ge.instance import Instance
from ops import GepipeError, ModelError, ValidationError

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
