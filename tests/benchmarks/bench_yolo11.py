"""YOLO11n end to end, from a JPEG of 810 x 1080 to boxes. Nearly all of the time is the model's.

By hand it is OpenCV, numpy and ONNX Runtime in a loop, with two threads a run; and the same in a thread pool.
"""

from __future__ import annotations

import numpy as np
import tasks
from bench import Bench
from from_jpeg import LIMIT, LOOP, MAP, POOLS, SUBMIT, rates
from machine import cores
from weights import laid_out

from baselines import limit
from baselines.yolo11 import Loop


def test_yolo11(bench: Bench) -> None:
    model, jpeg = laid_out(tasks.YOLO11), tasks.bus()
    # On a CPU a row of a batch of eight takes longer than one alone, so nothing is merged.
    with tasks.yolo11().compile(gears=(1,), streams=cores()).session() as session:
        found = tasks.detections(session.run(image=jpeg))
        np.testing.assert_allclose(tasks.detections(Loop(model)(jpeg)._asdict()), found, atol=1e-2)
        turns = rates(bench, session, jpeg, model, Loop, {}, limit.yolo11_kernels)
    ours, threads = turns.best(MAP, SUBMIT), turns.best(*POOLS)
    bench.turns_table("YOLO11n from JPEG", turns, "samples/s", ours)
    bench.claim("yolo11.limit", turns.ratio(ours, LIMIT))
    bench.claim("yolo11.loop", turns.ratio(ours, LOOP))
    bench.claim("yolo11.threads", turns.ratio(ours, threads))
