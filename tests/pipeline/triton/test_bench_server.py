"""Real servers, measured. One is shared by the tests that leave it alive."""

from __future__ import annotations

import csv
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from command_line import MAIN
from triton_servers import Start, model

from ops import ServerError, WrongUse
from pipeline.bench import Settings, measure
from pipeline.triton import bench_wire
from pipeline.triton.bench_server import ServedModel, ServerTarget, counters, on_this_machine
from pipeline.triton.bench_wire import connect
from pipeline.triton.server import Server

KINDS = ("grpc", "http")
QUICK = Settings(window_s=0.2, max_windows=3)
POSITIVE = """import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(pb.get_input_tensor_by_name(request, "x").as_numpy()) for request in requests]

    def answer(self, x):
        if (x < 0).any():
            return pb.InferenceResponse([], pb.TritonError("x is negative"))
        return pb.InferenceResponse([pb.Tensor("y", x)])
"""
ENSEMBLE = """platform: "ensemble"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 2 ] } ]
ensemble_scheduling { step [
  { model_name: "host" model_version: -1 input_map { key: "x" value: "x" } output_map { key: "y" value: "z" } },
  { model_name: "host" model_version: -1 input_map { key: "x" value: "z" } output_map { key: "y" value: "y" } }
] }
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repository = tmp_path_factory.mktemp("bench") / "models"
    model(repository, "host")
    config = repository / "host" / "config.pbtxt"
    config.write_text(config.read_text() + "dynamic_batching { max_queue_delay_microseconds: 1000 }\n")
    model(repository, "positive", code=POSITIVE)
    no_zero = POSITIVE.replace("x is negative", r"x is zero\nfix: send a one").replace("< 0", "== 0")
    model(repository, "picky", code=no_zero)
    (repository / "twice" / "1").mkdir(parents=True)
    (repository / "twice" / "config.pbtxt").write_text(ENSEMBLE)
    with Server(repository) as running:
        yield running


def url(server: Server, kind: str) -> str:
    return server.grpc_url if kind == "grpc" else server.url


def target(server: Server, kind: str, name: str, rows: int = 1, *, values: tuple[float, ...] = (1.0,)) -> ServerTarget:
    samples = [{"x": np.full(2, value, np.float32)} for value in values]
    return ServerTarget(ServedModel(connect(url(server, kind), kind), name), samples, rows, timeout_s=30)


@pytest.mark.triton
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_clients_count_is_what_the_server_counts(kind: str, server: Server) -> None:
    asked = target(server, kind, "twice", rows=2)
    level = measure(asked, 4, QUICK)
    top, host = level.total["twice"], level.total["host"]
    assert top.succeeded == level.answered
    assert top.inferences == 2 * level.answered
    assert host.inferences == 2 * top.inferences
    assert host.executions == sum(host.batches.values())
    assert host.inferences == sum(size * count for size, count in host.batches.items())
    assert level.others("twice") == level.failed == 0


@pytest.mark.triton
@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_formed_of_what_comes_together(kind: str, server: Server) -> None:
    level = measure(target(server, kind, "host"), 4, QUICK)
    assert max(level.window.counted["host"].batches) > 1
    latency = level.window.latency_us
    assert 0 < latency.p50 <= latency.p90 <= latency.p95 <= latency.p99
    counted = level.window.counted["host"]
    assert 0 < counted.each_us(counted.compute_infer_ns) < counted.each_us(counted.request_ns) < 2 * latency.avg
    busy = counted.busy(level.window.seconds)
    assert busy is not None
    assert 0 < busy < 1.1


@pytest.mark.triton
@pytest.mark.parametrize("kind", KINDS)
def test_a_request_that_fails_is_counted(kind: str, server: Server) -> None:
    level = measure(target(server, kind, "positive", values=(1.0, -1.0)), 1, QUICK)
    assert abs(level.failed - level.answered) <= 1
    assert "x is negative" in level.first_error
    assert level.total["positive"].failed == level.failed


@pytest.mark.triton
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_measured_is_said_first(kind: str, server: Server) -> None:
    wire = connect(url(server, kind), kind)
    with pytest.raises(ServerError, match="unknown model: 'absent'"):
        ServedModel(wire, "absent")
    with pytest.raises(WrongUse, match="--batch 5: host takes at most 4"):
        target(server, kind, "host", rows=5)
    with pytest.raises(WrongUse, match=r"refuses a trial request(.|\n)*unexpected shape for input 'x'"):
        ServerTarget(ServedModel(wire, "host"), [{"x": np.zeros(3, np.float32)}], 1, timeout_s=30)
    with pytest.raises(WrongUse, match="refuses a trial request"):
        ServerTarget(ServedModel(wire, "host"), [{"x": np.zeros(2, np.float32)}], 1, timeout_s=1e-5)


@pytest.mark.triton
@pytest.mark.parametrize("kind", KINDS)
def test_the_remedy_is_for_the_data_that_was_chosen_or_to_choose_some(kind: str, server: Server) -> None:
    model = ServedModel(connect(url(server, kind), kind), "picky")
    samples = [{"x": np.zeros(2, np.float32)}]
    with pytest.raises(WrongUse, match="picky refuses a trial request: x is zero") as caught:
        ServerTarget(model, samples, 1, timeout_s=30)
    assert caught.value.fix == "send a one"
    with pytest.raises(WrongUse, match="refuses a trial request, made up of random data: x is zero") as caught:
        ServerTarget(model, samples, 1, timeout_s=30, made_up=True)
    assert caught.value.fix.startswith("give --golden DIR")


@pytest.mark.triton
def test_the_wrong_port_is_noticed(server: Server) -> None:
    with pytest.raises(ServerError, match="does not answer") as caught:
        ServedModel(connect(server.url, "grpc"), "host")
    assert caught.value.fix == "that is its HTTP port: add --http"
    with pytest.raises(ServerError, match="does not speak HTTP"):
        ServedModel(connect(server.grpc_url, "http"), "host")


@pytest.mark.triton
def test_a_server_that_hangs_or_dies_ends_it(
    tmp_path: Path, triton_server: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_wire, "_ALIVE_S", 0.2)
    model(tmp_path / "models", "host")
    running = triton_server(tmp_path / "models")
    by_grpc, by_http = (target(running, kind, "host") for kind in KINDS)
    host = ServedModel(connect(running.grpc_url, "grpc"), "host")
    impatient = ServerTarget(host, [{"x": np.zeros(2, np.float32)}], 1, timeout_s=2)
    os.kill(running.pid, signal.SIGSTOP)
    with closing(impatient.client()) as client, pytest.raises(ServerError, match="answers no more: Deadline Exceeded"):
        client.request()
    os.kill(running.pid, signal.SIGCONT)

    def kill_when_busy() -> None:
        while running.rest.statistics("host")["inference_count"] < 50:
            pass
        os.kill(running.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_when_busy)
    with closing(by_http.client()) as client:
        client.request()
        killer.start()
        with pytest.raises(ServerError, match=r"answers no more|does not answer"):
            measure(by_grpc, 4, Settings(window_s=60))
        with pytest.raises(ServerError, match="answers no more"):
            client.request()
    killer.join()


def command(*words: str) -> list[str]:
    return [*MAIN, "bench", *words]


@pytest.mark.triton
def test_the_command_prints_a_table_and_writes_files(server: Server, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    words = [server.grpc_url, "--model", "twice", "--concurrency", "1:4:3", "--window-s", "0.2", "--batch", "2"]
    files = ["--json", "b.json", "--csv", "b.csv", "--plot", "b.png"]
    run = subprocess.run(command(*words, *files), cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert max(map(len, run.stdout.splitlines())) <= 100
    assert re.search(r"^twice at 127.0.0.1:\d+ \(grpc\), Triton 2.43.0$", run.stdout, re.MULTILINE)
    assert "measuring with 4 clients" in run.stderr
    document = json.loads((tmp_path / "b.json").read_text())
    lines = list(csv.DictReader((tmp_path / "b.csv").read_text().splitlines()))
    for level, line in itertools.zip_longest(document["levels"], lines):
        assert line["latency_us.p50"] == str(level["latency_us"]["p50"])
        assert f"{level['infer_per_sec']:.1f}" in run.stdout
        assert level["infer_per_sec"] == pytest.approx(2 * level["requests_per_sec"])
        assert level["models"]["host"]["inferences"] == pytest.approx(4 * level["requests"], abs=4 * 2 * 5)
    assert [level["concurrency"] for level in document["levels"]] == [1, 4]
    assert cv2.imread(str(tmp_path / "b.png")) is not None


@pytest.mark.triton
def test_ctrl_c_prints_what_there_is(server: Server, tmp_path: Path) -> None:
    words = command(server.grpc_url, "-m", "host", "--window-s", "0.1", "--concurrency", "1,2", "--stability", "0")
    with subprocess.Popen(
        [*words, "--max-windows", "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        assert "measuring with 1 client" in run.stderr.readline()
        before = server.rest.statistics("host")["inference_count"]
        while server.rest.statistics("host")["inference_count"] < before + 500:
            pass
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    assert "interrupted" in out
    assert "2 clients" not in err
    assert "Traceback" not in err


@pytest.mark.triton
def test_failures_are_an_exit_code(server: Server, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full(2, -1, np.float32))
    words = command(server.url, "--http", "-m", "positive", "-i", f"x=@{tmp_path}/x.npy")
    run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "positive refuses a trial request: x is negative" in run.stderr


def test_without_tritonclient_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in KINDS:
        monkeypatch.setitem(sys.modules, f"tritonclient.{kind}", None)
        with pytest.raises(WrongUse, match="bench needs tritonclient") as caught:
            connect("127.0.0.1:1", kind)
        assert caught.value.fix == 'pip install "tritonclient[grpc,http]"'


def test_statistics_are_read_in_the_form_of_either_interface() -> None:
    as_text: dict[str, Any] = {
        "version": "1", "inference_count": "6", "execution_count": "3",
        "inference_stats": {"success": {"count": "4", "ns": "800"}, "fail": {}, "queue": {"count": "4", "ns": "80"}},
        "batch_stats": [
            {"batch_size": "2", "compute_input": {"count": "3", "ns": "1"}, "compute_infer": {"count": "3", "ns": "10"},
             "compute_output": {"count": "3", "ns": "100"}}
        ],
    }  # fmt: skip
    found = counters(as_text, 1)
    assert (found.succeeded, found.failed, found.inferences, found.executions) == (4, 0, 6, 3)
    assert (found.request_ns, found.queue_ns, found.busy_ns, found.batches) == (800, 80, 111, {2: 3})


@pytest.mark.parametrize(
    ("url", "here"),
    [("127.0.0.1:8001", True), ("localhost:8001", True), ("[::1]:8001", True), ("192.0.2.1:8001", False)],
)
def test_an_address_of_this_machine_is_known(url: str, here: bool) -> None:
    assert on_this_machine(url) is here
