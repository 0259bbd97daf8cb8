"""`gepipe serve`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command_line import MAIN, gepipe
from triton_servers import ask, model
from typer.testing import Result

from pipeline.triton.server import Server
from pipeline.triton.serving import serve_until_stopped


def invoke(*words: str) -> Result:
    return gepipe("serve", *words)


@pytest.mark.triton
def test_the_command_serves_until_it_is_ended(tmp_path: Path) -> None:
    model(tmp_path / "models", "host")
    with subprocess.Popen(
        [*MAIN, "serve", "models", "--poll"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as serve:  # fmt: skip
        assert serve.stdout is not None
        said = []
        for line in serve.stdout:
            said.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        serve.send_signal(signal.SIGTERM)
        rest = serve.stdout.read()
    text = "\n".join(said)
    assert "runs the code that is in the repository" in text
    assert "http    127.0.0.1:" in text
    assert "READY       host 1" in text
    assert rest.endswith("stopped\n")
    assert serve.returncode == 0


@pytest.mark.triton
def test_a_server_that_has_crashed_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.triton.serving._LASTS_S", 0)  # else an early crash is the end
    model(tmp_path / "models", "host")
    ready, crashed = threading.Event(), threading.Event()
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if text.startswith("Ctrl-C"):
            ready.set()
        if text.endswith("starting it again"):
            crashed.set()

    server = Server(tmp_path / "models", say=say)

    def crash() -> None:
        assert ready.wait(120)
        os.kill(server.pid, signal.SIGSEGV)
        assert crashed.wait(60)
        while not server.rest.ready():
            os.sched_yield()
        said.append(str(ask(server, "host")))
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=crash)
    thread.start()
    serve_until_stopped(server, say, lambda text: None)
    thread.join()
    assert "the server ended by itself (signal 11)" in "\n".join(said)
    assert said[-2:] == ["[2.0, 3.0]", "stopped"]


@pytest.mark.triton
def test_what_does_not_start_ends_the_command_with_the_reason(tmp_path: Path) -> None:
    (model(tmp_path, "wrong").parent / "config.pbtxt").write_text("max_batch_size: many")
    result = invoke(str(tmp_path))
    assert result.exit_code == 1
    assert "1:17: Expected integer, got: many" in result.stderr
    assert "fix: the whole log is" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["absent"], "absent is no folder"),
        ([".", "--target", "24.2"], "there is no target 24.2"),
        ([".", "--print", "acsend"], "there is no command to print for acsend"),
    ],
)
def test_a_wrong_use_says_what_to_write(words: list[str], message: str) -> None:
    result = invoke(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "fix: " in result.stderr


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_elsewhere_than_on_linux_it_says_so(platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", platform)
    result = invoke(str(tmp_path))
    assert result.exit_code == 2
    assert f"tritonserver runs on Linux only, and this is {platform}" in result.stderr


def test_the_commands_import_nothing_posix_only() -> None:
    absent = ("fcntl", "termios", "pwd", "grp", "resource", "pty", "tty")
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); import pipeline.triton.commands"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()


def test_the_command_for_an_ascend_machine_is_printed(tmp_path: Path) -> None:
    model(tmp_path, "host")
    result = invoke(str(tmp_path), "--print", "ascend", "--http-port", "9000", "--poll")
    assert result.exit_code == 0
    assert "--publish=127.0.0.1:9000:8000 --publish=127.0.0.1:8001:8001" in result.stdout
    assert "tritonserver --model-repository=/models --model-control-mode=poll" in result.stdout
