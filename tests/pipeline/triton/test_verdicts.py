"""Lint against real servers: what lint refuses, a server refuses, in the same words; all else loads."""

from __future__ import annotations

import contextlib
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lint_case import ECHO, Case
from lint_cases import CASES, PARTS, write_cases
from lint_published import PUBLISHED, write_published
from triton_http import Client, Refused

from ops import Finding
from ops.errors import ServerError
from pipeline.rulebook import BOOK
from pipeline.triton.lint import lint
from pipeline.triton.releases import TARGETS
from pipeline.triton.server import Server

pytestmark = pytest.mark.triton
ASKED = [case for case in CASES if case.loads is not None]
KEPT = {case.name for case in PARTS}  # the models of ensembles
UNPARSED = "failed to read text proto from"


class Asked:
    """A server on all cases, and what lint says of them."""

    def __init__(self, server: Server, repository: Path) -> None:
        self.server = server
        self.findings = lint(repository, server.target)

    def reason(self, model: str) -> str:
        """Why the server does not load it, from its answer and, where that says nothing, its log; "" if it does."""
        before = self.server.log.stat().st_size
        try:
            self.server.load(model)
        except ServerError as error:
            return error.message + self.server.log.read_bytes()[before:].decode(errors="replace")
        if model not in KEPT:
            self.server.rest.unload(model)
        return ""

    def client(self, model: str) -> contextlib.closing[Client]:
        """A client, when the model is loaded."""
        self.server.load(model)
        return contextlib.closing(Client(self.server.url))

    def refused(self, model: str) -> list[Finding]:
        return [found for found in self.findings if found.severity == "refused" and f"/{model}/" in f"{found.where}/"]


@pytest.fixture(scope="module", params=TARGETS)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    repository = tmp_path_factory.mktemp("models")
    write_cases(repository)
    write_published(repository)
    backend = tmp_path_factory.mktemp("npu_ge")  # takes every model, as Triton itself does
    (backend / "model.py").write_text(ECHO)
    with Server(repository, target=request.param, load=(), stand_in=backend) as server:
        yield Asked(server, repository)


@pytest.mark.parametrize("case", ASKED, ids=[case.name for case in ASKED])
def test_the_verdict_of_lint_is_the_verdict_of_the_server(case: Case, asked: Asked) -> None:
    reason, refused = asked.reason(case.name), asked.refused(case.name)
    assert bool(refused) == bool(reason), reason
    if not reason:
        return
    if f"'{case.name}': {UNPARSED}" in reason:
        line = re.search(r"parsing text-format inference\.ModelConfig: (\d+):", reason)
        assert line is not None
        assert [found.where.rpartition(":")[2] for found in refused] == [line[1]]
        assert UNPARSED in refused[0].message
    else:
        assert case.words in reason
        assert any(case.words in found.message for found in refused)


SERVED = sorted({path.stem for path in PUBLISHED.glob("*.pbtxt")} - {"cnclip_many"})  # 64 instances: 64 processes here


@pytest.mark.parametrize("name", SERVED)
def test_a_published_config_has_the_verdict_of_the_server(name: str, asked: Asked) -> None:
    assert bool(asked.refused(name)) == bool(asked.reason(name))


@pytest.mark.parametrize(
    ("rule", "model", "inputs", "asks", "words", "linted"),
    [
        ("R01", "u8", {"x": (9, 4)}, (), "inference request batch-size must be <= 8 for 'u8'", ()),
        (
            "R02",
            "u8",
            {"x": (1, 5)},
            (),
            "unexpected shape for input 'x' for model 'u8'. Expected [-1,4], got [1,5]",
            (),
        ),
        ("R04", "two", {"x": (4,)}, (), "expected 2 inputs but got 1 inputs for model 'two'", ()),
        ("R06", "L03_plain_step", {"in": (2, 4)}, (), "Expected [4], got [2,4]", ("L03",)),
        ("R08", "two8", {"x": (2, 4), "m": (3, 4)}, (), "batch size does not match other inputs for 'two8'", ()),
        ("R10", "L02_exposed", {"in": (4,)}, ("out",), "unexpected deadlock, at least one output is not set", ("L02",)),
    ],
)
def test_a_request_fails_as_the_rule_book_says(
    rule: str,
    model: str,
    inputs: dict[str, tuple[int, ...]],
    asks: tuple[str, ...],
    words: str,
    linted: tuple[str, ...],
    asked: Asked,
) -> None:
    assert rule in BOOK
    assert {finding.rule for finding in asked.findings if f"/{model}/" in finding.where} == set(linted)
    with asked.client(model) as client, pytest.raises(Refused, match=re.escape(words)):
        client.infer(model, {name: np.zeros(shape, np.float32) for name, shape in inputs.items()}, asks)


def test_a_request_of_another_type_fails(asked: Asked) -> None:
    words = "inference input 'x' data-type is 'INT32', but model 'u8' expects 'FP32'"
    with asked.client("u8") as client, pytest.raises(Refused, match=re.escape(words)):  # R03
        client.infer("u8", {"x": np.zeros((1, 4), np.int32)})


def test_a_request_with_too_few_strings_fails(asked: Asked) -> None:
    asked.server.load("text")
    one = b"\x02\x00\x00\x00ab"  # and the shape says four
    head = {"name": "x", "shape": [4], "datatype": "BYTES", "parameters": {"binary_data_size": len(one)}}
    text = json.dumps({"inputs": [head]}).encode()
    request = urllib.request.Request(
        f"http://{asked.server.url}/v2/models/text/infer",
        text + one,
        {"Inference-Header-Content-Length": str(len(text))},
    )
    with pytest.raises(urllib.error.HTTPError) as caught:  # R05; 24.02 leaves it to the model
        urllib.request.urlopen(request, timeout=60)
    with caught.value as answer:
        reason = answer.read().decode()
    assert ("cannot reshape" if asked.server.target == "24.02" else "expected 4 string elements for") in reason


def test_a_request_without_rows_is_refused_since_a_later_release(asked: Asked) -> None:
    nothing = {"x": np.zeros((0, 4), np.float32)}
    with asked.client("u8") as client:
        if asked.server.target == "24.02":
            assert client.infer("u8", nothing)["y"].size == 4  # a row that nobody sent
            return
        with pytest.raises(Refused, match=re.escape("input byte size mismatch for input 'x' for model 'u8'")):  # R07
            client.infer("u8", nothing)


def test_a_step_that_leaves_an_output_out_stops_the_ensemble(asked: Asked) -> None:
    asked.server.load("silent_step")
    request = {"inputs": [{"name": "in", "shape": [4], "datatype": "FP32", "data": [1, 2, 3, 4]}]}
    if asked.server.target == "24.02":
        with pytest.raises(ServerError, match="unexpected deadlock, at least one output is not set"):  # R09
            asked.server.rest.infer("silent_step", request)
    else:
        assert not asked.server.rest.infer("silent_step", request).get("outputs")


def test_an_exposed_tensor_is_answered_when_all_outputs_are_asked_for(asked: Asked) -> None:
    asked.server.load("L02_exposed")
    one = {"name": "in", "shape": [4], "datatype": "FP32", "data": [1, 2, 3, 4]}
    answer = asked.server.rest.infer("L02_exposed", {"inputs": [one], "outputs": [{"name": "out"}, {"name": "t"}]})
    assert {output["name"] for output in answer["outputs"]} == {"out", "t"}
