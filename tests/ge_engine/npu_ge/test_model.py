from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from npu_ge_models import config_text, gears, pool_model, table_model, tanh_model
from onnx_files import node, save, tensor
from triton_http import Client, Refused, batches

from ge_engine import runtime
from ge_engine.npu_ge.command_line import CommandLine
from ge_engine.npu_ge.ports import TRITON, Port
from ops.errors import ServerError
from pipeline.triton.releases import TARGETS
from pipeline.triton.server import Server

LIGHT = (
    "ge_engine.buffer",
    "ge_engine.devices",
    "ge_engine.engine",
    "ge_engine.gears",
    "ge_engine.npu_ge.model",
    "ge_engine.pool",
    "ge_engine.runtime",
)
X, Y = Port("x", "float32", (8,)), Port("y", "float32", (4,))
IDS, TABLE_Y = Port("ids", "int64", (3,)), Port("y", "float32", (3,))
ORIGIN = {"session.ge.exec.precision_mode_v2": "origin"}


def rows(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)}


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def test_what_runs_a_graph_imports_no_onnx() -> None:
    heavy = {"onnx", "google", "networkx", "typer", "rich"}
    code = f"import sys, {', '.join(LIGHT)}; print(*({heavy} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""


SOUND = ("batch", "alone", "two", "complete", "whole", "loop", "static", "sizes", "table", "types")


class Repository:
    """Models for all tests: the sound ones, and some that are not to be loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        batch = {"max_batch_size": 8, "inputs": (X,), "outputs": (Y,)}
        every = gears("x:-1,8", "1;2;3;4;5;6;7;8")
        table = {"max_batch_size": 8, "inputs": (IDS,), "outputs": (TABLE_Y,)}
        merged = {"preferred": (8,), "delay_us": 100_000}
        tanh_model(self.add("batch", count=2, parameters={**ORIGIN, **every}, **merged, **batch))
        tanh_model(self.add("alone", parameters={**ORIGIN, **gears("x:-1,8", "1;2;4")}, **batch))
        tanh_model(self.add("two", count=3, parameters={**ORIGIN, "device_exec_blocks": "1"}, **batch))
        tanh_model(self.add("complete", max_batch_size=8))
        tanh_model(self.add("whole"))
        tanh_model(self.add("loop", parameters={"static_model": "1", **ORIGIN}, **batch))
        tanh_model(self.add("static", parameters={"static_model": "1"}), x=(3, 8), y=(3, 4))
        pool_model(self.add("sizes", parameters=gears("x:1,3,-1,-1", "4,6;8,8")))
        table_model(self.add("table", parameters=ORIGIN, **merged, **table))
        self.identities()
        tanh_model(self.add("word", parameters={"static_model": "true"}, **batch))
        tanh_model(self.add("gap", preferred=(4,), parameters=gears("x:-1,8", "1;2;4;8"), **batch))
        tanh_model(self.add("many", **batch))
        tanh_model(folder / "many" / "1" / "other.onnx")
        (folder / "none" / "1").mkdir(parents=True)
        (folder / "none" / "config.pbtxt").write_text(config_text(**batch))

    def add(self, name: str, **config: object) -> Path:
        """The configuration of a model; the path of the file that is to be made."""
        version = self.folder / name / "1"
        version.mkdir(parents=True)
        (self.folder / name / "config.pbtxt").write_text(config_text(**config))  # type: ignore[arg-type]
        return version / "model.onnx"

    def identities(self) -> None:
        """A model with an input and an output of every type."""
        ports = [Port(f"x_{dtype}", dtype, (2,)) for dtype in TRITON]
        outputs = [port._replace(name=port.name.replace("x", "y")) for port in ports]
        path = self.add("types", max_batch_size=4, inputs=ports, outputs=outputs, parameters=ORIGIN)
        nodes = [node("Identity", [port.name], [port.name.replace("x", "y")]) for port in ports]
        values = [[tensor(port.name, ("n", 2), port.dtype) for port in side] for side in (ports, outputs)]
        save(path, nodes, *values)

    def model(self, name: str) -> Path:
        return self.folder / name / "1" / "model.onnx"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module", params=TARGETS)
def server(request: pytest.FixtureRequest, repository: Repository) -> Iterator[Server]:
    with Server(repository.folder, target=request.param, load=SOUND) as started:
        yield started


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    client = Client(server.url)
    yield client
    client.close()


def at_once(server: Server, model: str, requests: list[dict[str, np.ndarray]]) -> list[object]:
    """The answers to requests that are sent together: arrays, or why one was refused."""
    start = threading.Barrier(len(requests))

    def ask(inputs: dict[str, np.ndarray]) -> object:
        client = Client(server.url)
        start.wait()
        try:
            return client.infer(model, inputs)["y"]
        except Refused as error:
            return error
        finally:
            client.close()

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(ask, requests))


triton = pytest.mark.triton


@triton
def test_every_batch_gear_gives_the_bytes_of_onnxruntime(
    server: Server, client: Client, repository: Repository
) -> None:
    plain = runtime.session(repository.model("batch"))
    for count in range(1, 9):
        answer = client.infer("batch", rows(count, seed=count))["y"]
        assert digest(answer) == digest(plain.run(None, rows(count, seed=count))[0])


@triton
def test_requests_that_come_together_are_merged(server: Server, repository: Repository) -> None:
    before = batches(server.rest, "batch")
    requests = [rows(1, seed=seed) for seed in range(16)]
    answers = at_once(server, "batch", requests)
    plain = onnxruntime.InferenceSession(repository.model("batch"))
    for answer, inputs in zip(answers, requests):
        assert np.array_equal(np.asarray(answer), plain.run(None, inputs)[0])
    formed = {size: count - before.get(size, 0) for size, count in batches(server.rest, "batch").items()}
    assert sum(size * count for size, count in formed.items()) == 16
    assert sum(formed.values()) < 16


@triton
def test_a_batch_outside_the_gears_is_refused_and_takes_no_stream_away(server: Server, client: Client) -> None:
    for _ in range(50):
        with pytest.raises(Refused, match=r"400: .*E13025: The input tensor dimension \[x \[3, 8\]\] is not in"):
            client.infer("alone", rows(3))
    assert client.infer("alone", rows(4))["y"].shape == (4, 4)


@triton
def test_a_failing_request_of_a_merged_batch_fails_alone(server: Server) -> None:
    requests = [{"ids": np.int64([[0, 1, 99 if index == 2 else index]])} for index in range(8)]
    for _ in range(7):  # 56 requests, of which 7 fail
        answers = at_once(server, "table", requests)
        assert [isinstance(answer, Refused) for answer in answers] == [index == 2 for index in range(8)]
        assert "an id is 99, and the table has 10 rows" in str(answers[2])


@triton
def test_more_instances_than_streams_share_them(server: Server, repository: Repository) -> None:
    requests = [rows(2, seed=seed) for seed in range(12)]
    plain = onnxruntime.InferenceSession(repository.model("two"))
    for answer, inputs in zip(at_once(server, "two", requests), requests):
        assert np.array_equal(np.asarray(answer), plain.run(None, inputs)[0])


@triton
def test_what_config_pbtxt_leaves_out_is_completed(server: Server, client: Client) -> None:
    for model, dims in (("complete", [8]), ("whole", [-1, 8])):
        (entry,) = server.rest.config(model)["input"]
        assert (entry["name"], entry["data_type"], entry["dims"]) == ("x", "TYPE_FP32", dims)
        assert client.infer(model, rows(3))["y"].shape == (3, 4)


@triton
def test_static_models_run_one_shape_or_row_by_row(server: Server, client: Client, repository: Repository) -> None:
    assert client.infer("static", rows(3))["y"].shape == (3, 4)
    with pytest.raises(Refused, match="unexpected shape for input 'x'"):
        client.infer("static", rows(2))
    plain = onnxruntime.InferenceSession(repository.model("loop"))
    singles = [plain.run(None, {"x": rows(5)["x"][row : row + 1]})[0] for row in range(5)]
    assert digest(client.infer("loop", rows(5))["y"]) == digest(np.concatenate(singles))


@triton
def test_size_gears_size_the_outputs(server: Server, client: Client) -> None:
    for height, width in ((4, 6), (8, 8)):
        image = np.random.default_rng(height).random((1, 3, height, width), np.float32)
        assert client.infer("sizes", {"x": image})["y"].shape == (1, height * width // 4, 3)
    with pytest.raises(Refused, match=r"E13025: .* \[x \[1, 3, 4, 4\]\]"):
        client.infer("sizes", {"x": image[:, :, :4, :4].copy()})


@triton
def test_every_type_goes_there_and_back(server: Server, client: Client) -> None:
    inputs = {f"x_{dtype}": np.array([[0, 1], [2, 3]]).astype(dtype) for dtype in TRITON}
    answers = client.infer("types", inputs)
    assert len(answers) == len(TRITON)
    for dtype in TRITON:
        assert answers[f"y_{dtype}"].dtype == dtype
        assert np.array_equal(answers[f"y_{dtype}"], inputs[f"x_{dtype}"])
    assert list(client.infer("types", inputs, outputs=["y_int8"])) == ["y_int8"]


@triton
@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("word", r"V04 refused  parameters: static_model is 'true': Failed to create model state: stoi"),
        ("gap", r"V17 fails  config\.pbtxt: max_batch_size is 8; there are no gears of batch 3, 5, 6, 7"),
        ("many", r"V01: 2 \.onnx files, npu_ge takes any of them: 1/model\.onnx, 1/other\.onnx"),
        ("none", r"Model file not found: dir path .*none"),
    ],
    ids=["word", "gap", "many", "none"],
)
def test_what_the_real_backend_would_misbehave_on_is_not_loaded(server: Server, model: str, message: str) -> None:
    with pytest.raises(ServerError, match=message):
        server.load(model)


@triton
def test_what_was_done_is_told_at_the_end(server: Server, client: Client) -> None:
    client.infer("whole", rows(3))
    server.rest.unload("whole")
    server.stop()
    log = server.log.read_text(encoding="utf-8")
    assert "npu_ge stand-in, whole_0_0: V20 advice" in log
    assert "requests (0 failed) in" in log


@triton
def test_the_command_line_is_heard_and_config_pbtxt_wins(tmp_path: Path) -> None:
    for model, more in (("told", {}), ("own", {"graph.ge.dynamicDims": "1;2;3"})):
        path = tmp_path / model / "1" / "model.onnx"
        path.parent.mkdir(parents=True)
        tanh_model(path)
        (tmp_path / model / "config.pbtxt").write_text(config_text(max_batch_size=8, parameters=more))
    with Server(tmp_path, load=()) as server:
        CommandLine(backend_config=gears("x:-1,8", "1;2")).write(server.folder / "backends" / "npu_ge")
        client = Client(server.url)
        for model, largest in (("told", 2), ("own", 3)):
            server.load(model)
            assert client.infer(model, rows(largest))["y"].shape == (largest, 4)
            with pytest.raises(Refused, match="E13025"):
                client.infer(model, rows(largest + 1))
        client.close()
