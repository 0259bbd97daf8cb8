"""The functions right in `acl`: init, finalize, data buffers."""

from __future__ import annotations

from .call import Refused, call
from .codes import REPEAT_INITIALIZE, UNINITIALIZE
from .model import DataBuffer
from .violation import Violation
from .world import World


class Base:
    def __init__(self, world: World) -> None:
        self._world = world

    @call(context=False, init=False)
    def init(self, config: str | None = None) -> int:
        world = self._world
        if world.initialised:
            return REPEAT_INITIALIZE
        if world.inits:
            raise Violation("S1", "acl.init after acl.finalize: a process does it once")
        world.initialised, world.inits = True, 1
        return 0

    @call(context=False, init=False)
    def finalize(self) -> int:
        world = self._world
        if not world.initialised:
            return UNINITIALIZE
        if world.shared:
            raise Violation("S1", "acl.finalize by one whose acl.init returned 100002: it is another's to call")
        leaks = world.leaks()
        if leaks:
            raise Violation("S12", f"acl.finalize with {', '.join(leaks)}")
        world.initialised = False
        return 0

    @call(None, context=False)
    def get_soc_name(self) -> str:
        return self._world.soc

    @call(None, context=False)
    def get_recent_err_msg(self) -> str:
        """It is told once."""
        said, self._world.said = self._world.said, ""
        return said

    @call(None, context=False)
    def create_data_buffer(self, address: int, size: int) -> int:
        world = self._world
        return world.add(DataBuffer(world.new_handle(), address, size)).handle

    @call(context=False)
    def update_data_buffer(self, buffer: int, address: int, size: int) -> int:
        found = self._world.get(DataBuffer, buffer)
        found.address, found.size = address, size
        return 0

    @call(context=False, releases=True)
    def destroy_data_buffer(self, buffer: int) -> int:
        self._world.end(DataBuffer, buffer)
        return 0

    @call(None, context=False)
    def get_data_buffer_addr(self, buffer: int) -> int:
        return self._world.get(DataBuffer, buffer).address

    @call(None, context=False)
    def get_data_buffer_size(self, buffer: int) -> int:
        return self._world.get(DataBuffer, buffer).size

    get_data_buffer_size_v2 = get_data_buffer_size


def positive(size: int, code: int) -> None:
    if size <= 0:
        raise Refused(code)
