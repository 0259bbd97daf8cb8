"""Lease: the buffers of a device stage in the caller's own hands."""

from __future__ import annotations

from collections.abc import Mapping

from ge_engine.devices import Stream
from ge_engine.engine import Engine
from ge_engine.pool import Pool
from ops import Array, SampleError


class ExecutionContext:
    """A set of buffers of one device stage, and the streams it may run on.

    inputs[name]   dtype[rows, ...]  to be filled; names as `print(plan)` shows
    outputs[name]  dtype[rows, ...]  valid after run
    They are the memory that the device is bound to: valid inside the lease, overwritten after it.
    """

    def __init__(self, engine: Engine, slot: int, size: int, streams: Pool[Stream]) -> None:
        self.inputs: Mapping[str, Array] = engine.inputs(slot, size).arrays
        self.outputs: Mapping[str, Array] = engine.outputs(slot, size).arrays
        self._engine = engine
        self._slot = slot
        self._size = size
        self._streams = streams
        self._ended = False

    def run(self, n: int) -> None:
        """Run the first n rows.

        Errors: SampleError when n is out of range or the lease is over; DeviceError.
        """
        if self._ended:
            raise SampleError("the lease is over", fix="run inside `with session.lease() as context:`")
        if not 1 <= n <= self._engine.rows:
            raise SampleError(f"run({n})", fix=f"run 1 to {self._engine.rows} rows")
        stream = self._streams.take()
        try:
            self._engine.enqueue(self._slot, n, stream, self._size)
            stream.synchronize()
        finally:
            self._streams.give(stream)

    def end(self) -> None:
        """What a user left in the rows must not become another batch's padding."""
        self._ended = True
        if self._engine.pads:
            for array in self.inputs.values():
                array.fill(0)


def size_index(engine: Engine, size: tuple[int, ...] | None) -> int:
    """Which of an engine's sizes that is. Errors: SampleError."""
    if size is None and len(engine.sizes) == 1:
        return 0
    sizes = [tuple(value for _, value in gear.dims) for gear in engine.sizes]
    if size not in sizes or not size:
        known = ", ".join(map(str, sizes)) if sizes[0] else "none: it has batch gears"
        raise SampleError(f"there is no size {size}", fix=f"the sizes are {known}")
    return sizes.index(size)
