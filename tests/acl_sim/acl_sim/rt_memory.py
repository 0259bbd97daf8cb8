"""acl.rt, memory: malloc, and copies with their rules."""

from __future__ import annotations

import numpy as np

from .base import positive
from .call import Refused, call
from .codes import D2D, D2H, H2D, H2H, INVALID_PARAM, MALLOC_POLICIES
from .memory import Access, Block, pageable
from .rt import stream_of
from .violation import Violation
from .world import World

KINDS = {H2D: "h2d", D2H: "d2h", D2D: "d2d", H2H: "h2h"}
HBM = 1


class RtMemory:
    def __init__(self, world: World) -> None:
        self._world = world

    @call(1)
    def malloc(self, size: int, policy: int) -> tuple[int, int]:
        world = self._world
        positive(size, INVALID_PARAM)
        if policy not in MALLOC_POLICIES:
            raise Refused(INVALID_PARAM)
        world.queues.clock.pass_(world.queues.timing.malloc_us)
        block = world.memory.allocate(world.current.device, size)
        if block is None:
            raise Refused(world.out_of_memory)
        return block.address, 0

    @call(1)
    def malloc_host(self, size: int) -> tuple[int, int]:
        world = self._world
        positive(size, INVALID_PARAM)
        world.queues.clock.pass_(world.queues.timing.malloc_host_us)
        return world.memory.allocate_host(size).address, 0

    @call(releases=True)
    def free(self, address: int) -> int:
        return self._free(address, device=True)

    @call(releases=True)
    def free_host(self, address: int) -> int:
        return self._free(address, device=False)

    @call(2)
    def get_mem_info(self, attr: int) -> tuple[int, int, int]:
        memory, device = self._world.memory, self._world.current.device
        if attr != HBM:
            raise Refused(INVALID_PARAM)
        return memory.budgets[device] - memory.used[device], memory.budgets[device], 0

    @call()
    def memset(self, address: int, most: int, value: int, size: int) -> int:
        access = self._fill(address, most, value, size)
        self._world.queues.check((access,), "memset")
        self._set(access, value)
        return 0

    @call()
    def memset_async(self, address: int, most: int, value: int, size: int, stream: int) -> int:
        access, timing = self._fill(address, most, value, size), self._world.queues.timing
        self._world.queues.clock.pass_(timing.launch_us)
        self._world.queues.enqueue(
            "memset",
            stream_of(self._world, stream),
            (access,),
            lambda: self._set(access, value),
            what=str(size),
            duration=lambda _: timing.launch_us,
        )
        return 0

    @call()
    def memcpy(self, to: int, most: int, source: int, size: int, kind: int) -> int:
        world = self._world
        self._sides(to, most, source, size, kind)
        world.queues.clock.pass_(world.queues.timing.copying(size))
        accesses = self._accesses(to, source, size)
        world.queues.check(tuple(access for access in accesses if access is not None), "memcpy")
        return self._copy(to, source, size, accesses)

    @call()
    def memcpy_async(self, to: int, most: int, source: int, size: int, kind: int, stream: int) -> int:
        world = self._world
        queues = world.queues
        self._sides(to, most, source, size, kind)
        if kind == H2H:
            raise Violation("S6", "memcpy_async from host to host")
        found = stream_of(world, stream)
        queues.clock.pass_(queues.timing.launch_us)
        accesses = self._accesses(to, source, size)
        target, origin = accesses
        whole = tuple(access for access in accesses if access is not None)

        def work() -> int:
            fault = world.faults.take("device.copy")
            if fault is not None:
                found.sticky = fault.sticky
                return fault.code
            return self._copy(to, source, size, accesses)

        if target is not None and target.block.device is None:
            queues.check(whole, KINDS[kind], found)
            target.poison()  # who reads before it is there is to see it
        host = tuple(access for access in whole if access.block.device is None)
        queues.enqueue(
            KINDS[kind],
            found,
            whole,
            work,
            what=str(size),
            duration=lambda _: queues.timing.copying(size),
            watched=host,
        )
        if target is None or origin is None:  # the runtime stages what is not pinned, and waits
            world.faults.counts["pageable memcpy_async"] += 1
            queues.clock.until(found.free_at)
            return queues.finish(found)
        return 0

    def _sides(self, to: int, most: int, source: int, size: int, kind: int) -> None:
        if size <= 0 or size > most or kind not in KINDS:
            raise Refused(INVALID_PARAM)
        block = self._world.memory.find(to)
        if block is not None and to + most > block.end:
            raise Violation("S5", f"a copy is told of {most} bytes at {to - block.address} of {block}")
        for address, wanted, name in ((source, kind in (D2H, D2D), "source"), (to, kind in (H2D, D2D), "destination")):
            if self._world.memory.is_device(address) != wanted:
                raise Violation("S14", f"a {KINDS[kind]} copy whose {name} {address:#x} is on the other side")

    def _accesses(self, to: int, source: int, size: int) -> tuple[Access | None, Access | None]:
        """The bytes of both sides, None for host memory that is not pinned."""
        return self._bytes(to, size, True), self._bytes(source, size, False)

    def _bytes(self, address: int, size: int, write: bool) -> Access | None:
        world, memory = self._world, self._world.memory
        if not memory.is_device(address) and memory.find(address) is None and not memory.is_freed(address):
            return None
        access = memory.access(address, size, write, "memcpy")
        if access.block.device not in (None, world.current.device):
            raise Violation("S15", f"a copy on device {world.current.device} of {access.block}")
        return access

    def _copy(self, to: int, source: int, size: int, accesses: tuple[Access | None, Access | None]) -> int:
        target, origin = accesses
        data = origin.bytes if origin is not None else pageable(source, size)
        if target is None:
            pageable(to, size)[:] = data
            return 0
        target.bytes[:] = data
        if origin is not None and origin.block.device is not None and target.block.device is not None:
            target.block.written[target.low : target.high] = origin.block.written[origin.low : origin.high]
        else:
            target.touch()
        return 0

    def _fill(self, address: int, most: int, value: int, size: int) -> Access:
        if size <= 0 or size > most or not 0 <= value < 256:
            raise Refused(INVALID_PARAM)
        access = self._bytes(address, size, True)
        if access is None:
            raise Violation("S14", f"memset of {address:#x}, which is no device or pinned memory")
        return access

    @staticmethod
    def _set(access: Access, value: int) -> int:
        access.bytes[:] = np.uint8(value)
        access.touch()
        return 0

    def _free(self, address: int, device: bool) -> int:
        world = self._world
        block: Block | None = world.memory.blocks.get(address)
        if block is None or (block.device is not None) != device:
            raise Violation("S4", f"{'free' if device else 'free_host'} of {address:#x}, which malloc did not give")
        for op in world.queues.pending:
            if any(access.block is block for access in op.accesses):
                raise Violation("S11", f"{block} is freed while {op.kind} on stream {op.stream.index} uses it")
        world.memory.release(block)
        return 0
