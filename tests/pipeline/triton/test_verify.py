from __future__ import annotations

import json
import re
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tiny
from command_line import gepipe
from foreign import environment
from triton_servers import Start

from ops import ServerError
from ops.spec_json import array_to_json
from pipeline.triton import rest
from pipeline.triton.golden import golden_files
from pipeline.triton.releases import TARGETS
from pipeline.triton.verify import verify, verify_url
from pipeline.triton.verify_client import compare, decode

GRAPH = """
import tiny_ops
from ge_engine import Model
from ops import TensorSpec
from pipeline import Pipeline

pipeline = Pipeline("vector")
y = Model("dense.onnx")(tiny_ops.Scale(2.0)(pipeline.input("x", TensorSpec("float32", (8,)))))
pipeline.output(y=y, above=tiny_ops.Above(3)(y))
"""


pytestmark = pytest.mark.usefixtures("project")  # each test is in tmp_path


def export_vector(folder: Path) -> Path:
    tiny.vector_model(folder)
    (folder / "graph.py").write_text(GRAPH)
    done = gepipe("export", "graph.py", "-o", "models", "--gears", "1,2")
    assert done.exit_code == 0, done.stderr
    return folder / "models"


def test_an_export_is_free_of_findings_and_says_which_gears_it_adds(tmp_path: Path) -> None:
    tiny.vector_model(tmp_path)
    (tmp_path / "graph.py").write_text(GRAPH)
    for repository, gears in (("one", []), ("many", ["--gears", "1,4"])):
        done = gepipe("export", "graph.py", "-o", repository, *gears)
        told = "dense: gears 1,4: a server merges to any size, so 1,2,3,4 are compiled"
        assert (told in done.stdout.splitlines()) == bool(gears), done.stderr
        linted = gepipe("lint", repository, "--strict")
        assert linted.exit_code == 0, linted.stdout


def spoil(root: Path) -> None:
    """Change one number of one golden answer by a thousandth."""
    (path,) = golden_files(root)
    golden = json.loads(path.read_text())
    y = decode(golden["requests"][1]["outputs"]["y"])
    y[0, 2] += np.float32(0.001)
    golden["requests"][1]["outputs"]["y"] = array_to_json(y)
    path.write_text(json.dumps(golden))


@pytest.mark.triton
@pytest.mark.parametrize("target", TARGETS)
def test_export_lint_and_verify_succeed_one_after_the_other(target: str, tmp_path: Path) -> None:
    export_vector(tmp_path)
    linted = gepipe("lint", "models", "--target", target)
    assert linted.exit_code == 0, linted.stdout
    done = gepipe("verify", "models", "--target", target)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "verify runs the code that is in the repository" in done.stderr
    lines = done.stdout.splitlines()
    for model in ("vector", "vector_v1", "vector_1_host0", "vector_1_dense", "vector_1_host2"):
        assert f"ok  {model}: READY" in lines
    assert "ok  vector_v1, request 2, alone: num_detections: same bytes" in lines
    assert lines[-1] == "verified: 18 of 18 answers right"  # 3 outputs together and alone, of 2 samples and their batch


@pytest.mark.triton
def test_the_exported_script_needs_tritonclient_alone_and_says_what_is_wrong(
    tmp_path: Path, triton_server: Start
) -> None:
    root = export_vector(tmp_path)
    server = triton_server(root)
    python = environment("tritonclient", ["tritonclient[http]>=2.43"], ["ops", "pipeline", "ge_engine"])
    script = root / "vector_v1" / "1" / "verify.py"

    def run() -> subprocess.CompletedProcess[str]:
        command = [python / "bin" / "python3", "-I", script, server.url]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("same bytes") == len(done.stdout.splitlines()) == 18
    spoil(root)
    wrong = run()
    assert wrong.returncode == 1
    assert [line for line in wrong.stdout.splitlines() if not line.startswith("ok  ")] == [
        "NO  request 1, all: y: differs by 1.0e-03, more than 1e-04",
        "NO  request 1, alone: y: differs by 1.0e-03, more than 1e-04",
    ]


@pytest.mark.triton
def test_a_running_server_is_verified_by_its_address(tmp_path: Path, triton_server: Start) -> None:
    root = export_vector(tmp_path)
    server = triton_server(root)
    done = gepipe("verify", "models", "--url", server.url)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "verified: 18 of 18 answers right"
    spoil(root)
    done = gepipe("verify", "models", "--url", server.url)
    assert done.exit_code == 1
    assert "NO  vector_v1, request 1, alone: y: differs by 1.0e-03, more than 1e-04" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "NOT verified: 16 of 18 answers right"


def test_a_repository_without_golden_requests_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    done = gepipe("verify", "models", "--url", "127.0.0.1:1")
    assert done.exit_code == 1
    assert "models carries no golden requests" in done.stderr


def test_without_tritonclient_verify_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = export_vector(tmp_path)
    monkeypatch.setitem(sys.modules, "tritonclient", None)
    for ask in (lambda: verify_url(root, "127.0.0.1:1"), lambda: verify(root)):
        with pytest.raises(ServerError, match="verify asks the server with tritonclient") as caught:
            ask()
        assert caught.value.fix == 'pip install "tritonclient[grpc,http]"'


def test_half_a_tritonclient_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = export_vector(tmp_path)
    for name in [name for name in sys.modules if name.startswith("tritonclient")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "geventhttpclient", None)  # installed without [http]
    with pytest.raises(ServerError, match="verify asks the server with tritonclient"):
        verify_url(root, "127.0.0.1:1")


def test_what_verify_lacks_is_said_before_a_server_is_started(tmp_path: Path) -> None:
    (tmp_path / "models" / "m" / "1").mkdir(parents=True)
    said: list[str] = []
    with pytest.raises(ServerError, match="models carries no golden requests"):
        verify(tmp_path / "models", say=said.append)
    assert said == []


@pytest.mark.triton
def test_a_port_that_speaks_no_http_is_named(tmp_path: Path, triton_server: Start) -> None:
    root = export_vector(tmp_path)
    server = triton_server(root)
    done = gepipe("verify", "models", "--url", server.grpc_url)
    assert done.exit_code == 1
    assert f"ServerError: {server.grpc_url} does not answer by HTTP: " in done.stderr
    assert "give its HTTP port; 8000 is the usual one" in done.stderr
    script = [sys.executable, str(root / "vector_v1" / "1" / "verify.py"), server.grpc_url]
    alone = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (alone.returncode, alone.stderr) == (1, "")
    assert f"{server.grpc_url} does not answer by HTTP: " in alone.stdout


@pytest.mark.triton
def test_the_log_of_a_run_is_kept_where_it_may_be_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = export_vector(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    assert verify(root).ok
    assert list((tmp_path / "tmp").iterdir()) == []
    spoil(root)
    assert not verify(root).ok
    (folder,) = (tmp_path / "tmp").iterdir()
    assert [path.name for path in folder.iterdir()] == ["server.log"]


@pytest.mark.parametrize(
    ("got", "exact", "right", "how"),
    [
        ([1.0, 2.0], True, True, "same bytes"),
        ([1.0, 2.0001], True, False, "differs by 5.0e-05"),
        ([1.0, 2.0001], False, True, "differs by 5.0e-05"),
        ([1.0, 2.001], False, False, "differs by 5.0e-04, more than 1e-04"),
        ([1.0, np.nan], False, False, "differs by inf, more than 1e-04"),
        ([[1.0, 2.0]], False, False, r"float32[1, 2], wanted float32[2]"),
        (None, False, False, "no such output"),
    ],
)
def test_numbers_are_compared_by_bytes_or_within_the_tolerance(got: object, exact: bool, right: bool, how: str) -> None:
    array = None if got is None else np.array(got, np.float32)
    assert compare(array, np.array([1, 2], np.float32), 1e-4, exact) == (right, how)


def test_what_is_not_finite_in_both_is_no_difference() -> None:
    want = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    got = np.array([np.nan, np.inf, -np.inf, 1.0001], np.float32)
    assert compare(got, want, 1e-3, False) == (True, "differs by 1.0e-04")
    assert compare(-got, want, 1e-3, False) == (False, "differs by inf, more than 1e-03")


@pytest.mark.parametrize(
    ("said", "how"),
    [
        (b"", "does not answer by HTTP: timed out"),
        (b"SSH-2.0-x\r\n", "does not answer by HTTP: "),
        (b"HTTP/1.0 404 Not Found\r\n\r\n<html>\n<body>", "answers, but not as Triton does: HTTP 404"),
        (b"HTTP/1.0 200 OK\r\n\r\n<html>", "answers, but not as Triton does: no JSON"),
        (b"HTTP/1.0 200 OK\r\n\r\n[]", "answers, but not as Triton does: no version"),
    ],
)
def test_what_is_no_triton_server_is_said_at_once(
    said: bytes, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest, "_MOMENT_S", 0.3)
    root = export_vector(tmp_path)

    class Foreign(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            self.request.sendall(said)
            if not said:
                self.request.recv(1)  # until the client has enough

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Foreign) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"127.0.0.1:{server.server_address[1]}"
        with pytest.raises(ServerError, match=re.escape(f"{url} {how}")) as caught:
            verify_url(root, url)
        server.shutdown()
    assert "8000 is the usual one" in caught.value.fix
    assert "<html>" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"format": 7}',
        '{"format": 1, "model": "m", "machine": "", "tolerance": 0, "requests": []}',
        '{"format": 1, "model": "m", "machine": "", "tolerance": 0, "requests": [{"inputs": {"x": {"dtype": "int32", '
        '"shape": [3], "data": "AAAA"}}, "outputs": {}}]}',
    ],
)
def test_damaged_golden_requests_are_named(damage: str, tmp_path: Path) -> None:
    (tmp_path / "m_v1" / "1").mkdir(parents=True)
    (tmp_path / "m_v1" / "1" / "golden.json").write_text(damage)
    with pytest.raises(ServerError, match=r"m_v1/1/golden\.json holds no golden requests: ") as caught:
        verify_url(tmp_path, "127.0.0.1:1")
    assert caught.value.fix == "export that version anew"
