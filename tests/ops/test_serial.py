from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from ops.asset import Asset
from ops.errors import SpecError
from ops.normalize import Normalize
from ops.op import Edge, Op
from ops.serial import op_from_json, op_to_json


@dataclass(frozen=True)
class Everything(Op[Edge]):
    """An op with an attribute of any kind."""

    value: Any = None


class Plain(Op[Edge]):
    """An op that its author forgot to make a dataclass."""


def there_and_back(op: Op[Any], folder: str = "/models") -> Op[Any]:
    return op_from_json(json.loads(json.dumps(op_to_json(op, folder), allow_nan=False)), folder)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -7,
        2**70,
        0.1,
        5e-324,
        -0.0,
        float("inf"),
        float("-inf"),
        "",
        "猫\n",
        (),
        ((1, (2.5,)), "x"),
        (None,),
    ],
    ids=repr,
)
def test_an_attribute_comes_back_as_it_was(value: Any) -> None:
    again = there_and_back(Everything(value))
    assert again == Everything(value)
    assert repr(again) == repr(Everything(value))  # True is not 1, 0.0 is not -0.0


def test_nan_comes_back() -> None:
    assert repr(there_and_back(Everything(float("nan")))) == repr(Everything(float("nan")))


def test_a_list_comes_back_as_a_tuple() -> None:
    assert there_and_back(Everything([1, [2]])) == Everything((1, (2,)))


def test_the_path_of_an_asset_is_relative_to_the_json() -> None:
    document = op_to_json(Everything(Asset("/models/text/vocab.txt")), "/models")
    assert document["attributes"]["value"] == {"asset": "text/vocab.txt"}
    assert op_from_json(document, "/elsewhere") == Everything(Asset("/elsewhere/text/vocab.txt"))


def test_a_built_in_op_goes_by_its_package_and_a_users_own_by_its_module() -> None:
    assert op_to_json(Normalize((0.5,), (1.0,)), "/")["op"] == "ops:Normalize"
    assert op_to_json(Everything(), "/")["op"] == f"{__name__}:Everything"


@pytest.mark.parametrize("value", [{}, {1}, b"bytes", 1j, object()], ids=["dict", "set", "bytes", "complex", "object"])
def test_an_attribute_that_json_cannot_hold_is_refused_with_its_type(value: Any) -> None:
    with pytest.raises(SpecError, match=f"attribute value is an? {type(value).__name__}"):
        op_to_json(Everything(value), "/")


def test_an_op_that_is_no_dataclass_is_refused() -> None:
    with pytest.raises(SpecError, match="Plain is not a dataclass") as error:
        op_to_json(Plain(), "/")
    assert "@dataclass(frozen=True)" in error.value.fix


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"op": "ops:Normalise", "attributes": {}}, "'ops:Normalise' is not a known op"),
        ({"op": "os:system", "attributes": {}}, "'os:system' is not a known op"),
        ({"op": ["ops:Normalize"]}, "is not a known op"),
        ({}, "None is not a known op"),
        ({"op": "ops:Normalize", "attributes": {"mean": [0.5]}}, "ops:Normalize: .*'std'"),
        ({"op": "ops:Softmax", "attributes": {"axes": 1}}, "ops:Softmax: .*'axes'"),
        ({"op": "ops:Softmax", "attributes": {"axis": {"code": "1"}}}, "is not an attribute"),
    ],
)
def test_a_document_that_is_no_op_is_refused(document: dict[str, Any], message: str) -> None:
    import ops  # noqa: F401  # registers the built-in ops

    with pytest.raises(SpecError, match=message):
        op_from_json(document, "/")
