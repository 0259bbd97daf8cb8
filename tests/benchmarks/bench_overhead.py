"""What a request costs beside its kernels: 5 nodes that do next to nothing, on a device that does nothing at all.

By hand it is five calls and a dictionary, with no check, no batch and no thread: a floor, not an equivalent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bench import Bench
from tiny import VECTOR, Scale, vector_model

from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import Array
from pipeline import Pipeline

BATCH = 8


def _nothing(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
    for array in outputs.values():
        array.fill(1)


def _five_nodes(folder: Path) -> Pipeline:
    pipeline = Pipeline("five")
    x = pipeline.input("x", VECTOR)
    for factor in (2.0, 3.0, 4.0):
        x = Scale(factor)(x)
    pipeline.output(y=Scale(5.0)(Model(vector_model(folder))(x)))
    return pipeline


def _by_hand(x: Array) -> dict[str, Array]:
    for factor in (2.0, 3.0, 4.0):
        x = np.multiply(x, np.float32(factor))
    return {"y": np.multiply(np.ones(4, np.float32), np.float32(5.0))}


def test_overhead(bench: Bench, tmp_path: Path) -> None:
    sample = {"x": np.arange(8, dtype=np.float32)}
    batch = [sample] * BATCH
    want = _by_hand(sample["x"])["y"]
    plan = _five_nodes(tmp_path).compile(gears=(1, 2, 4, BATCH))
    with plan.session(NullDevice(compute=_nothing)) as session:
        np.testing.assert_array_equal(session.run(**sample)["y"], want)
        np.testing.assert_array_equal(session.submit(**sample).result()["y"], want)
        assert all(np.array_equal(answer["y"], want) for answer in session.run_batch(batch))  # type: ignore[index]
        turns = bench.in_turn(
            {
                "by hand": bench.latency_us(lambda: _by_hand(sample["x"])),
                "run": bench.latency_us(lambda: session.run(**sample)),
                "run_batch of 8": bench.latency_us(lambda: session.run_batch(batch)),
                "submit, and wait": bench.latency_us(lambda: session.submit(**sample).result()),
            }
        )
    each = turns.median("run_batch of 8") / BATCH
    bench.claim("overhead.run", turns.median("run"))
    bench.claim("overhead.batch", each)
    bench.claim("overhead.submit", turns.median("submit, and wait"))
    rows: list[list[Any]] = [[name, turns.median(name)] for name in turns.values]
    bench.table("A request of 5 nodes on the null device", ["", "us"], [*rows, ["run_batch of 8, a sample", each]])
