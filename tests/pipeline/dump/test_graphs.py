from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tiny
from command_line import gepipe

import ops
from ge_engine import Model
from ops import Array, Edge, Op, TensorSpec, WrongUse
from pipeline import Pipeline
from pipeline.graph_json import graph_from_json


def swapped(folder: Path) -> Pipeline:
    """A pipeline of which the passes change something."""
    pipeline = Pipeline("swapped")
    pixels = ops.SwapChannels()(pipeline.input("image", TensorSpec("uint8", (40, 30, 3))))
    small = ops.Resize(height=16, width=16)(pixels)
    pipeline.output(y=Model(tiny.picture_model(folder))(ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(small)))
    return pipeline


def test_each_pass_leaves_its_graph_and_each_gear_its_onnx(tmp_path: Path) -> None:
    plan = swapped(tmp_path).compile(gears=(1, 4))
    files = plan.dump_graph(tmp_path / "dump")
    names = [str(file.relative_to(tmp_path / "dump")) for file in files]
    steps = ["0_declared", "1_share", "2_order", "3_cut", "4_place"]
    graphs = [f"{step}.{kind}" for step in steps for kind in ("json", "mmd")]
    assert names == [*graphs, "plan.txt", "plan.svg", "picture/1.onnx", "picture/4.onnx"]
    assert (tmp_path / "dump" / "plan.txt").read_text(encoding="utf-8") == f"{plan}\n"


def test_a_dumped_graph_is_one_that_can_be_read_and_compiled_again(tmp_path: Path) -> None:
    plan = swapped(tmp_path).compile()
    plan.dump_graph(tmp_path / "dump")
    before, after = (
        graph_from_json((tmp_path / "dump" / name).read_text(encoding="utf-8"), str(tmp_path / "dump" / name))
        for name in ("0_declared.json", "4_place.json")
    )
    assert [type(step.op).__name__ for step in before.steps] == ["SwapChannels", "Resize", "Normalize", "Model"]
    assert [step.name for step in after.steps] == [step.name for step in plan.graph.steps]
    assert len(after.steps) == 3  # the swap went into Normalize


def test_a_gears_onnx_runs_by_itself(tmp_path: Path) -> None:
    big = np.random.default_rng(0).normal(size=(600, 4)).astype(np.float32)
    plan = tiny_dense(tmp_path, big).compile(gears=(2,))
    plan.dump_graph(tmp_path / "dump")
    assert (tmp_path / "dump" / "wide" / "wide.weights").stat().st_nlink == 1
    session = onnxruntime.InferenceSession(tmp_path / "dump" / "wide" / "2.onnx", providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).normal(size=(2, 600)).astype(np.float32)
    (y,) = session.run(None, {session.get_inputs()[0].name: x})
    np.testing.assert_allclose(y, np.tanh(x @ big), rtol=1e-4, atol=1e-5)


def tiny_dense(folder: Path, weights: Array) -> Pipeline:
    from onnx_files import node, save, tensor

    size = weights.shape[0]
    save(
        folder / "wide.onnx",
        [node("MatMul", ["x", "w"], ["m"]), node("Tanh", ["m"], ["y"])],
        [tensor("x", ("batch", size))],
        [tensor("y", ("batch", 4))],
        {"w": weights},
    )
    pipeline = Pipeline("dense")
    pipeline.output(y=Model(folder / "wide.onnx")(pipeline.input("x", TensorSpec("float32", (size,)))))
    return pipeline


@dataclass(frozen=True)
class Odd(Op[Edge]):
    """An op whose attribute is not for JSON."""

    value: Any

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        return x + np.float32(self.value.real)


def test_a_graph_that_is_not_for_json_is_dumped_as_mermaid_alone(tmp_path: Path) -> None:
    pipeline = Pipeline("odd")
    odd = Odd(1 + 2j)(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(odd))
    files = {file.name for file in pipeline.compile().dump_graph(tmp_path / "dump")}
    assert "0_declared.mmd" in files
    assert "0_declared.json" not in files


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WrongUse, match="file/dump cannot be written"):
        tiny.vector_pipeline(tmp_path).compile().dump_graph(tmp_path / "file" / "dump")


def test_gepipe_plan_dumps_on_demand(graph: Path) -> None:
    result = gepipe("plan", "graph.py", "--gears", "1,2", "--dump", "dump")
    assert result.exit_code == 0, result.output
    assert result.stdout == gepipe("plan", "graph.py", "--gears", "1,2").stdout
    files = list((graph.parent / "dump").rglob("*.*"))
    assert f"{len(files)} files are in dump" in result.stderr
    assert {"1.onnx", "2.onnx"} <= {file.name for file in files}
