from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from npu_ge_models import tanh_model

from ge_engine.npu_ge.instance import Instance
from ops import ValidationError

X = np.arange(16, dtype=np.float32).reshape(2, 8)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where a server was started, with a model in it."""
    (tmp_path / "m" / "1").mkdir(parents=True)
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


def test_each_run_leaves_its_inputs_and_outputs(server: Path) -> None:
    (server / "dump_data").mkdir()
    instance = Instance(server / "m", config(dump_data="1"), server, {})
    answers = [instance.answer([{"x": X}])[0]["y"].copy() for _ in range(2)]  # type: ignore[index]
    files = sorted((server / "dump_data").iterdir())
    assert [file.name for file in files] == [f"m_{os.getpid()}_00000{number}.npz" for number in (1, 2)]
    for file, answer in zip(files, answers):
        with np.load(file) as found:
            assert set(found) == {"x", "y"}
            np.testing.assert_array_equal(found["x"], X)
            np.testing.assert_array_equal(found["y"], answer)


def test_without_the_folder_the_model_is_refused_and_without_the_option_none_is_looked_for(server: Path) -> None:
    with pytest.raises(ValidationError, match=r"V23 fails .*dump_data needs the directory dump_data"):
        Instance(server / "m", config(dump_data="1"), server, {})
    Instance(server / "m", config(), server, {}).answer([{"x": X}])
    assert not (server / "dump_data").exists()
