from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import frozen_graphs
import numpy as np
import pytest

from ge_engine import openvino_runtime
from ge_engine.openvino_runtime import OpenVinoGraph, Port, ports, read, reshaped, write
from ops import DeviceError, ModelError

pytest.importorskip("openvino")
X = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)


def test_ports_have_the_names_of_the_file_and_keep_them_in_openvinos_own_form(tmp_path: Path) -> None:
    model = read(frozen_graphs.sized_graph(tmp_path / "m.pb"))
    write(model, tmp_path / "m.xml")
    for found in (model, read(tmp_path / "m.xml")):
        assert ports(found.inputs) == {"image": Port("image", "uint8", (None, None, None, 3))}
        assert ports(found.outputs) == {
            "mean": Port("mean", "float32", (None, 3)),
            "twice": Port("twice", "float32", (None, None, None, 3)),
        }


def test_a_copy_for_given_sizes_knows_its_outputs(tmp_path: Path) -> None:
    model = read(frozen_graphs.sized_graph(tmp_path / "m.pb"))
    assert ports(reshaped(model, {"image": (2, 4, 6, 3)}).outputs)["twice"].shape == (2, 4, 6, 3)
    assert ports(model.outputs)["twice"].shape == (None, None, None, 3)
    with pytest.raises(ModelError, match=r"dimension=9 .* doesn't match the second input dimension=8"):
        reshaped(read(frozen_graphs.dense_graph(tmp_path / "d.pb")), {"x": (2, 9)})


def test_a_bound_graph_writes_any_batch_in_place(tmp_path: Path) -> None:
    graph = OpenVinoGraph(str(frozen_graphs.dense_graph(tmp_path / "m.pb")), threads=1, streams=2)
    out = np.full((5, 4), 7, np.float32)
    for rows in (3, 1, 5):
        out[:] = 7
        graph.bound({"x": X[:rows]}, {"y": out[:rows]})()
        np.testing.assert_allclose(out[:rows], frozen_graphs.dense_answer(X[:rows]), atol=1e-6)
        assert (out[rows:] == 7).all()
    np.testing.assert_allclose(graph({"x": X})["y"], frozen_graphs.dense_answer(X), atol=1e-6)


def test_it_computes_in_float32_whatever_the_cpu_could_do(tmp_path: Path) -> None:
    graph = OpenVinoGraph(str(frozen_graphs.dense_graph(tmp_path / "m.pb")), threads=1, streams=2)
    asked: Any = graph._compiled
    assert asked.get_property("INFERENCE_PRECISION_HINT").to_string() == "f32"
    assert asked.get_property("NUM_STREAMS") == 2
    assert asked.get_property("INFERENCE_NUM_THREADS") == 2


def test_what_openvino_refuses_is_told_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "m.pb").write_bytes(b"no graph")
    with pytest.raises(ModelError, match=r"OpenVINO cannot read .*m.pb"):
        read(tmp_path / "m.pb")
    with pytest.raises(DeviceError, match="OpenVINO cannot compile"):
        OpenVinoGraph(str(tmp_path / "none.pb"), threads=1)
    graph = OpenVinoGraph(str(frozen_graphs.dense_graph(tmp_path / "m.pb")), threads=1)
    with pytest.raises(DeviceError, match="incompatible"):
        graph.bound({"x": X[:, :4].copy()}, {"y": X[:, :4].copy()})


def test_without_openvino_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(f"No module named '{name}'")

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ModelError, match="run by OpenVINO, which cannot be imported: No module") as error:
        openvino_runtime.openvino()
    assert 'pip install "gepipe[openvino]"' in error.value.fix
