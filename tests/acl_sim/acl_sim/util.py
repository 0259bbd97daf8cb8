"""acl.util: between addresses of the host, bytes and arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .call import call
from .memory import pageable
from .violation import Violation
from .world import World

# numpy's own numbers of its types, which ptr_to_numpy takes.
NUMPY_TYPES: dict[int, np.dtype[Any]] = {int(np.dtype(name).num): np.dtype(name) for name in "?bBhHiIlLqQefd"}


class Util:
    def __init__(self, world: World) -> None:
        self._world = world

    @call(None, context=False)
    def bytes_to_ptr(self, data: bytes) -> int:
        if not isinstance(data, bytes):
            raise TypeError(f"bytes_to_ptr takes bytes, not {type(data).__name__}")
        return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0

    @call(None, context=False)
    def ptr_to_bytes(self, address: int, size: int) -> bytes:
        self._host(address, size, "ptr_to_bytes")
        return ctypes.string_at(address, size)

    @call(None, context=False)
    def numpy_to_ptr(self, array: Any) -> int:
        return int(array.ctypes.data)

    @call(None, context=False)
    def ptr_to_numpy(self, address: int, shape: tuple[int, ...], kind: int) -> Any:
        dtype = NUMPY_TYPES[kind]
        size = int(np.prod(shape)) * dtype.itemsize
        self._host(address, size, "ptr_to_numpy")
        return pageable(address, size).view(dtype).reshape(shape)

    def _host(self, address: int, size: int, what: str) -> None:
        memory = self._world.memory
        if memory.is_device(address):
            raise Violation("S7", f"{what} of {address:#x}, which is device memory: copy it back first")
        if memory.find(address) is not None:
            memory.access(address, size, False, what)
