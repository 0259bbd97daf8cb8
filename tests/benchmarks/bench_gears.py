"""Gears that share weights: what eight of them take in memory, and whether one is slower than a session of its own.

Memory is that of fresh processes. The session of its own runs the static graph of just that gear, with the same options
and the same number of threads, on memory that is bound once.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import memory_of
import numpy as np
import pytest
import tasks
from bench import Bench
from machine import cores
from models import vit
from weights import ROOT, laid_out

from ge_engine import runtime
from ge_engine.gears import Gear
from ops import Array

GEARS = tuple(range(1, 9))
RUNS = 2  # processes of each kind; what they load is in the compile cache by then


@pytest.mark.parametrize("name", ["vit", "yolo11"])
def test_gears(bench: Bench, tmp_path: Path, name: str) -> None:
    if name == "yolo11":
        model, timed = laid_out(tasks.YOLO11), GEARS
    else:
        model = vit(tmp_path, layers=1, width=96, heads=2) if bench.quick else vit(tmp_path)
        timed = (1, 2, 4, 8)
    gears, timed = (GEARS[:2], GEARS[:1]) if bench.quick else (GEARS, timed)
    plan = memory_of.model_alone(model).compile(gears=gears)
    (built,) = plan.built.values()
    with plan.session() as session, session.lease() as context:
        (rows,), (made,) = context.inputs.values(), context.outputs.values()
        rows[:] = np.random.default_rng(0).random(rows.shape, np.float32)
        candidates: dict[str, Callable[[], float]] = {}
        for batch in timed:
            alone, want = _alone(built.static[Gear(batch)].path, rows[:batch])
            alone()
            context.run(batch)
            np.testing.assert_allclose(made[:batch], want, rtol=1e-4, atol=1e-5)
            candidates[f"gear {batch}"] = bench.latency_us(lambda n=batch: context.run(n))  # type: ignore[misc]
            candidates[f"alone {batch}"] = bench.latency_us(alone)
        turns = bench.in_turn(candidates, rounds=9)
    batches = [int(key.removeprefix("gear ")) for key in candidates if key.startswith("gear ")]
    ratios = {batch: turns.ratio(f"gear {batch}", f"alone {batch}") for batch in batches}
    title = {"vit": "a model of the size of ViT-B/16 (340 MB)", "yolo11": "YOLO11n"}[name]
    bench.table(
        f"Gears of {title}: ms of a batch",
        ["gear", "shared session", "session for that gear alone", "of it"],
        [[b, turns.median(f"gear {b}") / 1e3, turns.median(f"alone {b}") / 1e3, ratios[b]] for b in batches],
    )
    bench.claim(f"gears.{name}_latency", max(ratios.values()))
    memory_of.model_alone(model).compile(gears=gears[-1:])
    largest, all_of_them = (_memory_mb(model, some, bench.quick) for some in (gears[-1:], gears))
    rows_of = [["the largest alone", largest], ["all eight", all_of_them]]
    bench.table(f"Gears of {title}: memory", ["", "MB"], rows_of)
    bench.claim(f"gears.{name}_memory", all_of_them / largest)


def _alone(path: str, rows: Array) -> tuple[Callable[[], object], Array]:
    session = runtime.session(path, cores())
    (source,), (target,) = session.get_inputs(), session.get_outputs()
    (want,) = session.run(None, {source.name: rows})
    made = np.empty_like(want)
    binding = session.io_binding()
    binding.bind_input(source.name, "cpu", 0, np.float32, rows.shape, rows.ctypes.data)
    binding.bind_output(target.name, "cpu", 0, np.float32, made.shape, made.ctypes.data)
    keep: Any = (session, binding, made)
    return (lambda: keep[0].run_with_iobinding(keep[1])), want


def _memory_mb(model: Path, gears: tuple[int, ...], quick: bool) -> float:
    command = [sys.executable, memory_of.__file__, str(model), ",".join(map(str, gears))]
    runs = (subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True) for _ in range(RUNS))
    return statistics.median(float(run.stdout) for run in runs) if not quick else float(next(runs).stdout)
