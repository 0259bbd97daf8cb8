"""A gate at which the samples of a pipeline wait, for a test to see what happens meanwhile."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from ops import Array, Edge, Op, TensorSpec
from pipeline import Session

LIMIT = 30  # seconds, for what comes at once


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("gepipe-")]


class Gate:
    """A door in a pipeline: samples that arrive are counted, and wait until it is open."""

    def __init__(self) -> None:
        self.arrived = threading.Semaphore(0)
        self.opened = threading.Event()
        self.values: list[float] = []

    def pass_(self, value: float) -> None:
        self.values.append(value)
        self.arrived.release()
        assert self.opened.wait(LIMIT)

    def await_one(self) -> None:
        assert self.arrived.acquire(timeout=LIMIT)


GATES: dict[str, Gate] = {}


@dataclass(frozen=True)
class Wait(Op[Edge]):
    """A host op that waits at a gate."""

    gate: str

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def run(self, x: Array) -> Array:
        GATES[self.gate].pass_(float(x[0]))
        return x + 0


def number(value: float) -> dict[str, Array]:
    return {"x": np.full(8, value, np.float32)}


def occupy(session: Session, gate: Gate) -> list[Future[Any]]:
    """Keep every worker busy at the gate."""
    busy: list[Future[Any]] = []
    while len(busy) < max(1, len(threads())):
        busy.append(session.submit(**number(-1)))
        gate.await_one()
    return busy
