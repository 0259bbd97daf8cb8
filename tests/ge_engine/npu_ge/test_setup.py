from __future__ import annotations

from typing import Any

import pytest

from ge_engine.npu_ge.options import Options
from ge_engine.npu_ge.ports import Port, Ports
from ge_engine.npu_ge.setup import Setup
from ops import SpecError, ValidationError

MODEL = Ports((Port("x", "float32", (-1, 4), ("batch", "")),), (Port("y", "float32", (-1, 2), ("batch", "")),))


def setup(batch: int = 4, **parameters: str) -> Setup:
    config: dict[str, Any] = {
        "name": "m",
        "max_batch_size": batch,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [2]}],
        "dynamic_batching": {"preferred_batch_size": [4]},
        "parameters": {key.replace("__", "."): {"string_value": value} for key, value in parameters.items()},
    }
    return Setup.of(config, MODEL, Options.of(config, {}))


def gears(values: str) -> dict[str, str]:
    keys = {"inputShape": "x:-1,4", "dynamicDims": values, "dynamicNodeType": "1"}
    return {f"graph__ge__{key}": value for key, value in keys.items()}


def test_a_sound_model_is_set_up_with_its_advice() -> None:
    found = setup(**gears("1;2;3;4"))
    assert found.known.combines
    assert [finding.rule for finding in found.advice] == ["V20"]
    assert found.output_shapes([(3, 4)]) == [(3, 2)]


def test_every_reason_is_in_one_report() -> None:
    with pytest.raises(ValidationError) as caught:
        setup(static_model="true", instance_exec_blocks="2", **gears("1;2"))
    assert [finding.rule for finding in caught.value.findings] == ["V04", "V17", "V06"]
    with pytest.raises(ValidationError, match=r"model 'm': 2 problems\nV16 fails  config\.pbtxt: E10035"):
        setup(instance_exec_blocks="2", **gears("1"))


def test_a_dim_without_a_size_is_refused() -> None:
    model = MODEL._replace(outputs=(Port("y", "float32", (-1, -1), ("batch", "")),))
    config: dict[str, Any] = {
        "name": "m",
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 4]}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [-1, -1]}],
    }
    with pytest.raises(ValidationError, match=r"V14 fails  config\.pbtxt: output 'y': -1 dim has no name"):
        Setup.of(config, model, Options.of(config, {}))


def test_a_shape_outside_the_gears_has_no_outputs() -> None:
    with pytest.raises(SpecError, match="E13025"):
        setup(**gears("1;2;3;4;6")).output_shapes([(5, 4)])
