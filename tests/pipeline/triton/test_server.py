"""Real servers of both releases."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from triton_servers import TELLS, Start, ask, model, npu_ge

from ops.errors import ServerError
from pipeline.triton.lock import SHARED_MEMORY
from pipeline.triton.ports import Ports
from pipeline.triton.processes import Region, Stub, regions, session, stub
from pipeline.triton.releases import TARGETS
from pipeline.triton.server import Server

pytestmark = pytest.mark.triton
targets = pytest.mark.parametrize("target", TARGETS)


class Ear:
    """Hears what a server is told to say."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.news = threading.Condition()

    def __call__(self, text: str) -> None:
        with self.news:
            self.heard.append(text)
            self.news.notify_all()

    def hears(self, words: str) -> bool:
        with self.news:
            return self.news.wait_for(lambda: any(words in text for text in self.heard), timeout=60)


def stubs(server: Server) -> dict[str, Stub]:
    found = [stub(process.pid) for process in session(server.pid)]
    return {one.instance: one for one in found if one is not None}


def left(found: set[Region]) -> list[Region]:
    """Those regions that are still there."""
    paths = [(region, SHARED_MEMORY / region.name) for region in found]
    return [region for region, path in paths if path.exists() and path.stat().st_ino == region.inode]


@targets
def test_a_server_answers_and_leaves_nothing_behind(target: str, tmp_path: Path, triton_server: Start) -> None:
    repository = tmp_path / "models"
    model(repository, "host")
    model(repository, "device", backend="npu_ge")
    model(repository, "tells", code=TELLS, output="STRING")
    ear = Ear()
    server = triton_server(repository, target=target, stand_in=npu_ge(tmp_path / "npu_ge"), say=ear)
    assert server.rest.version() == TARGETS[target]
    assert {row.name: row.state for row in server.rest.index()} == dict.fromkeys(("host", "device", "tells"), "READY")
    assert ask(server, "host") == [2, 3]
    assert ask(server, "device") == [2, 3]
    assert server.url.startswith("127.0.0.1:")
    assert ear.hears("npu_ge: the stand-in")
    told = json.loads(ask(server, "tells")[0])
    assert told["numpy"].startswith("1.")
    assert told["cwd"] == str(server.folder)
    assert not [path for path in told["path"] if path.startswith(sys.prefix)]

    seen = regions(server.pid)
    assert len(seen) == len(stubs(server)) == 3
    server.stop()
    assert not session(server.pid)
    assert not left(seen)
    assert server.log.exists()
    assert [path.name for path in server.folder.iterdir()] == ["server.log"]


@targets
def test_a_failing_start_says_why(target: str, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    model(repository, "host")
    model(
        repository,
        "weak",
        code='class TritonPythonModel:\n    def initialize(self, args):\n        raise OSError("no weights")\n',
    )
    (model(repository, "wrong").parent / "config.pbtxt").write_text("name: 'wrong'\nbackend: python\n")
    with pytest.raises(ServerError, match=r"did not start \(exit code 1\)") as caught:
        Server(repository, target=target).__enter__()
    assert "2:10: Expected string" in str(caught.value)
    assert "failed to load 'weak' version 1: Internal: OSError: no weights" in str(caught.value)
    assert "weak/1/model.py(3): initialize" in str(caught.value)
    assert "CUDA" not in str(caught.value)
    log = Path(caught.value.fix.removeprefix("the whole log is "))
    assert "no weights" in log.read_text()


@targets
def test_servers_started_at_once_both_answer(target: str, tmp_path: Path, triton_server: Start) -> None:
    model(tmp_path / "models", "host")
    together = threading.Barrier(2)

    def start(_: int) -> Server:
        together.wait()
        return triton_server(tmp_path / "models", target=target)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(start, range(2))
    assert first.ports != second.ports
    assert ask(first, "host") == ask(second, "host") == [2, 3]
    first.stop()  # which must not take the shared memory of the second
    assert ask(second, "host") == [2, 3]


@targets
@pytest.mark.parametrize("control", ["explicit", "poll"])
def test_a_killed_host_stage_is_noticed_and_comes_back(
    target: str, control: str, tmp_path: Path, triton_server: Start
) -> None:
    model(tmp_path / "models", "host")
    ear = Ear()
    server = triton_server(tmp_path / "models", target=target, control=control, say=ear)
    killed = stubs(server)["host_0_0"]
    seen = regions(server.pid)
    os.kill(killed.pid, signal.SIGKILL)
    assert ear.hears(f"host stage process host_0_0 (process {killed.pid}) died: SIGKILL")
    assert ear.hears("host stage process host_0_0 is back")
    assert ask(server, "host") == [2, 3]
    server.stop()
    assert not left(seen)


def test_without_model_control_a_killed_host_stage_is_said_to_be_gone(tmp_path: Path, triton_server: Start) -> None:
    model(tmp_path / "models", "host")
    ear = Ear()
    server = triton_server(
        tmp_path / "models", target="24.10", control="none", options=["--exit-timeout-secs=1"], say=ear
    )
    os.kill(stubs(server)["host_0_0"].pid, signal.SIGKILL)
    assert ear.hears("host answers no more; reload it by hand")
    with pytest.raises(ServerError, match="Stub process 'host_0_0' is not healthy"):
        ask(server, "host")


def test_a_model_can_be_loaded_and_unloaded(tmp_path: Path, triton_server: Start) -> None:
    repository = tmp_path / "models"
    model(repository, "host")
    ear = Ear()
    server = triton_server(repository, load=(), say=ear)
    with pytest.raises(ServerError, match="unknown model: 'host'"):
        ask(server, "host")
    server.load("host")
    assert ask(server, "host") == [2, 3]
    server.rest.unload("host")
    with pytest.raises(ServerError, match="failed to load 'absent'"):
        server.load("absent")
    server.load("host")
    assert ask(server, "host") == [2, 3]
    assert not [text for text in ear.heard if "died" in text]


def test_a_server_that_is_killed_leaves_nothing_behind(tmp_path: Path, triton_server: Start) -> None:
    model(tmp_path / "models", "host")
    server = triton_server(tmp_path / "models")
    seen = regions(server.pid)
    assert seen
    os.kill(server.pid, signal.SIGKILL)
    with pytest.raises(ServerError, match=r"ended by itself \(signal 9\)"):
        server.wait()
    server.stop()
    assert not [process for process in session(server.pid) if process.alive]
    assert not left(seen)


def test_a_taken_port_is_said(tmp_path: Path) -> None:
    model(tmp_path / "models", "host")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ServerError, match=rf"another process has.*\n.*127.0.0.1:{port}' already in use") as caught:
            Server(tmp_path / "models", ports=Ports(port, *free_pair())).__enter__()
    assert caught.value.fix == "use other ports; 0 stands for any that is free"


def test_a_port_lost_to_another_process_is_replaced(
    tmp_path: Path, triton_server: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    model(tmp_path / "models", "host")
    free: Callable[[Ports, str], Ports] = sys.modules["pipeline.triton.server"].free_ports
    with socket.create_server(("127.0.0.1", 0)) as other:
        offers = [other.getsockname()[1], 0]

        def offered(wanted: Ports, address: str) -> Ports:
            return free(wanted._replace(grpc=offers.pop(0)), address)

        monkeypatch.setattr("pipeline.triton.server.free_ports", offered)
        server = triton_server(tmp_path / "models")
    assert not offers
    assert ask(server, "host") == [2, 3]


def test_what_is_no_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="absent is no folder"):
        Server(tmp_path / "absent").__enter__()


def free_pair() -> tuple[int, int]:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return one.getsockname()[1], other.getsockname()[1]
