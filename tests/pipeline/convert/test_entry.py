from __future__ import annotations

from pathlib import Path

import pytest
from offline import read_config
from onnx_files import node, save, tensor

from ge_engine import Model
from ops import ExportError
from pipeline.convert.answers import OnnxRunnable
from pipeline.convert.entry import write_entry


def test_an_entry_has_the_names_of_the_model_as_far_as_they_can_be_used(tmp_path: Path) -> None:
    nodes = [node("Add", ["x:0", "name"], ["scores/out"]), node("Neg", ["x:0"], ["x_0"])]
    dims = ("n", "height", 3)
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x:0", dims), tensor("name", dims)],
        [tensor("scores/out", dims), tensor("x_0", dims)],
    )
    root = tmp_path / "models"
    write_entry(Model(str(path)), OnnxRunnable(str(path)), root / "m", {"height": 5}, (1, 2), "24.10")
    config = read_config(root, "m")
    assert [(item.name, list(item.dims)) for item in (*config.input, *config.output)] == [
        ("x_0", [5, 3]),
        ("name_2", [5, 3]),
        ("scores_out", [5, 3]),
        ("x_0_2", [5, 3]),
    ]
    assert config.max_batch_size == 2
    with pytest.raises(ExportError, match="m is there already"):
        write_entry(Model(str(path)), OnnxRunnable(str(path)), root / "m", {"height": 5}, (1,), "24.10")
