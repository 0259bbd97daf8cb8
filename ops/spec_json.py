"""Specs and arrays to JSON and back."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from .spec import Array, Counted, Dim, Graded, TensorSpec, require_whole


def spec_to_json(spec: TensorSpec) -> dict[str, Any]:
    """{"dtype": ..., "shape": [...]}: a dim is a number, a name, or what kind of dim it is."""
    return {"dtype": spec.dtype, "shape": [_dim_to_json(dim) for dim in spec.shape]}


def spec_from_json(value: dict[str, Any]) -> TensorSpec:
    """Errors: SpecError, ValueError, TypeError or KeyError for what is no spec."""
    return TensorSpec(value["dtype"], tuple(_dim_from_json(dim) for dim in value["shape"]))


def array_to_json(array: Array) -> dict[str, Any]:
    """{"dtype": ..., "shape": [...], "data": base64}: little endian, or a list of base64 where the items are bytes."""
    spec = TensorSpec(array.dtype, array.shape)
    data: Any
    if spec.dtype == "bytes":
        data = [base64.b64encode(item).decode() for item in array.flat]
    else:
        data = base64.b64encode(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()).decode()
    return {**spec_to_json(spec), "data": data}


def array_from_json(value: dict[str, Any]) -> Array:
    """Errors: SpecError, ValueError, TypeError or KeyError for what is no array."""
    for size in value["shape"]:
        require_whole("a dim", size)
    spec = TensorSpec(value["dtype"], value["shape"])
    if spec.dtype == "bytes":
        array = np.empty(len(value["data"]), object)
        array[:] = [base64.b64decode(item, validate=True) for item in value["data"]]
    else:
        dtype = spec.numpy
        array = np.frombuffer(base64.b64decode(value["data"], validate=True), dtype.newbyteorder("<")).astype(dtype)
    result = array.reshape(spec.at_gear(0))
    result.flags.writeable = False
    return result


def _dim_to_json(dim: Dim) -> Any:
    if isinstance(dim, Counted):
        return {"counted": dim.name, "limit": dim.limit}
    if isinstance(dim, Graded):
        return {"graded": dim.name, "values": list(dim.values)}
    return dim


def _dim_from_json(value: Any) -> Dim:
    if isinstance(value, dict):
        if "counted" in value:
            return Counted(value["counted"], value["limit"])
        return Graded(value["graded"], tuple(value["values"]))
    dim: Dim = value  # TensorSpec refuses what is none
    return dim
