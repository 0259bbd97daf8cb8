"""Rates from a JPEG: in-process, by hand in several forms, and the limit of the machine, all in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench import Bench, Measure, Turns
from callers import Run, looped, mapped, pooled, submitted
from machine import cores

from baselines import limit
from baselines.thread_pool import ThreadPool
from pipeline import Session

MAP = "gepipe, map"
SUBMIT = "gepipe, submit from 16 threads"
LOOP = "loop"
POOLS = ("thread pool, a session a thread", "thread pool, one session")
LIMIT = "limit"
_LIMIT_S = 1.5


def rates(
    bench: Bench,
    session: Session,
    jpeg: bytes,
    model: Path,
    loop: Callable[..., Callable[[bytes], Any]],
    others: Mapping[str, Run],
    kernels: Callable[[Path, bytes], limit.Kernels] | None = None,
    rounds: int = 15,
) -> Turns:
    """loop: a class of baselines, for a model and a number of threads; the loop itself runs with one a core."""
    costs: dict[str, list[float]] = {}
    cpu_ms: dict[str, list[float]] = {}

    def counted(name: str, run: Run) -> Run:
        def run_counted(n: int) -> None:
            before = time.process_time()
            run(n)
            cpu_ms.setdefault(name, []).append((time.process_time() - before) / n * 1e3)

        return run_counted

    def limit_per_second() -> float:
        assert kernels is not None
        found = limit.measure(kernels, model, jpeg, 0.0 if bench.quick else _LIMIT_S)
        for name, value in found.cpu_ms.items():
            costs.setdefault(name, []).append(value)
        return found.per_second

    with ExitStack() as stack:
        pools = [ThreadPool(lambda: loop(model, 1), cores(), shared=shared) for shared in (False, True)]
        for pool in pools:
            stack.callback(pool.close)
        runs: dict[str, Run] = {
            MAP: mapped(session, {"image": jpeg}),
            SUBMIT: submitted(session, {"image": jpeg}),
            LOOP: looped(loop(model, cores()), jpeg, cores()),
            **others,
            **{name: pooled(pool, jpeg) for name, pool in zip(POOLS, pools)},
        }
        measures: dict[str, Measure] = {name: bench.rate(counted(name, run)) for name, run in runs.items()}
        if kernels is not None:
            measures[LIMIT] = limit_per_second
        turns = bench.in_turn(measures, rounds)
    rows = [[f"bare kernel: {name}", statistics.median(values)] for name, values in costs.items()]
    rows += [[name, statistics.median(values)] for name, values in cpu_ms.items()]
    bench.table("CPU time of a sample, all threads of the process", ["", "ms"], rows)
    return turns
