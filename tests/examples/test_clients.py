"""The clients of the examples print what the examples print, in every way that they can ask."""

from __future__ import annotations

import importlib
import itertools
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import tiny
from weights import ROOT, laid_out

import ops
from pipeline import Pipeline
from pipeline.load import load
from pipeline.triton.lock import SHARED_MEMORY
from pipeline.triton.server import Server

http = pytest.importorskip("tritonclient.http")
pytestmark = [pytest.mark.triton, pytest.mark.weights]
FLAGS = ("--grpc", "--async", "--shared-memory")
WAYS = [way for count in range(4) for way in itertools.combinations(FLAGS, count)]
ways = pytest.mark.parametrize("way", WAYS, ids=" ".join)


NAME = "一只 with a long name"  # longer than the room that a shape promises


def named() -> Pipeline:
    """Its answer holds a number and a name, of which a server does not say how long it is."""
    pipeline = Pipeline("named")
    length = ops.Cast("float32")(tiny.Length()(pipeline.input("text", ops.TEXT)))
    scores, _, labels = ops.TopK(k=1, labels=(NAME,))(length)
    pipeline.output(name=labels, length=scores)
    return pipeline


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    laid_out("examples/yolo11/weights/yolo11n.onnx")
    root = tmp_path_factory.mktemp("clients") / "models"
    for example in ("yolo11", "cnclip"):
        load(str(ROOT / f"examples/{example}/graph.py")).compile().export(root)
    named().compile().export(root)
    with Server(root) as server:
        yield server


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "examples" / script), *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def client(example: str, server: Server, way: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    url = server.grpc_url if "--grpc" in way else server.url
    return run(f"{example}/client.py", url, *way, *arguments)


@cache
def detected(picture: str) -> list[str]:
    return run("yolo11/detect.py", picture).stdout.splitlines()[:-1]


@cache
def similarity(picture: str, text: str) -> float:
    with load(str(ROOT / "examples/cnclip/graph.py")).compile().session() as session:
        return float(session.run(image=Path(picture).read_bytes(), text=text)["similarity"][0])


@ways
def test_the_client_of_yolo11_prints_the_lines_of_detect(way: tuple[str, ...], server: Server) -> None:
    bus, zidane = (str(laid_out(f"examples/yolo11/weights/{name}.jpg")) for name in ("bus", "zidane"))
    done = client("yolo11", server, way, bus, zidane)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [bus, *detected(bus), zidane, *detected(zidane)]
    assert len(detected(bus)) == 5


@ways
def test_the_client_of_cnclip_prints_the_similarity_of_gepipe_run(way: tuple[str, ...], server: Server) -> None:
    picture = str(laid_out("examples/cnclip/weights/chelsea.png"))
    done = client("cnclip", server, way, "--text", "一只猫", picture)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{similarity(picture, '一只猫'):.4f}  一只猫  chelsea\n"


@pytest.mark.parametrize("way", [way for way in WAYS if "--shared-memory" in way], ids=" ".join)
def test_a_refused_request_is_told_in_words_and_leaves_no_shared_memory_behind(
    way: tuple[str, ...], server: Server, tmp_path: Path
) -> None:
    (tmp_path / "note.jpg").write_text("no picture")
    good = str(laid_out("examples/yolo11/weights/bus.jpg"))
    done = client("yolo11", server, way, good, str(tmp_path / "note.jpg"))
    assert done.returncode == 1
    assert "not an image: it starts with b'no picture'" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in SHARED_MEMORY.iterdir() if path.name.startswith("gepipe-")]
    with http.InferenceServerClient(server.url) as asking:
        assert asking.get_system_shared_memory_status() == []


@ways
def test_bytes_come_back_in_every_way(way: tuple[str, ...], server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "examples" / "yolo11")
    asking = importlib.import_module("ask").Server(
        "named",
        server.grpc_url if "--grpc" in way else server.url,
        **{name: flag in way for name, flag in (("grpc", "--grpc"), ("at_once", "--async"), ("shared", FLAGS[2]))},
    )
    first, second = asking.ask([{"text": b"four"}, {"text": b""}])
    assert [answer["name"].tolist() for answer in (first, second)] == [[NAME.encode()]] * 2
    assert [answer["length"].tolist() for answer in (first, second)] == [[4], [0]]


@pytest.mark.parametrize("example", ["yolo11", "cnclip"])
def test_the_wrong_port_is_named_with_the_remedy(example: str, server: Server) -> None:
    by_http = run(f"{example}/client.py", server.grpc_url)
    assert by_http.returncode == 1
    assert by_http.stderr.startswith(f"{server.grpc_url} does not answer by HTTP: ")
    assert "fix: give its HTTP port, 8000 as a rule, or add --grpc" in by_http.stderr
    by_grpc = run(f"{example}/client.py", server.url, "--grpc")
    assert by_grpc.returncode == 1
    assert by_grpc.stderr.startswith(f"{server.url} does not answer by gRPC: ")
    assert "fix: give its gRPC port, 8001 as a rule, or leave --grpc out" in by_grpc.stderr
    assert "Traceback" not in by_http.stderr + by_grpc.stderr


def test_both_examples_ask_with_the_same_code() -> None:
    first, second = (ROOT / "examples" / example / "ask.py" for example in ("yolo11", "cnclip"))
    assert first.read_text(encoding="utf-8") == second.read_text(encoding="utf-8")
