from __future__ import annotations

from pathlib import Path

import pytest
from frozen_graphs import dense_graph

from ge_engine import Model
from ops import Cast, Softmax, TensorSpec
from pipeline import Pipeline
from pipeline.triton.releases import TARGETS
from pipeline.triton.verify import verify

pytestmark = pytest.mark.triton
pytest.importorskip("openvino")


@pytest.mark.parametrize("target", TARGETS)
def test_a_tensorflow_graph_is_served_with_the_bytes_of_the_in_process_answers(tmp_path: Path, target: str) -> None:
    pipeline = Pipeline("dense")
    y = Model(str(dense_graph(tmp_path / "m.pb")))(Cast("float32")(pipeline.input("x", TensorSpec("float32", (8,)))))
    pipeline.output(raw=y, y=Softmax()(y))
    pipeline.compile(gears=(1, 2, 4), target=target).export(tmp_path / "models")
    verdict = verify(tmp_path / "models", target)
    assert verdict.ok, verdict
    assert all("same bytes" in str(row) for rows in verdict.rows.values() for row in rows)
