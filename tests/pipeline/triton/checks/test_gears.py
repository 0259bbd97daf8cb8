from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lint_case import tensor
from lint_npu import BATCH, GEARS, PRECISION, TWO_STREAMS, found, identity, npu_config, npu_model

FIXED = PRECISION | TWO_STREAMS
MERGING = f"{BATCH} dynamic_batching {{ preferred_batch_size: [ 4 ] }}"


def geared(**changes: str | None) -> dict[str, str]:
    """The usual gears with some of the three options changed, or (None) left out."""
    names = {"shape": "graph.ge.inputShape", "dims": "graph.ge.dynamicDims", "kind": "graph.ge.dynamicNodeType"}
    values = FIXED | GEARS | {names[key]: text for key, text in changes.items() if text is not None}
    return {key: text for key, text in values.items() if key not in [names[k] for k, v in changes.items() if v is None]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (geared(shape=None), "gears without ge.inputShape"),
        (geared(dims=None), "gears without ge.dynamicDims"),
        (geared(kind=None), "gears without ge.dynamicNodeType"),
        (geared(kind="0"), "ge.dynamicNodeType is '0'"),
        (geared(shape="x:-1, 4"), "'x:-1, 4' is not name:dim,dim"),
        (geared(shape="x=-1,4"), "is not name:dim,dim"),
        (geared(shape="image:-1,4"), "lists image: not the model's inputs (x)"),
        (geared(shape="x:-1,4;y:1"), "not the model's inputs (x)"),
        (geared(shape="x:-1"), "x has 1 dims, the model 2"),
        (geared(shape="x:-1,5"), "x has 5 as dim 1, the model 4"),
        (geared(shape="x:1,4", dims="1;2"), "x has 1 as dim 0, the model -1"),
        (geared(dims="1; 2"), "no blanks"),
        (geared(dims="1;2;"), "without a ; at the end"),
        (geared(dims="4"), "1 gears: GE takes 2 to 100"),
        (geared(dims=";".join(map(str, range(1, 102)))), "101 gears: GE takes 2 to 100"),
        (geared(dims="1;2,2"), "gears of different lengths"),
        (geared(dims="0;1;2;3;4"), "a gear of 0"),
        (geared(dims="1;2;3;4;4"), "the gear 4 stands there twice"),
        (geared(dims="1,1;2,2"), "1 times -1, the gear 1,1 2 values"),
    ],
)
def test_gears_that_ge_refuses(values: dict[str, str], message: str, tmp_path: Path) -> None:
    finding = found(npu_model(tmp_path, npu_config(values=values)))["V16"]
    assert finding.severity == "refused"
    assert message in f"{finding.message} {finding.fix}"


def test_gears_are_set_once(tmp_path: Path) -> None:
    values = FIXED | GEARS | {"session.ge.dynamicDims": "1;2"}
    finding = found(npu_model(tmp_path, npu_config(values=values)))["V16"]
    assert finding.severity == "advice"
    assert "session.ge.dynamicDims and graph.ge.dynamicDims: the graph's wins" in finding.message


def test_gears_at_session_level_are_read_too(tmp_path: Path) -> None:
    values = {key.replace("graph.", "session."): text for key, text in GEARS.items()}
    assert found(npu_model(tmp_path, npu_config(values=FIXED | values))) == {}


def test_inputs_are_sorted_by_name(tmp_path: Path) -> None:
    names = ("x", "A", "b")
    inputs = [tensor(name) for name in names]
    text = npu_config(
        values=FIXED
        | GEARS
        | {"graph.ge.inputShape": "x:-1,4;A:-1,4;b:-1,4", "graph.ge.dynamicDims": "1,1,1;2,2,2;3,3,3;4,4,4"},
        inputs=inputs,
    )
    model = npu_model(tmp_path, text, onnx=False)
    identity(model / "1" / "model.onnx", [(name, ("batch", 4), np.float32) for name in names])
    finding = found(model)["V16"]
    assert "in another order than sorted by name (A, b, x)" in finding.message
    (model / "config.pbtxt").write_text(text.replace("x:-1,4;A:-1,4;b:-1,4", "A:-1,4;b:-1,4;x:-1,4"))
    assert found(model) == {}


@pytest.mark.parametrize(
    ("gears", "missing", "remedy"),
    [("1;2;4", "batch 3", "max_batch_size: 2"), ("1;4", "batch 2..3", "max_batch_size: 1"), ("2;4", "batch 1, 3", "1")],
)
def test_every_batch_that_can_be_formed_has_a_gear(gears: str, missing: str, remedy: str, tmp_path: Path) -> None:
    finding = found(npu_model(tmp_path, npu_config(MERGING, geared(dims=gears))))["V17"]
    assert finding.severity == "fails"
    assert finding.message == f"max_batch_size is 4, and there is no gear for {missing}"
    assert remedy in finding.fix


def test_a_limit_far_above_the_gears_is_told_in_short(tmp_path: Path) -> None:
    text = npu_config("max_batch_size: 128 dynamic_batching { preferred_batch_size: [ 4 ] }", geared())
    assert "no gear for batch 5..128" in found(npu_model(tmp_path, text))["V17"].message


def test_without_merging_a_missing_gear_is_advice(tmp_path: Path) -> None:
    assert found(npu_model(tmp_path, npu_config(BATCH, geared(dims="1;4"))))["V17"].severity == "advice"


def test_a_preferred_size_is_a_gear(tmp_path: Path) -> None:
    text = npu_config(f"{BATCH} dynamic_batching {{ preferred_batch_size: [ 3 ] }}", geared(dims="1;2;4"))
    assert found(npu_model(tmp_path, text))["L08"].message == "preferred_batch_size 3 has no gear"


def test_fixed_dims_would_switch_static_mode_on(tmp_path: Path) -> None:
    text = npu_config("instance_group [ { count: 2 } ]", geared(), [tensor("x", "4, 4")], [tensor("y", "4, 4")])
    assert "switch static mode on" in found(npu_model(tmp_path, text))["V31"].message


def test_sizes_are_gears_too(tmp_path: Path) -> None:
    values = geared(shape="x:1,-1,-1", dims="224,224;336,336")
    dims = (1, "height", "width")
    text = npu_config("instance_group [ { count: 2 } ]", values, [tensor("x", "1, -1, -1")], [tensor("y", "1, -1, -1")])
    model = npu_model(tmp_path, text, onnx=False)
    identity(model / "1" / "model.onnx", [("x", dims, np.float32)], [("y", dims, np.float32)])
    assert set(found(model)) == {"V15"}
