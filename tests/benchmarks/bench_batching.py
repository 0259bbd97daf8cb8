"""Dynamic batching on a device that takes a + b * n for a batch of n, as accelerators do; 64 callers, each waiting for
its answer before it asks again.

The bound is what the device can do in batches of the largest gear, were it never idle. By hand it is a loop that takes
what has come in from a queue, up to the largest batch.

A wait is counted from each caller's second request on: the first of all 64 come at one instant, and no batch of 32 can
take them.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench import Bench
from callers import at_once
from tiny import vector_model

from ge_engine import Model
from ge_engine.devices import NullDevice
from ops import Array, TensorSpec
from pipeline import Batching, Pipeline

A_US, B_US = 3400, 1200
CALLERS = 64
MAX_DELAY_US = 2000
MERGED = 32  # half of the callers: one batch is ready when the other is done


class Clocked:
    """The time model, which notes when the batch of each sample began. A sample is its own number."""

    def __init__(self) -> None:
        self.began: dict[int, float] = {}
        self._start = 0.0

    def time_us(self, batch: int) -> float:
        self._start = time.perf_counter()
        return A_US + B_US * batch

    def compute(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        (rows,), (made,) = inputs.values(), outputs.values()
        made[:] = rows[:, :4]
        self.began.update(dict.fromkeys(rows[:, 0].astype(int).tolist(), self._start))


class ByHand:
    """A thread that takes what has come in, up to the largest batch, and sleeps for the device."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._queue: queue.SimpleQueue[tuple[Array, Future[Array]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def submit(self, x: Array) -> Future[Array]:
        future: Future[Array] = Future()
        self._queue.put((x, future))
        return future

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = [first]
            while len(batch) < self._largest and not self._queue.empty():
                item = self._queue.get()
                if item is None:
                    return
                batch.append(item)
            x = np.stack([x for x, _ in batch])
            time.sleep((A_US + B_US * len(batch)) * 1e-6)
            for row, (_, future) in zip(x, batch):
                future.set_result(row[:4].copy())


@pytest.mark.parametrize("largest", [8, 32, 48, 64])
def test_batching(bench: Bench, tmp_path: Path, largest: int) -> None:
    gears = tuple(gear for gear in (1, 2, 4, 8, 16, 32, 48, 64) if gear <= largest)
    pipeline = Pipeline("numbers")
    pipeline.output(y=Model(vector_model(tmp_path))(pipeline.input("x", TensorSpec("float32", (8,)))))
    batching = Batching(max_delay_us=MAX_DELAY_US)
    clocked, hand = Clocked(), ByHand(largest)
    bound = largest / (A_US + B_US * largest) * 1e6
    waits: list[float] = []
    numbers = itertools.count(1)
    settled = 0  # the number from which on waits are counted
    lock = threading.Lock()

    def ask(submit: Callable[[Array], Any], note: bool) -> None:
        with lock:
            number = next(numbers)
        began = time.perf_counter()
        answer = submit(np.full(8, number, np.float32)).result()
        assert int((answer["y"] if note else answer)[0]) == number  # float32 holds whole numbers up to 2**24
        if note:
            wait = clocked.began.pop(number) - began
            if number >= settled:
                waits.append(wait)

    def ask_all(n: int) -> None:
        nonlocal settled
        settled = next(numbers) + CALLERS
        at_once(lambda: ask(lambda x: session.submit(x=x), True), CALLERS)(n)

    plan = pipeline.compile(gears=gears, batching=batching)
    with plan.session(NullDevice(pads=False, time_us=clocked.time_us, compute=clocked.compute)) as session:
        turns = bench.in_turn(
            {
                "gepipe": bench.rate(ask_all),
                "by hand": bench.rate(at_once(lambda: ask(hand.submit, False), CALLERS)),
            },
            rounds=5,
        )
    hand.close()
    rate, wait_us = turns.median("gepipe"), float(np.percentile(waits or [0.0], 99)) * 1e6
    allowed_us = MAX_DELAY_US + A_US + B_US * largest
    bench.table(
        f"{CALLERS} callers, gears up to {largest}",
        ["", "figure"],
        [
            ["bound, samples/s", bound],
            ["gepipe, samples/s", rate],
            ["by hand, samples/s", turns.median("by hand")],
            ["of the bound", rate / bound],
            ["p99 of the wait, ms", wait_us / 1e3],
            ["max_delay_us and one batch, ms", allowed_us / 1e3],
        ],
    )
    if largest == MERGED:
        bench.claim("batching.bound", rate / bound)
        bench.claim("batching.wait", wait_us / allowed_us)
