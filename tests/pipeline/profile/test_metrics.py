from __future__ import annotations

import gc
import sys
import threading
import time
import urllib.request
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import tiny
from served import ask
from triton_servers import Start, triton_server

from ge_engine.devices import NullDevice
from ops import Array, GepipeError, QueueError
from pipeline import Batching, Plan

prometheus_client = pytest.importorskip("prometheus_client")
__all__ = ["triton_server"]


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return tiny.vector_pipeline(tmp_path_factory.mktemp("models")).compile(gears=(1, 2, 4))


def text(registry: prometheus_client.CollectorRegistry) -> str:
    """What a scrape gets."""
    return str(prometheus_client.generate_latest(registry).decode())


def types(page: str) -> dict[str, str]:
    """The type of each metric, by the name that its samples have."""
    lines = page.splitlines()
    found = dict(line.split()[2:] for line in lines if line.startswith("# TYPE "))
    assert {line.partition("{")[0] for line in lines if line.startswith("nv_inference")} <= found.keys()
    return found


def value(page: str, name: str, model: str) -> float:
    (line,) = (line for line in page.splitlines() if line.startswith(f'{name}{{model="{model}",version="1"}} '))
    return float(line.split()[-1])


def test_counts_and_times_are_there_for_the_pipeline_and_each_stage(plan: Plan) -> None:
    registry = prometheus_client.CollectorRegistry()
    with plan.session() as session:
        session.metrics(registry)
        session.run_batch(tiny.vectors(3))
        session.run_batch([{"wrong": 1}])
        counts = session.counters()
        page = text(registry)
    assert value(page, "nv_inference_request_success", "vector") == 1
    assert value(page, "nv_inference_request_failure", "vector") == 1
    assert value(page, "nv_inference_count", "vector") == 3
    assert value(page, "nv_inference_count", "vector_1_dense") == 3
    assert value(page, "nv_inference_exec_count", "vector_1_dense") == 1
    assert value(page, "nv_inference_exec_count", "vector_1_host0") == 3
    assert value(page, "nv_inference_pending_request_count", "vector") == 0
    for model, count in counts.items():
        assert value(page, "nv_inference_request_duration_us", model) == count.request_ns // 1000
        assert value(page, "nv_inference_compute_infer_duration_us", model) == count.compute_infer_ns // 1000


def test_no_counter_falls_while_a_session_of_its_name_is_in_the_registry(plan: Plan) -> None:
    registry = prometheus_client.CollectorRegistry(auto_describe=True)
    with plan.session() as first:
        first.metrics(registry)
        first.run(**tiny.vectors(1)[0])
        with plan.session() as second:
            second.metrics(registry)
            second.run_batch(tiny.vectors(3))
            assert value(text(registry), "nv_inference_count", "vector") == 4
        page = text(registry)
        assert value(page, "nv_inference_count", "vector") == 4
        assert value(page, "nv_inference_pending_request_count", "vector") == 0
        assert page.count("# TYPE nv_inference_count counter") == 1
        with plan.session() as third:
            third.metrics(registry)
            third.run(**tiny.vectors(1)[0])
            assert value(text(registry), "nv_inference_count", "vector_1_dense") == 5
    assert "model=" not in text(registry)


def test_sums_of_another_pipeline_go_with_its_own_last_session(plan: Plan, tmp_path: Path) -> None:
    registry = prometheus_client.CollectorRegistry()
    other = tiny.vector_pipeline(tmp_path).compile(name_prefix="my_")
    with plan.session() as session:
        session.metrics(registry)
        with other.session() as theirs:
            theirs.metrics(registry)
            theirs.run(**tiny.vectors(1)[0])
            assert value(text(registry), "nv_inference_count", "my_vector") == 1
        assert "my_vector" not in text(registry)
        assert value(text(registry), "nv_inference_count", "vector") == 0


def test_a_session_that_nobody_closes_leaves_its_sums(plan: Plan) -> None:
    registry = prometheus_client.CollectorRegistry()
    with plan.session() as session:
        session.metrics(registry)
        forgotten = plan.session()
        forgotten.metrics(registry)
        forgotten.run(**tiny.vectors(1)[0])
        gone = weakref.ref(forgotten)
        del forgotten
        gc.collect()
        assert gone() is None
        assert value(text(registry), "nv_inference_count", "vector") == 1
    assert "model=" not in text(registry)


def test_what_waits_is_pending_and_what_is_refused_has_failed(tmp_path: Path) -> None:
    registry = prometheus_client.CollectorRegistry()
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 2), batching=Batching(max_pending=64))
    asked, go = threading.Event(), threading.Event()

    def compute(inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        asked.set()
        assert go.wait(30)

    with plan.session(NullDevice(compute=compute, pads=False)) as session:
        session.metrics(registry)
        futures = [session.submit(**tiny.vectors(1)[0])]
        assert asked.wait(30)
        with suppress(QueueError):
            while True:  # a few go into the sets of buffers, all others into the queue
                futures.append(session.submit(**tiny.vectors(1)[0]))
        page = text(registry)
        go.set()
        for future in futures:
            future.result(30)
    assert value(page, "nv_inference_pending_request_count", "vector") > 32
    assert value(page, "nv_inference_request_failure", "vector") == 1


def test_a_missing_package_is_named(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with (
        plan.session() as session,
        pytest.raises(GepipeError, match=r"prometheus-client\nfix: pip install prometheus-client"),
    ):
        session.metrics()


def page_of(server: str, samples: int) -> str:
    """What a server says, once it has counted so many samples: it answers first."""
    end = time.monotonic() + 30
    while True:
        with urllib.request.urlopen(f"http://{server}/metrics", timeout=60) as answer:
            page = answer.read().decode()
        if value(page, "nv_inference_count", "vector") == samples or time.monotonic() > end:
            return str(page)


@pytest.mark.triton
def test_names_types_and_labels_are_those_of_a_real_server(plan: Plan, tmp_path: Path, triton_server: Start) -> None:
    plan.export(tmp_path / "models")
    server = triton_server(tmp_path / "models", target="24.02")
    batch = {"x": np.stack([sample["x"] for sample in tiny.vectors(3)])}
    for _ in range(2):
        ask(server.url, "vector", batch)
    theirs = page_of(server.metrics_url, samples=6)
    registry = prometheus_client.CollectorRegistry()
    with plan.session() as session:
        session.metrics(registry)
        for _ in range(2):
            session.run_batch(tiny.vectors(3))
        ours = text(registry)
    assert types(ours) == {name: kind for name, kind in types(theirs).items() if name.startswith("nv_inference")}
    for model in ("vector", "vector_1_host0", "vector_1_dense"):
        assert value(ours, "nv_inference_count", model) == value(theirs, "nv_inference_count", model) == 6
        for name in types(ours):
            assert value(theirs, name, model) >= 0
    success = "nv_inference_request_success"
    assert value(ours, success, "vector") == value(theirs, success, "vector") == 2


def test_a_registry_whose_names_are_taken_is_refused_each_time(plan: Plan) -> None:
    registry = prometheus_client.CollectorRegistry()
    prometheus_client.Gauge("nv_inference_count", "somebody else's", registry=registry)
    with plan.session() as session:
        for _ in range(2):
            with pytest.raises(GepipeError, match=r"has Triton's names\nfix: .*a registry of their own"):
                session.metrics(registry)
