from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from offline import read_config
from onnx_files import node, save, scale_model, tensor

from ge_engine import Model
from ops import ExportError
from pipeline.convert import convert
from pipeline.convert.answers import OnnxRunnable
from pipeline.convert.entry import Golden, write_entry
from pipeline.convert.options import Options
from pipeline.triton.golden import machine, read_golden
from pipeline.triton.verify import verify
from pipeline.triton.verify_client import decode


def test_an_entry_has_the_names_of_the_model_as_far_as_they_can_be_used(tmp_path: Path) -> None:
    nodes = [node("Add", ["x:0", "name"], ["scores/out"]), node("Neg", ["x:0"], ["x_0"])]
    dims = ("n", "height", 3)
    path = save(
        tmp_path / "m.onnx",
        nodes,
        [tensor("x:0", dims), tensor("name", dims)],
        [tensor("scores/out", dims), tensor("x_0", dims)],
    )
    root, options = tmp_path / "models", Options(gears=(1, 2), target="24.10")
    feeds = {name: np.ones((3, 5, 3), np.float32) for name in ("x:0", "name")}
    write_entry(Model(str(path)), OnnxRunnable(str(path)), root / "m", {"height": 5}, options, Golden(feeds))
    config = read_config(root, "m")
    assert [(item.name, list(item.dims)) for item in (*config.input, *config.output)] == [
        ("x_0", [5, 3]),
        ("name_2", [5, 3]),
        ("scores_out", [5, 3]),
        ("x_0_2", [5, 3]),
    ]
    assert config.max_batch_size == 2
    golden = read_golden(root / "m" / "1" / "golden.json")
    assert (golden["model"], golden["machine"], golden["tolerance"]) == ("m", machine(), 1e-4)
    assert [request["inputs"]["x_0"]["shape"] for request in golden["requests"]] == [[1, 5, 3], [1, 5, 3], [2, 5, 3]]
    assert decode(golden["requests"][0]["outputs"]["scores_out"]).tolist() == [[[2.0] * 3] * 5]
    with pytest.raises(ExportError, match="m is there already"):
        write_entry(Model(str(path)), OnnxRunnable(str(path)), root / "m", {"height": 5}, options, Golden(feeds))


def test_golden_requests_have_the_answers_of_the_source_within_what_was_taken_for_right(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx")
    golden = Golden({"x": np.ones((3, 4), np.float32)}, {"y": np.full((3, 4), -5, np.float32)}, "PyTorch")
    write_entry(
        Model(str(path)), OnnxRunnable(str(path)), tmp_path / "models" / "m", {}, Options(tolerance=1e-3), golden
    )
    written = read_golden(tmp_path / "models" / "m" / "1" / "golden.json")
    assert (written["machine"], written["tolerance"]) == ("PyTorch", pytest.approx(5e-3))
    assert [decode(one["outputs"]["y"]).tolist() for one in written["requests"]] == [[[-5.0] * 4]] * 2


@pytest.mark.triton
def test_a_server_gives_the_answers_of_the_source(tmp_path: Path) -> None:
    path = scale_model(tmp_path / "m.onnx")
    assert convert(str(path), tmp_path / "models" / "scale", Options(gears=(1, 2))).ok
    verdict = verify(tmp_path / "models")
    assert verdict.ok
    assert [str(row) for row in verdict.rows["scale"]] == [f"request {n}, all: y: same bytes" for n in range(3)]
