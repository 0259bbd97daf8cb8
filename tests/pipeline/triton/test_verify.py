from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny
from foreign import environment
from triton_servers import Start

from ops import ServerError
from ops.spec_json import array_to_json
from pipeline.triton.schema import TARGETS
from pipeline.triton.verify import golden_files, verify_url
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


def gepipe(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from pipeline.cli import main; main()"
    path = os.pathsep.join([str(Path(tiny.__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def export_vector(folder: Path) -> Path:
    tiny.vector_model(folder)
    (folder / "graph.py").write_text(GRAPH)
    done = gepipe("export", "graph.py", "-o", "models", "--gears", "1,2", folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "models"


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
    linted = gepipe("lint", "models", "--target", target, folder=tmp_path)
    assert linted.returncode == 0, linted.stdout
    done = gepipe("verify", "models", "--target", target, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
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
    done = gepipe("verify", "models", "--url", server.url, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "verified: 18 of 18 answers right"
    spoil(root)
    done = gepipe("verify", "models", "--url", server.url, folder=tmp_path)
    assert done.returncode == 1
    assert "NO  vector_v1, request 1, alone: y: differs by 1.0e-03, more than 1e-04" in done.stdout.splitlines()
    assert done.stdout.splitlines()[-1] == "NOT verified: 16 of 18 answers right"


def test_a_repository_without_golden_requests_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    done = gepipe("verify", "models", "--url", "127.0.0.1:1", folder=tmp_path)
    assert done.returncode == 1
    assert "models carries no golden requests" in done.stderr


def test_without_tritonclient_verify_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = export_vector(tmp_path)
    monkeypatch.setitem(sys.modules, "tritonclient", None)
    with pytest.raises(ServerError, match="verify asks the server with tritonclient") as caught:
        verify_url(root, "127.0.0.1:1")
    assert caught.value.fix == "install gepipe[triton]"


@pytest.mark.parametrize(
    ("got", "exact", "right", "how"),
    [
        ([1.0, 2.0], True, True, "same bytes"),
        ([1.0, 2.0001], True, False, "differs by 5.0e-05"),
        ([1.0, 2.0001], False, True, "differs by 5.0e-05"),
        ([1.0, 2.001], False, False, "differs by 5.0e-04, more than 1e-04"),
        ([1.0, np.nan], False, False, "differs by nan, more than 1e-04"),
        ([[1.0, 2.0]], False, False, r"float32[1, 2], wanted float32[2]"),
        (None, False, False, "no such output"),
    ],
)
def test_numbers_are_compared_by_bytes_or_within_the_tolerance(got: object, exact: bool, right: bool, how: str) -> None:
    array = None if got is None else np.array(got, np.float32)
    assert compare(array, np.array([1, 2], np.float32), 1e-4, exact) == (right, how)
