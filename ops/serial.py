"""Ops to JSON and back: names and attributes, never code.

Every field of the op is written: bool, int, float, str, None, tuples of them, and Assets. Reading finds the class in
the registry of ops that are already imported; it imports nothing.
"""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any

from .article import kind
from .asset import Asset
from .errors import DeclarationError, SpecError
from .op import REGISTRY, Op, op_key


def op_to_json(op: Op[Any], folder: str) -> dict[str, Any]:
    """{"op": "ops:Normalize", "attributes": {...}}; the paths of Assets are relative to `folder`.

    Errors: SpecError for an attribute that JSON cannot hold.
    """
    if not dataclasses.is_dataclass(op):
        raise SpecError(f"{type(op).__name__} is not a dataclass", fix="put @dataclass(frozen=True) above the class")
    attributes = {f.name: _encode(getattr(op, f.name), f.name, folder) for f in dataclasses.fields(op) if f.init}
    return {"op": op_key(type(op)), "attributes": attributes}


def op_from_json(document: dict[str, Any], folder: str) -> Op[Any]:
    """The op again; Assets are looked for in `folder`.

    Errors: SpecError for an unknown op, or attributes that its class does not have.
    """
    key = document.get("op")
    cls = REGISTRY.get(key) if isinstance(key, str) else None
    if cls is None:
        raise SpecError(f"{key!r} is not a known op", fix="import the module that defines it first")
    attributes = {name: _decode(value, folder) for name, value in document.get("attributes", {}).items()}
    try:
        return cls(**attributes)
    except DeclarationError as error:
        raise SpecError(f"{key}: {error.message}", fix=error.fix) from error
    except TypeError as error:
        raise SpecError(f"{key}: {error}", fix="use the attributes that the class has") from error


def _encode(value: Any, name: str, folder: str) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Asset):
        return {"asset": os.path.relpath(value.path, folder)}
    if isinstance(value, (tuple, list)):
        return [_encode(item, name, folder) for item in value]
    raise SpecError(
        f"attribute {name} is {kind(value)}",
        fix="use bool, int, float, str, None, tuples of them, or an Asset",
    )


def _decode(value: Any, folder: str) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item, folder) for item in value)
    if isinstance(value, dict):
        if set(value) == {"float"}:
            return float(value["float"])
        if set(value) == {"asset"}:
            return Asset(os.path.normpath(os.path.join(folder, str(value["asset"]))))
        raise SpecError(f"{value!r} is not an attribute", fix="write the JSON with op_to_json")
    return value
