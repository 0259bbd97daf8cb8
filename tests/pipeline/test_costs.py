from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import ops
from ops import Counted, Graded, TensorSpec
from pipeline import Deployment, costs

TABLE = costs.Costs("of a test", host={"Cast": 0.25}, graph={"Cast": 0.5}, call=1e3, byte=0.5)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "costs.json"


@pytest.mark.parametrize(("named", "place"), [("", "gepipe/compiled"), ("off", "gepipe")])
def test_the_table_lies_beside_the_compile_cache(
    named: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("GEPIPE_CACHE", named)
    assert costs.file() == tmp_path / place / "costs.json"


def test_what_is_measured_is_used_for_a_cpu_from_then_on(cache: Path) -> None:
    on_cpu = Deployment(model_backend="onnxruntime")
    assert costs.Costs.of(on_cpu).source == "built in"
    costs.keep(TABLE)
    assert costs.Costs.of(on_cpu) == replace(TABLE, source=f"measured, {cache}")
    assert costs.Costs.of(Deployment()).source == "npu_ge"


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"format": 0}', '{"format": 1, "host": {}, "speed": 3}', "[" * 100_000),
        *('{"format": 1, "host": []}', '{"format": 1, "host": {"Cast": "fast"}}', '{"format": 1, "call": null}'),
        *('{"format": 1, "byte": NaN}', '{"format": 1, "stage": Infinity}', '{"format": 1, "byte": -1}'),
        '{"format": 1, "graph": {}}',
    ],
)
def test_a_table_that_nothing_can_be_weighed_by_counts_as_none(text: str, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text(text)
    assert costs.measured_before() is None


def test_the_table_is_plain_json(cache: Path) -> None:
    costs.keep(TABLE)
    document = json.loads(cache.read_text())
    assert document["format"] == costs.FORMAT
    assert document["host"] == {"Cast": 0.25}


def test_a_user_without_a_home_has_the_built_in_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("GEPIPE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert costs.Costs.of(Deployment(model_backend="onnxruntime")).source == "built in"


def test_to_an_npu_a_byte_outweighs_what_any_op_does_to_it() -> None:
    table = costs.Costs.of(Deployment())
    assert table.byte > max(table.host.values())
    assert table.in_graph(ops.Softmax(), [TensorSpec("float32", (1000,))]) == 0


def test_an_op_that_is_not_in_the_table_costs_something() -> None:
    table = costs.Costs.of(Deployment(model_backend="onnxruntime"))
    large = [TensorSpec("float32", (1_000_000,))]
    assert table.on_host(ops.Letterbox(height=1, width=1), large) == table.call + 1_000_000
    assert table.in_graph(ops.Letterbox(height=1, width=1), large) == 1_000_000


def test_a_side_of_unknown_size_counts_as_that_of_a_large_picture() -> None:
    assert costs.elements([TensorSpec("uint8", ("H", "W", 3))]) == 1080 * 1920 * 3
    assert costs.elements([TensorSpec("uint8", (Graded("H", (4, 8)), 2))]) == 16
    assert costs.elements([TensorSpec("float32", (Counted("boxes", 300), 4))]) == 1200
