"""A server that runs an export with dump_data leaves what it computed where it was started."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tiny
from triton_servers import Start

from ops.errors import ServerError
from pipeline.triton.verify import verify_url

pytestmark = pytest.mark.triton


def test_each_run_of_a_device_stage_is_dumped_with_what_is_inside_and_the_graph_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, triton_server: Start
) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), precision="fp16", dump_data=True, dump_graph=True)
    plan.export(tmp_path / "models")
    (tmp_path / "dump_data").mkdir()
    monkeypatch.chdir(tmp_path)
    server = triton_server(tmp_path / "models")
    assert verify_url(tmp_path / "models", server.url).ok
    files = list((tmp_path / "dump_data").glob("vector_1_dense_*.npz"))
    assert files
    with np.load(files[0]) as found:
        assert {"scale", "y"} < set(found)
        assert found["scale"].shape[1:] == (8,)
        assert any(found[name].dtype == np.float16 for name in found)
    graph = onnx.load(tmp_path / "dump_graph" / "vector_1_dense.onnx")
    assert {"MatMul", "Tanh", "Cast"} <= {node.op_type for node in graph.graph.node}


def test_without_the_folder_the_server_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, triton_server: Start
) -> None:
    tiny.vector_pipeline(tmp_path).compile(dump_data=True).export(tmp_path / "models")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ServerError, match="dump_data needs the directory dump_data"):
        triton_server(tmp_path / "models")
