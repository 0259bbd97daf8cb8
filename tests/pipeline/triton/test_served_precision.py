"""A precision that is emulated in-process is emulated by the stand-in too: the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny
from served import ask
from triton_servers import Start, triton_server

from ge_engine import Model
from pipeline import Pipeline
from pipeline.triton.releases import TARGETS

pytest.importorskip("tritonclient.http")
pytestmark = pytest.mark.triton
__all__ = ["triton_server"]  # a fixture


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_served_in_fp16_is_what_runs_in_process(target: str, tmp_path: Path, triton_server: Start) -> None:
    samples = tiny.vectors(4)
    wanted = {}
    for precision in ("origin", "fp16", "cube_fp16in_fp32out"):
        plan = tiny.vector_pipeline(tmp_path).compile(
            gears=(1, 2, 4), target=target, precision=precision, name_prefix=f"{precision}_"
        )
        plan.export(tmp_path / "models")
        with plan.session() as session:
            wanted[precision] = np.stack([session.run(**sample)["y"] for sample in samples])
    assert len({array.tobytes() for array in wanted.values()}) == 3
    server = triton_server(tmp_path / "models", target=target)
    for precision, want in wanted.items():
        for n in (1, 3, 4):
            x = np.stack([sample["x"] for sample in samples[:n]])
            assert ask(server.url, f"{precision}_vector", {"x": x})["y"].tobytes() == want[:n].tobytes()


def test_two_models_and_a_count_are_served_in_fp16_as_they_run_in_process(tmp_path: Path, triton_server: Start) -> None:
    """One model's answer is counted on the host, the other's given as it is; every gear, and a batch between two."""
    pipeline = Pipeline("pair")
    x = pipeline.input("x", tiny.VECTOR)
    one, other = (Model(tiny.vector_model(tmp_path, name, seed=seed))(x) for seed, name in enumerate(("one", "other")))
    pipeline.output(above=tiny.Above(4)(one), y=other)
    plan = pipeline.compile(gears=(1, 2, 4), precision="fp16")
    plan.export(tmp_path / "models")
    samples = tiny.vectors(4)
    with plan.session() as session:
        wanted = session.run_batch(samples)
    assert len({len(answer["above"]) for answer in wanted}) > 1
    server = triton_server(tmp_path / "models")
    for n in (1, 2, 3, 4):
        got = ask(server.url, "pair", {"x": np.stack([sample["x"] for sample in samples[:n]])})
        for row, answer in enumerate(wanted[:n]):
            count = got["num_detections"][row].item()
            assert got["above"][row, :count].tobytes() == answer["above"].tobytes()
            assert got["y"][row].tobytes() == answer["y"].tobytes()
