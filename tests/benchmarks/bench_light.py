"""A light model end to end: which way up is the page, from a JPEG of 810 x 1080.

By hand it is OpenCV, numpy and ONNX Runtime in a loop, with two threads a run; the same in a thread pool;
and with Pillow.
"""

from __future__ import annotations

import numpy as np
import tasks
from bench import Bench
from callers import looped
from from_jpeg import LIMIT, LOOP, MAP, POOLS, SUBMIT, rates
from machine import cores
from weights import laid_out

from baselines import limit
from baselines.orientation import Loop, PillowLoop

PILLOW = "Pillow loop"


def test_light(bench: Bench) -> None:
    model, jpeg = laid_out(tasks.ORIENTATION), tasks.bus()
    pillow = PillowLoop(model, cores())
    with tasks.orientation().compile(gears=(1, 2, 4, 8), streams=cores()).session() as session:
        scores = session.run(image=jpeg)["scores"]
        np.testing.assert_allclose(Loop(model)(jpeg), scores, atol=1e-5)
        np.testing.assert_allclose(pillow(jpeg), scores, atol=2e-2)  # another filter
        others = {PILLOW: looped(pillow, jpeg, cores())}
        turns = rates(bench, session, jpeg, model, Loop, others, limit.orientation_kernels)
    ours, threads = turns.best(MAP, SUBMIT), turns.best(*POOLS)
    bench.turns_table("Light model from JPEG", turns, "samples/s", ours)
    bench.claim("light.limit", turns.ratio(ours, LIMIT))
    bench.claim("light.loop", turns.ratio(ours, LOOP))
    bench.claim("light.pillow", turns.ratio(ours, PILLOW))
    bench.claim("light.threads", turns.ratio(ours, threads))
