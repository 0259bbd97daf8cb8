from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tiny

import ops
from ge_engine import Model
from ge_engine.cores import usable_cores
from ge_engine.devices import NullDevice
from ops import OpError
from pipeline import Pipeline
from pipeline.tune.host import Host, measure_host


@dataclass(frozen=True)
class Slow(ops.Op[ops.Edge]):
    """Takes so long, without a core: what the test measures does not depend on what else runs."""

    seconds: float

    def infer(self, x: ops.TensorSpec) -> ops.TensorSpec:
        return x

    def run(self, x: ops.Array) -> ops.Array:
        time.sleep(self.seconds)
        return x + 1


def test_it_measures_what_lies_before_the_device_and_behind_it_and_nothing_of_the_device(tmp_path: Path) -> None:
    pipeline = Pipeline("slow")
    x = Slow(0.004)(pipeline.input("x", tiny.VECTOR))
    pipeline.output(y=Slow(0.002)(Model(tiny.vector_model(tmp_path))(x)))
    device = NullDevice(pads=False, time_us=lambda rows: 50_000.0)
    with pipeline.compile().session(device) as session:
        host = measure_host(session, tiny.vectors(3), 0.01)
    assert host.cores == usable_cores()
    assert 4000 <= host.before_us < 25_000
    assert 2000 <= host.after_us < 25_000
    assert not host.shared


def test_a_sample_that_fails_ends_it(tmp_path: Path) -> None:
    pipeline = Pipeline("picky")
    pipeline.output(y=Model(tiny.vector_model(tmp_path))(tiny.Picky()(pipeline.input("x", tiny.VECTOR))))
    with pipeline.compile().session("null") as session, pytest.raises(OpError):
        measure_host(session, [{"x": np.full(8, -1000, np.float32)}], 0.01)


def test_the_most_that_it_gives_is_its_cores_by_its_time() -> None:
    assert Host(4, 1500, 500, False).most_per_sec == 2000
    assert Host(4, 0, 0, False).most_per_sec == float("inf")


def test_a_device_of_its_own_is_bounded_by_the_host_and_leaves_it_all_cores() -> None:
    host = Host(4, 1500, 500, False)
    assert host.per_sec(1000.0, 8, "12|10") == 1000
    assert host.per_sec(9000.0, 8, None) == 2000
    assert Host(4, 0, 0, False).per_sec(9000.0, 8, None) == 9000


def test_a_device_on_its_cores_leaves_it_those_that_are_idle() -> None:
    host = Host(4, 2000, 0, True)
    assert host.cores_of(1, 2) == 2
    assert host.cores_of(8, 2) == 4
    assert host.per_sec(500.0, 1, 2) == 500  # 2 ms of the host and 4 of the device: 4 cores have time for 667
    assert host.per_sec(500.0, 4, 1) == pytest.approx(400)  # 2 ms and 8
