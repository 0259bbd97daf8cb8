"""An input or output as a config lists it."""

from __future__ import annotations

from dataclasses import dataclass

ITEM_BYTES = {
    "TYPE_BOOL": 1, "TYPE_UINT8": 1, "TYPE_INT8": 1, "TYPE_UINT16": 2, "TYPE_INT16": 2, "TYPE_FP16": 2, "TYPE_BF16": 2,
    "TYPE_UINT32": 4, "TYPE_INT32": 4, "TYPE_FP32": 4, "TYPE_UINT64": 8, "TYPE_INT64": 8, "TYPE_FP64": 8,
}  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """Its name, its Triton type, and its dims without a batch axis; -1 is a variable one."""

    name: str
    data_type: str
    dims: tuple[int, ...]
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.data_type}[{','.join(map(str, self.dims))}]"
