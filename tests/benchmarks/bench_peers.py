"""Other libraries with the same aim, each in an environment of its own, on the same task, in turn with us.

OpenVINO, MMDeploy's SDK and onnxruntime-extensions run one sample after the other on one core, as gepipe does here with
one thread. DALI and LitServe use all cores, as gepipe does beside them. LitServe and tritonserver are each asked by 16
clients of this process.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import tasks
from asking import CLIENTS, as_bytes, asked, server
from bench import Bench, Measure
from callers import at_once, mapped
from machine import cores
from models import small
from peer import SCRIPTS, Peer, Unavailable, python_of
from photos import scene
from weights import laid_out

from baselines.orientation import Loop
from pipeline import Session

_SPAN_S = 0.3
_READY_S = 60
NAMES = {
    "openvino_ppp": "OpenVINO PrePostProcessor",
    "mmdeploy_sdk": "mmdeploy-runtime",
    "ort_extensions": "onnxruntime-extensions",
    "dali_cpu": "DALI on the CPU",
    "litserve_server": "LitServe",
}


def _compare(
    bench: Bench, title: str, unit: str, measures: dict[str, Measure], peers: Mapping[str, Callable[[], Measure]]
) -> Any:
    """Ours, and the peers that can be had; why not is a note."""
    for name, make in peers.items():
        try:
            if bench.quick:
                raise Unavailable("only measured, not checked")
            measures[NAMES[name]] = make()
        except Unavailable as error:
            bench.note(f"{NAMES[name]} is left out: {error}")
    turns = bench.in_turn(measures, rounds=5)
    bench.turns_table(title, turns, unit, "gepipe")
    return turns


def test_array_to_small_model(bench: Bench, tmp_path: Path) -> None:
    model, image = small(tmp_path), scene(1080, 1920)
    np.save(tmp_path / "image.npy", image)
    cv2.setNumThreads(1)
    with ExitStack() as stack, _one_core() as core, tasks.chain(model).compile(threads=1).session() as session:
        answer = session.run(image=image)["y"]

        def measured(name: str) -> Measure:
            peer = Peer(name, (model, tmp_path / "image.npy", _SPAN_S), stack, core)
            np.testing.assert_allclose(peer.answer, answer, atol=1e-2)  # OpenVINO rounds otherwise when it resizes
            return peer.us

        ours = {"gepipe": bench.latency_us(lambda: session.run(image=image))}
        peers = {name: partial(measured, name) for name in ("openvino_ppp", "mmdeploy_sdk")}
        turns = _compare(bench, "1080p array to a small model, one thread", "us", ours, peers)
    if NAMES["mmdeploy_sdk"] in turns.values:
        bench.claim("peers.mmdeploy", turns.ratio("gepipe", NAMES["mmdeploy_sdk"]))


@pytest.mark.parametrize(("name", "several"), [("ort_extensions", False), ("dali_cpu", True)])
def test_jpeg_to_light_model(bench: Bench, name: str, several: bool) -> None:
    model, jpeg = laid_out(tasks.ORIENTATION), tasks.bus()
    file = laid_out("examples/yolo11/weights/bus.jpg")
    streams, gears = (cores(), (1, 2, 4, 8)) if several else (1, (1,))
    cv2.setNumThreads(1)
    plan = tasks.orientation().compile(gears=gears, streams=streams, threads=1)
    with ExitStack() as stack, plan.session() as session:
        core = None if several else stack.enter_context(_one_core())
        answer = session.run(image=jpeg)["scores"]

        def measured() -> Measure:
            peer = Peer(name, (model, file, _SPAN_S), stack, core)
            np.testing.assert_allclose(peer.answer, answer, atol=1e-2)
            return peer.us

        one = bench.latency_us(lambda: session.run(image=jpeg))
        ours: dict[str, Measure] = {"gepipe": _us_each(bench, session, jpeg) if several else one}
        what = "all cores" if several else "one thread"
        _compare(bench, f"Light model from JPEG, {what}", "us a sample", ours, {name: measured})


@contextmanager
def _one_core() -> Iterator[int]:
    """Where this thread, and a peer, run: the same core for both, whatever else the machine does."""
    before = os.sched_getaffinity(0)
    core = max(before)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)


def _us_each(bench: Bench, session: Session, jpeg: bytes) -> Measure:
    rate = bench.rate(mapped(session, {"image": jpeg}))
    return lambda: 1e6 / rate()


@pytest.mark.triton
def test_litserve(bench: Bench, tmp_path: Path) -> None:
    model, jpeg = laid_out(tasks.ORIENTATION), tasks.bus()
    plan = tasks.orientation().compile(gears=(1, 2, 4, 8), streams=cores(), host_instances=cores())
    repository = tmp_path / "models"
    plan.export(repository, samples=[{"image": jpeg}])
    with ExitStack() as stack, server(repository) as running:

        def measured() -> Measure:
            port = stack.enter_context(_litserve(model))
            body = json.dumps({"image": base64.b64encode(jpeg).decode()})
            clients = _Clients(port, CLIENTS, stack)
            np.testing.assert_allclose(clients.post(body), Loop(model)(jpeg), atol=1e-3)
            return bench.rate(at_once(lambda: clients.post(body), CLIENTS))

        ours = {"gepipe": asked(bench, running.grpc_url, "orientation", {"image": as_bytes(jpeg)})}
        title = f"Light model served, {CLIENTS} clients"
        _compare(bench, title, "samples/s", ours, {"litserve_server": measured})


class _Clients:
    """Connections that are kept open, for as many threads."""

    def __init__(self, port: int, count: int, stack: ExitStack) -> None:
        self._free: queue.SimpleQueue[http.client.HTTPConnection] = queue.SimpleQueue()
        for _ in range(count):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            self._free.put(stack.enter_context(closing(connection)))

    def post(self, body: str) -> list[float]:
        connection = self._free.get()
        connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        text = response.read()
        self._free.put(connection)
        if response.status != 200:
            raise Unavailable(f"it answers {response.status}: {text[:200]!r}")
        scores: list[float] = json.loads(text)["scores"]
        return scores


@contextmanager
def _litserve(model: Path) -> Iterator[int]:
    """A server, ready; its port. Errors: Unavailable."""
    with closing(socket.socket()) as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
    command: list[str | Path] = [python_of("litserve_server"), SCRIPTS / "litserve_server.py", model, str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True) as process:
        try:
            _await(port, process)
            yield port
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its workers would outlive it


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _READY_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    raise Unavailable("its server does not get ready")
