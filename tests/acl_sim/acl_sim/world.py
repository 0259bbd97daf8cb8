"""World: one process on one machine with NPUs. All state of the simulator, and what a test asks of it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any, TypeVar

from .call import Manner, Refused
from .codes import INVALID_DEVICE
from .faults import Fault, Faults
from .memory import Memory
from .streams import Context, Queues
from .timing import Timeline, Timing
from .violation import Violation

T = TypeVar("T")
GIB = 1 << 30


class World:
    """A process and its cards.

    shared: somebody else initialised ACL and set every device already, so that acl.init says 100002, and finalize is
    not ours to call. out_of_memory: the code of malloc when the budget of hbm bytes a device is used up.
    """

    def __init__(
        self,
        soc: str = "Ascend910B4",
        devices: int = 2,
        *,
        hbm: int = 2 * GIB,
        cann: str = "8.5.0",
        shared: bool = False,
        out_of_memory: int = 200000,
        timing: Timing | None = None,
    ) -> None:
        self.soc = soc
        self.devices = devices
        self.cann = cann
        self.shared = shared
        self.out_of_memory = out_of_memory
        self.initialised = shared
        self.inits = int(shared)
        self.lock = threading.RLock()
        self.faults = Faults()
        self.violations: list[str] = []
        self.said = ""  # of the last call that failed
        self.memory = Memory([hbm] * devices)
        self.queues = Queues(timing or Timing(), devices)
        self.allow = False  # a test that breaks rules on purpose
        self.handles: dict[int, Any] = {}
        self.references = [int(shared)] * devices  # of set_device
        self.defaults: dict[int, Context] = {}
        self.excused: set[int] = set()
        self._local = threading.local()
        self._last_handle = 0x5000
        self._gone: dict[int, str] = {}

    # What a test asks.

    def module(self) -> ModuleType:
        """The module `acl` of this world."""
        from .module import build

        return build(self)

    def fail(
        self,
        call: str,
        code: int,
        *,
        at: int = 0,
        every: int = 0,
        times: int | None = None,
        sticky: bool = False,
    ) -> Fault:
        """Let calls fail; see Fault. By default the next one; with every, each so many-th without end."""
        if times is None:
            times = 0 if every else 1
        fault = Fault(call, code, at or every or 1, every, times, sticky)
        self.faults.set.append(fault)
        return fault

    @property
    def counts(self) -> Counter[str]:
        """How often each function was called, as "rt.malloc"."""
        return self.faults.counts

    @property
    def timeline(self) -> Timeline:
        return self.queues.timeline

    def host_work(self, duration_us: float) -> None:
        """This thread does something else for a while."""
        with self.lock:
            self.queues.clock.pass_(duration_us)

    def leaks(self) -> list[str]:
        """What was made and not taken back, but for what a fault kept from being taken back."""
        found = [
            f"{type(thing).__name__.lower()} {handle:#x}"
            for handle, thing in self.handles.items()
            if handle not in self.excused and not (isinstance(thing, Context) and thing.default)
        ]
        found += [str(block) for block in self.memory.blocks.values() if block.address not in self.excused]
        return found + [
            f"set_device({device}) without reset_device"
            for device, count in enumerate(self.references)
            if count > self.shared and device not in self.excused
        ]

    # What the parts of `acl` use.

    @property
    def context(self) -> Context | None:
        """The current one of this thread, if it still lives."""
        context: Context | None = getattr(self._local, "context", None)
        return context if context is not None and context.handle in self.handles else None

    @context.setter
    def context(self, context: Context | None) -> None:
        self._local.context = context

    @property
    def current(self) -> Context:
        """Where a function needs one."""
        context = self.context
        assert context is not None
        return context

    def new_handle(self) -> int:
        self._last_handle += 0x10
        return self._last_handle

    def add(self, thing: T) -> T:
        self.handles[thing.handle] = thing  # type: ignore[attr-defined]
        return thing

    def get(self, kind: type[T], handle: int) -> T:
        """Errors: Violation (S4) for a handle that is none, or no longer."""
        thing = self.handles.get(handle)
        if not isinstance(thing, kind):
            was = f", which was {self._gone[handle]} and is gone" if handle in self._gone else ""
            raise Violation("S4", f"{handle!r} is no {kind.__name__.lower()}{was}")
        return thing

    def end(self, kind: type[T], handle: int) -> T:
        """Take a handle back. Errors: Violation (S11) while something in flight needs it."""
        thing = self.get(kind, handle)
        op = self.queues.holding(handle)
        if op is not None:
            user = f"{op.kind} on stream {op.stream.index}"
            raise Violation("S11", f"{kind.__name__.lower()} {handle:#x} is destroyed while {user} needs it")
        del self.handles[handle]
        self._gone[handle] = f"a {kind.__name__.lower()}"
        return thing

    def of(self, kind: type[T]) -> Iterator[T]:
        return (thing for thing in list(self.handles.values()) if isinstance(thing, kind))

    def device(self, index: int) -> int:
        if not 0 <= index < self.devices:
            raise Refused(INVALID_DEVICE)
        return index

    def failed(self, manner: Manner, arguments: tuple[Any, ...]) -> None:
        """A call that a fault lets fail: what it was to take back is no leak."""
        if manner.releases and arguments:
            self.excused.add(arguments[0])
