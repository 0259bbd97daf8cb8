"""Compiling YOLO11n with eight gears: the first time, from the cache in a new process, and two processes at once.

Beside it is what ONNX Runtime needs to open the file of the model, which a program by hand does at each start.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import compile_once
import tasks
from bench import Bench
from weights import ROOT, laid_out

from baselines.runtime import open_session
from ge_engine.cache.store import FOLDER

GEARS = "1,2,3,4,5,6,7,8"


def _start(cache: Path, quick: bool) -> subprocess.Popen[str]:
    path = os.pathsep.join(str(ROOT / name) for name in ("tests/benchmarks", "tests/support", "scripts"))
    environment = {**os.environ, FOLDER: str(cache), "PYTHONPATH": path}
    command = [sys.executable, compile_once.__file__, "1" if quick else GEARS]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def _seconds(process: subprocess.Popen[str]) -> float:
    text, _ = process.communicate()
    assert process.returncode == 0, text
    return float(text)


def test_compile(bench: Bench, tmp_path: Path) -> None:
    model = laid_out(tasks.YOLO11)
    folders = iter(range(1000))
    latest = tmp_path

    def first() -> float:
        nonlocal latest
        latest = tmp_path / str(next(folders))
        return _seconds(_start(latest, bench.quick))

    def opened() -> float:
        start = time.perf_counter()
        open_session(model, 0)
        return time.perf_counter() - start

    turns = bench.in_turn(
        {
            "first": first,
            "second, from the cache": lambda: _seconds(_start(latest, bench.quick)),
            "ONNX Runtime opens the file": opened,
        },
        rounds=3,
    )
    together = [_start(tmp_path / "together", bench.quick) for _ in range(2)]
    seconds = [_seconds(process) for process in together]
    rows = [[name, turns.median(name)] for name in turns.values]
    rows.append(["two processes at once, the slower", max(seconds)])
    bench.table("Compiling YOLO11n with eight gears", ["", "s"], rows)
    bench.claim("compile.cache", statistics.median(turns.values["first"]) / turns.median("second, from the cache"))
    bench.claim("compile.together", len(seconds))
