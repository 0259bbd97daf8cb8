"""New versions reach clients of a running server, and none of their requests fails."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import numpy as np
import pytest
import tiny
from served import ask
from triton_servers import Start

from ge_engine import Model
from ops import Array
from pipeline import Batching, Pipeline, Plan
from pipeline.triton.processes import session, stub
from pipeline.triton.repository import activate, export
from pipeline.triton.server import Server

http = pytest.importorskip("tritonclient.http")
pytestmark = pytest.mark.triton
SAMPLE = np.linspace(-1, 1, 8, dtype=np.float32)
CLIENTS = 8


def plan_of(folder: Path, seed: int) -> Plan:
    """A version: the same inputs and outputs, other weights."""
    place = folder / str(seed)
    place.mkdir()
    pipeline = Pipeline("vector")
    pipeline.output(y=Model(tiny.vector_model(place, seed=seed))(tiny.Scale(2.0)(pipeline.input("x", tiny.VECTOR))))
    return pipeline.compile(gears=(1, 2, 4, 8), batching=Batching(max_delay_us=500))


def answer_of(plan: Plan) -> bytes:
    with plan.session() as session:
        y: Array = session.run(x=SAMPLE)["y"]
    return y.tobytes()


class Load:
    """8 clients that ask `vector` without a pause. seen: how often each answer came; errors: what failed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: Counter[bytes] = Counter()
        self.errors: list[str] = []
        self.news = threading.Condition()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._client) for _ in range(CLIENTS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def gets(self, answer: bytes, times: int = 200) -> None:
        """Wait until that answer has come so many times more."""
        with self.news:
            enough = self.seen[answer] + times
            assert self.news.wait_for(lambda: self.seen[answer] >= enough, timeout=60), (self.seen, self.errors[:3])

    def _client(self) -> None:
        tensor = http.InferInput("x", [1, 8], "FP32").set_data_from_numpy(SAMPLE[None])
        with http.InferenceServerClient(self.url) as client:
            while not self._over.is_set():
                try:
                    answer = client.infer("vector", [tensor]).as_numpy("y").tobytes()
                except http.InferenceServerException as error:
                    self.errors.append(str(error))
                    continue
                with self.news:
                    self.seen[answer] += 1
                    self.news.notify_all()


@contextmanager
def under_load(server: Server) -> Iterator[Load]:
    """Clients at work; in the end none of their requests has failed."""
    with Load(server.url) as load:
        yield load
    assert not load.errors, (len(load.errors), sum(load.seen.values()), load.errors[:3])


@pytest.mark.parametrize(("target", "control"), [("24.02", "poll"), ("24.02", "explicit"), ("24.10", "poll")])
def test_no_request_fails_while_a_version_is_rolled_out_and_back(
    target: str, control: str, tmp_path: Path, triton_server: Start
) -> None:
    first, second = plan_of(tmp_path, 1), plan_of(tmp_path, 2)
    root = tmp_path / "models"
    export(first, root)
    server = triton_server(root, target=target, control=control)

    def loaded(*models: str) -> None:
        if control == "explicit":
            for model in models:
                server.load(model)

    with under_load(server) as load:
        load.gets(answer_of(first))
        loaded(*export(second, root))
        load.gets(answer_of(second))
        activate(root, "vector", 1, "24.02")
        loaded("vector")
        load.gets(answer_of(first))
        activate(root, "vector", 2, "24.02")
        loaded("vector")
        load.gets(answer_of(second))
    assert set(load.seen) == {answer_of(first), answer_of(second)}
    assert not list(root.rglob("*.pyc"))  # which a polling server would take for a change


def test_both_versions_can_be_called_by_name_for_a_gray_release(tmp_path: Path, triton_server: Start) -> None:
    plans = [plan_of(tmp_path, 1), plan_of(tmp_path, 2)]
    for plan in plans:
        export(plan, tmp_path / "models")
    server = triton_server(tmp_path / "models")
    tensor = {"name": "x", "shape": [1, 8], "datatype": "FP32", "data": SAMPLE.tolist()}
    for number, plan in enumerate(plans, 1):
        (output,) = server.rest.infer(f"vector_v{number}", {"inputs": [tensor]})["outputs"]
        assert np.array(output["data"], np.float32).tobytes() == answer_of(plan)


@pytest.mark.parametrize("control", ["explicit", "poll"])
def test_a_killed_host_stage_is_noticed_and_the_ensemble_answers_again(
    control: str, tmp_path: Path, triton_server: Start
) -> None:
    plan = plan_of(tmp_path, 1)
    export(plan, tmp_path / "models")
    said: SimpleQueue[str] = SimpleQueue()
    server = triton_server(tmp_path / "models", control=control, say=said.put)
    running = [stub(process.pid) for process in session(server.pid)]
    (host,) = (one for one in running if one is not None and one.model == "vector_1_host0")
    os.kill(host.pid, signal.SIGKILL)
    heard = ""
    while "is back" not in heard:
        heard += said.get(timeout=60)
    assert f"{host.instance} (process {host.pid}) died: SIGKILL" in heard
    assert ask(server.url, "vector", {"x": SAMPLE[None]})["y"].tobytes() == answer_of(plan)


def test_a_model_that_is_unloaded_under_load_of_another_does_no_harm(tmp_path: Path, triton_server: Start) -> None:
    first, second = plan_of(tmp_path, 1), plan_of(tmp_path, 2)
    export(first, tmp_path / "models")
    old = export(second, tmp_path / "models", activate=False)
    server = triton_server(tmp_path / "models")
    with under_load(server) as load:
        for model in reversed(old):  # the ensemble first
            server.rest.unload(model)
            load.gets(answer_of(first), times=50)
        server.load(old[-1])
        load.gets(answer_of(first))
