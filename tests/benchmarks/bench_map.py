"""`map` over 10,000 samples: what a sample costs from the first thousand to the last, and how memory grows."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tasks
from bench import Bench
from machine import cores
from models import small
from photos import scene

from baselines.chain import ResizeFirst
from ops import GepipeError

SAMPLES = 10_000
STEP = 1_000
SETTLED = 500
HEIGHT, WIDTH = 480, 640


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_map(bench: Bench, tmp_path: Path) -> None:
    model = small(tmp_path)
    image = scene(HEIGHT, WIDTH)
    loop = ResizeFirst(model, cores())
    count = 2 * STEP if bench.quick else SAMPLES
    costs_us: list[float] = []
    memory: dict[int, float] = {}

    def samples() -> Iterator[dict[str, Any]]:
        for _ in range(count):
            yield {"image": image.copy()}  # each its own, as a reader's would be

    plan = tasks.chain(model, HEIGHT, WIDTH).compile(gears=(1, 2, 4, 8), streams=cores())
    with plan.session() as session:
        want = loop(image)

        def over() -> float:
            costs_us.clear()
            memory.clear()
            begin = start = time.perf_counter()
            for number, answer in enumerate(session.map(samples()), 1):
                assert not isinstance(answer, GepipeError)
                if number == 1:
                    np.testing.assert_allclose(answer["y"], want, atol=1e-4)
                if number % STEP == 0:
                    now = time.perf_counter()
                    costs_us.append((now - start) / STEP * 1e6)
                    start = now
                if number % SETTLED == 0:
                    memory[number] = _resident_mb()
            return count / (time.perf_counter() - begin)

        turns = bench.in_turn(
            {
                "gepipe, map": over,
                "loop": bench.rate(lambda n: [loop(sample["image"]) for sample, _ in zip(samples(), range(n))]),
            },
            rounds=1,
        )
    bench.turns_table(
        f"{count:,} arrays of {HEIGHT} x {WIDTH} through a small model", turns, "samples/s", "gepipe, map"
    )
    thousands = [STEP * (index + 1) for index in range(len(costs_us))]
    rows = [[f"{done:,}", cost, memory[done]] for done, cost in zip(thousands, costs_us)]
    bench.table("`map`, by thousand", ["samples", "us a sample", "resident MB"], rows)
    bench.plot("lines", "`map` over 10,000 samples", "samples", thousands, {"us a sample": costs_us}, "us")
    bench.plot("lines", "Resident memory", "samples", list(memory), {"MB": list(memory.values())}, "MB")
    half = len(costs_us) // 2
    bench.claim("map.cost", statistics.median(costs_us[half:]) / statistics.median(costs_us[:half]))
    bench.claim("map.memory", memory[count] / memory[SETTLED])
