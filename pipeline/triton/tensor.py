"""An input or output as Triton lists it, and its names for dtypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ops.spec import canonical_dtype

from .schema import enum_name

ITEM_BYTES = {
    "TYPE_BOOL": 1, "TYPE_UINT8": 1, "TYPE_INT8": 1, "TYPE_UINT16": 2, "TYPE_INT16": 2, "TYPE_FP16": 2, "TYPE_BF16": 2,
    "TYPE_UINT32": 4, "TYPE_INT32": 4, "TYPE_FP32": 4, "TYPE_UINT64": 8, "TYPE_INT64": 8, "TYPE_FP64": 8,
}  # fmt: skip
_OTHER_NAMES = {  # than numpy's in capitals
    "bytes": "TYPE_STRING", "float16": "TYPE_FP16", "float32": "TYPE_FP32", "float64": "TYPE_FP64",
    "bfloat16": "TYPE_BF16",
}  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """Its name, its Triton type (TYPE_FP32; FP32 to clients), and its dims without a batch axis; -1 is a variable one.

    dtype: as a TensorSpec spells it. Errors: SpecError for a type that it does not have.
    """

    name: str
    data_type: str
    dims: tuple[int, ...]
    optional: bool = False

    @property
    def dtype(self) -> str:
        return canonical_dtype(self.data_type)

    def __str__(self) -> str:
        return f"{self.data_type}[{','.join(map(str, self.dims))}]"


def tensor_of(item: Any) -> Tensor:
    """A ModelInput or ModelOutput."""
    return Tensor(item.name, enum_name(item, "data_type"), tuple(item.dims), getattr(item, "optional", False))


def triton_type(dtype: Any) -> str:
    """Triton's name in a config for a dtype, in any spelling that `canonical_dtype` takes.

    Errors: SpecError for what is no dtype.

    >>> triton_type("float32"), triton_type("int64"), triton_type("bytes"), triton_type("bfloat16")
    ('TYPE_FP32', 'TYPE_INT64', 'TYPE_STRING', 'TYPE_BF16')
    """
    name = canonical_dtype(dtype)
    return _OTHER_NAMES.get(name, f"TYPE_{name.upper()}")
