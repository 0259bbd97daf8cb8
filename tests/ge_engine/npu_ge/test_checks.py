from __future__ import annotations

import re
from typing import Any

import pytest

from ge_engine.npu_ge.checks import check
from ge_engine.npu_ge.gears import Gears
from ge_engine.npu_ge.known import Known
from ge_engine.npu_ge.options import Options
from ge_engine.npu_ge.ports import Port, Ports
from ops import Finding

PRECISE = {"session": {"ge.exec.precision_mode_v2": "origin"}, "graph": {}, "ge": {}}
X, Y = Port("x", "float32", (-1, 4), ("batch", "")), Port("y", "float32", (-1, 2), ("batch", ""))


def entries(*ports: Port) -> list[dict[str, Any]]:
    return [{"name": port.name, "data_type": port.dtype, "dims": list(port.dims)} for port in ports]


def found(
    *,
    inputs: tuple[Port, ...] = (X,),
    outputs: tuple[Port, ...] = (Y,),
    model: Ports | None = None,
    batch: int = 0,
    preferred: tuple[int, ...] = (),
    gears: tuple[int, ...] = (),
    auto_complete: bool = True,
    levels: dict[str, dict[str, str]] = PRECISE,
    **options: Any,
) -> list[Finding]:
    """What is found about a model; with a batch its ports are given whole, and configured without the batch."""
    own = model or Ports(inputs, outputs)
    cut = 1 if batch else 0
    config = {
        "name": "m",
        "max_batch_size": batch,
        "input": entries(*(port._replace(dims=port.dims[cut:]) for port in inputs)),
        "output": entries(*(port._replace(dims=port.dims[cut:]) for port in outputs)),
        "dynamic_batching": {"preferred_batch_size": list(preferred)},
    }
    shapes = Gears(tuple(((size, 4),) for size in gears)) if gears else None
    return check(Known.of(config, own, Options(levels=levels, **options), shapes, auto_complete))


def rules(**case: Any) -> dict[str, str]:
    return {finding.rule: finding.severity for finding in found(**case)}


def test_a_sound_model_has_no_findings() -> None:
    assert rules() == {}
    assert rules(batch=4, preferred=(4,), gears=(1, 2, 3, 4), device_exec_blocks=2, instances=2) == {}


def test_one_stream_is_enough_where_no_request_can_be_outside_the_gears() -> None:
    assert rules(batch=4, preferred=(4,), gears=(1, 2, 3, 4)) == {}
    assert rules(batch=4, gears=(1, 2, 4)) == {"V08": "advice", "V17": "advice"}
    assert "V08" in rules(batch=4, gears=(1, 2, 3, 4), inputs=(X._replace(dims=(-1, -1)),))


def other(port: Port, **changes: Any) -> Port:
    return port._replace(**changes)


@pytest.mark.parametrize(
    ("rule", "case", "message"),
    [
        ("V04", {"gears": (1, 2), "static_model": True}, "static_model and gears"),
        ("V06", {"instance_exec_blocks": 2}, "instance_exec_blocks is 2"),
        ("V07", {"device_exec_blocks": 501, "device_ids": (0, 1)}, "1002 streams, the most is 1000"),
        ("V07", {"device_exec_blocks": 0}, "device_exec_blocks is 0"),
        ("V09", {"inputs": (other(X, name="z"),), "model": Ports((X,), (Y,))}, "the inputs are z, those of the"),
        ("V09", {"outputs": (), "model": Ports((X,), (Y,))}, "the outputs are none, those of the model y"),
        (
            "V09",
            {"inputs": (X, other(X, name="a")), "model": Ports((other(X, name="a"), X), (Y,))},
            "the inputs are x, a, those of the model a, x",
        ),
        ("V09", {"inputs": (other(X, dtype="int32"),), "model": Ports((X,), (Y,))}, "is int32, in the model float32"),
        (
            "V09",
            {"inputs": (other(X, dims=(-1, 4, 1)),), "model": Ports((X,), (Y,))},
            r"has the dims \[-1, 4, 1\], in the model \[-1, 4\]",
        ),
        ("V09", {"inputs": (other(X, dims=(-1, 5)),), "model": Ports((X,), (Y,))}, r"in the model \[-1, 4\]"),
        (
            "V09",
            {"batch": 8, "model": Ports((other(X, dims=(1, 4)),), (other(Y, dims=(1, 2)),))},
            "the model fixes the batch to 1, max_batch_size is 8",
        ),
        ("V10", {"outputs": (other(Y, dtype="float64"),)}, r"output y float64\[batch,2\] has a type that npu_ge does"),
        ("V10", {"inputs": (other(X, dtype="bytes"),)}, r"input x bytes\[batch,4\] has a type"),
        ("V11", {"outputs": (other(Y, dims=(), names=()),)}, "output 'y' is a scalar"),
        ("V12", {"outputs": (other(Y, dims=(-1, -1)),), "batch": 4}, r"has the dims \[-1\], max_batch_size is above 0"),
        (
            "V13",
            {"inputs": (other(X, dims=(1, 4)),), "outputs": (other(Y, dims=(8400, 4)),)},
            r"output 'y' has the dims \[8400, 4\], the inputs begin with 1",
        ),
        ("V13", {"outputs": (other(Y, dims=(1, 2)),)}, r"output 'y' has the dims \[1, 2\], the inputs begin with -1"),
        (
            "V15",
            {"outputs": (other(Y, dims=(-1, -1)),), "auto_complete": False},
            "outputs vary, and auto-complete is off",
        ),
        ("V17", {"batch": 8, "preferred": (4,), "gears": (1, 2, 4, 8)}, "no gears of batch 3, 5, 6, 7"),
        (
            "V19",
            {"inputs": (other(X, dims=(-1, -1)),), "batch": 4, "preferred": (4,)},
            r"input 'x' has the dims \[-1\], and requests are merged",
        ),
        ("V21", {"inputs": (other(X, dims=(-1, 2**26)),), "batch": 8}, "'x' may have 2147483648 bytes, 2 GiB or more"),
        (
            "V31",
            {
                "inputs": (other(X, dims=(2, 4)),),
                "outputs": (other(Y, dims=(2, 2)),),
                "model": Ports((X,), (Y,)),
                "gears": (1, 2),
            },
            "gears, but every dim in config.pbtxt is a number",
        ),
    ],
)
def test_what_would_misbehave_is_refused(rule: str, case: dict[str, Any], message: str) -> None:
    refused = [finding for finding in found(**case) if finding.severity == "fails"]
    assert {finding.rule for finding in refused} == {rule}
    assert any(re.search(message, finding.message) for finding in refused)


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        ("V05", {"batch": 4, "static_model": True}),
        ("V07", {"device_exec_blocks": 9, "instances": 9}),
        ("V08", {"device_exec_blocks": 2, "instances": 1}),
        ("V08", {"gears": (1, 2)}),
        ("V17", {"batch": 4, "gears": (1, 2), "device_exec_blocks": 2, "instances": 2}),
        ("V20", {"levels": {"session": {}, "graph": {}, "ge": {}}}),
        ("V20", {"levels": {"session": {"ge.exec.precision_mode_v2": "mixed_float16"}, "graph": {}, "ge": {}}}),
    ],
)
def test_what_may_be_meant_is_advice(rule: str, case: dict[str, Any]) -> None:
    assert rules(**case) == {rule: "advice"}


@pytest.mark.parametrize("precision", ["origin", "fp16", "cube_fp16in_fp32out"])
def test_a_precision_that_is_emulated_needs_no_advice(precision: str) -> None:
    assert not rules(levels={"session": {"ge.exec.precision_mode_v2": precision}, "graph": {}, "ge": {}})


def test_a_static_model_may_fix_its_batch_to_one() -> None:
    model = Ports((other(X, dims=(1, 4)),), (other(Y, dims=(1, 2)),))
    assert rules(batch=8, model=model, static_model=True) == {"V05": "advice"}


def test_a_reshape_is_refused() -> None:
    config = {"name": "m", "input": entries(X), "output": [{**entries(Y)[0], "reshape": {"shape": [2]}}]}
    known = Known.of(config, Ports((X,), (Y,)), Options(levels=PRECISE))
    assert [finding.message for finding in check(known)] == ["output 'y' has a reshape, which npu_ge does not look at"]


def test_a_model_without_ports_is_of_no_mode() -> None:
    known = Known.of({"name": "m"}, Ports((), ()), Options(levels=PRECISE))
    assert [finding.message for finding in check(known)] == [
        "not support model_mode_TENSOR_ZERO: no inputs and outputs"
    ]
