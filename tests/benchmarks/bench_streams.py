"""Streams and threads on the CPU: batches side by side, or one batch on several cores."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import tasks
from bench import Bench
from callers import looped, mapped
from machine import cores
from weights import laid_out

from baselines.orientation import Loop


def test_streams(bench: Bench) -> None:
    model, jpeg = laid_out(tasks.ORIENTATION), tasks.bus()
    want = Loop(model)(jpeg)
    choices = sorted({(1, 1), (1, cores()), (cores(), 1), (cores(), cores())})
    with ExitStack() as stack:
        measures = {}
        for streams, threads in choices:
            plan = tasks.orientation().compile(gears=(1, 2, 4, 8), streams=streams, threads=threads)
            session = stack.enter_context(plan.session())
            np.testing.assert_allclose(session.run(image=jpeg)["scores"], want, atol=1e-5)
            measures[f"{streams} streams x {threads} threads"] = bench.rate(mapped(session, {"image": jpeg}))
        for threads in (1, cores()):
            name = f"loop with {threads} threads a run"
            measures[name] = bench.rate(looped(Loop(model, threads), jpeg, threads))
        turns = bench.in_turn(measures, rounds=5)
    default = f"{cores()} streams x 1 threads"
    bench.turns_table("Light model from JPEG, `map`, by streams and threads", turns, "samples/s", default)
