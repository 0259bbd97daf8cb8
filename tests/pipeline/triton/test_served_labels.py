"""A client asks for the best classes, and the server names them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny
from triton_servers import Start, triton_server

import ops
from ge_engine import Model
from pipeline import Pipeline
from pipeline.triton.releases import TARGETS

tritonclient = pytest.importorskip("tritonclient.http")
pytestmark = pytest.mark.triton
__all__ = ["triton_server"]  # a fixture
NAMES = ("猫", "dog", "bus", "car")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("softmax", [False, True], ids=["model alone", "softmax behind it"])
def test_the_ensemble_answers_the_best_classes_by_name(
    target: str, softmax: bool, tmp_path: Path, triton_server: Start
) -> None:
    (tmp_path / "labels.txt").write_text("\n".join(NAMES), encoding="utf-8")
    pipeline = Pipeline("named")
    y = Model(tiny.vector_model(tmp_path), label_file=tmp_path / "labels.txt")(pipeline.input("x", tiny.VECTOR))
    pipeline.output(scores=ops.Softmax()(y) if softmax else y)
    plan = pipeline.compile(gears=(1, 2), target=target)
    plan.export(tmp_path / "models")
    (sample,) = tiny.vectors(1)
    with plan.session() as session:
        scores = session.run(**sample)["scores"]

    x = tritonclient.InferInput("x", (1, *sample["x"].shape), "FP32")
    x.set_data_from_numpy(sample["x"][None])
    wanted = tritonclient.InferRequestedOutput("scores", class_count=2)
    server = triton_server(tmp_path / "models", target=target)
    with tritonclient.InferenceServerClient(server.url) as client:
        answer = client.infer("named", [x], outputs=[wanted]).as_numpy("scores")
    best = np.argsort(-scores)[:2]
    assert [text.decode().split(":")[1:] for text in answer[0]] == [[str(i), NAMES[i]] for i in best]
