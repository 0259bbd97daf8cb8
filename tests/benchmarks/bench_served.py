"""Served by a real tritonserver: our export, the usual hand-written ensemble, and our own in-process rate.

16 gRPC clients in this process ask; they, the server and its host stages share the same cores. npu_ge is the stand-in,
for all ensembles: what differs is what is around the model. The hand-written one is as such ensembles are usually
written: Pillow in a model.py, one request at a time, float32[3,H,W] to the model; the light model's is there with
OpenCV as well, which resizes and crops bytes. In-process, `submit` is called from 16 threads, which share the cores
with what they ask, as the clients of the server do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tasks
from asking import as_bytes, ask, asked, server
from bench import Bench
from callers import submitted
from machine import cores
from models import of_one_size
from weights import laid_out

from baselines.triton import lay_out
from ops import Array
from pipeline import Pipeline

pytestmark = pytest.mark.triton

SERVED, IN_PROCESS = "gepipe, served", "gepipe, in-process"
HAND, OPENCV = "hand-written, served", "hand-written with OpenCV, served"


@pytest.mark.parametrize("name", ["orientation", "yolo11"])
def test_served(bench: Bench, tmp_path: Path, name: str) -> None:
    declare, model, check = _TASKS[name]
    jpeg = tasks.bus()
    sample = {"image": as_bytes(jpeg)}
    plan = declare().compile(gears=(1, 2, 4, 8), streams=cores(), host_instances=cores())
    repository = tmp_path / "models"
    plan.export(repository, samples=[{"image": jpeg}])
    file = laid_out(model)
    lay_out(name, of_one_size(file, tmp_path) if name == "yolo11" else file, repository)
    by_hand = {HAND: f"hand_{name}"}
    if name == "orientation":
        lay_out("orientation_opencv", file, repository)
        by_hand[OPENCV] = "hand_orientation_opencv"
    with plan.session() as session, server(repository) as running:
        answer = session.run(image=jpeg)
        url = running.grpc_url
        for hand in by_hand.values():
            check(answer, ask(url, name, sample), ask(url, hand, sample))
        turns = bench.in_turn(
            {
                SERVED: asked(bench, url, name, sample),
                **{title: asked(bench, url, hand, sample) for title, hand in by_hand.items()},
                IN_PROCESS: bench.rate(submitted(session, {"image": jpeg})),
            },
            rounds=7,
        )
    title = {"orientation": "Light model", "yolo11": "YOLO11n"}[name]
    bench.turns_table(f"{title} served, 16 clients", turns, "samples/s", SERVED)
    if name == "orientation":
        bench.claim("served.light", turns.ratio(SERVED, HAND))
        bench.claim("served.light_in_process", turns.ratio(SERVED, IN_PROCESS))
    else:
        bench.claim("served.yolo11_in_process", turns.ratio(SERVED, IN_PROCESS))


def _check_orientation(answer: dict[str, Array], ours: dict[str, Array], hand: dict[str, Array]) -> None:
    np.testing.assert_allclose(ours["scores"], answer["scores"], atol=1e-5)
    np.testing.assert_allclose(hand["scores"], answer["scores"], atol=2e-2)  # Pillow's filter


def _check_yolo11(answer: dict[str, Array], ours: dict[str, Array], hand: dict[str, Array]) -> None:
    count = int(ours["num_detections"][0])
    assert count == len(answer["boxes"]) == int(hand["num_detections"][0]) == 5
    np.testing.assert_allclose(ours["boxes"][:count], answer["boxes"], atol=0.01)
    np.testing.assert_array_equal(hand["detections"][:count, 5], answer["classes"])
    np.testing.assert_allclose(hand["detections"][:count, 4], answer["scores"], atol=0.1)  # Pillow's filter


_TASKS: dict[str, tuple[Callable[[], Pipeline], str, Callable[..., Any]]] = {
    "orientation": (tasks.orientation, tasks.ORIENTATION, _check_orientation),
    "yolo11": (tasks.yolo11, tasks.YOLO11, _check_yolo11),
}
