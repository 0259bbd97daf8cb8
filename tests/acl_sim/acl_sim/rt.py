"""acl.rt but for memory: devices, contexts, streams, events."""

from __future__ import annotations

from .call import Refused, call
from .codes import CUBE, INVALID_PARAM, NO_STREAM_RESOURCE, STREAM_CONTEXT, SYNC_TIMEOUT, VECTOR, max_streams
from .model import Model
from .streams import Context, Event, Stream
from .violation import Violation
from .world import World

POLL_US = 50.0


class Rt:
    def __init__(self, world: World) -> None:
        self._world = world
        self._limits: dict[tuple[int, int], int] = {}

    # Devices.

    @call(context=False)
    def set_device(self, device: int) -> int:
        world = self._world
        world.references[world.device(device)] += 1
        if device not in world.defaults:
            world.defaults[device] = world.add(Context(world.new_handle(), device, default=True))
        world.context = world.defaults[device]
        return 0

    @call(context=False, releases=True)
    def reset_device(self, device: int) -> int:
        world = self._world
        if world.references[world.device(device)] <= int(world.shared):
            raise Refused(INVALID_PARAM)
        world.references[device] -= 1
        if world.references[device] == 0:
            self._nothing_left(device)
            del world.handles[world.defaults.pop(device).handle]
        return 0

    @call(1)
    def get_device(self) -> tuple[int, int]:
        return self._world.current.device, 0

    @call(1, context=False)
    def get_device_count(self) -> tuple[int, int]:
        return self._world.devices, 0

    @call(1)
    def get_run_mode(self) -> tuple[int, int]:
        return 1, 0  # the program runs on the host

    @call()
    def synchronize_device(self) -> int:
        streams = self._world.queues.on(self._world.current.device)
        codes = [self._finish(stream) for stream in streams]
        return next((code for code in codes if code), 0)

    # Contexts.

    @call(1, context=False)
    def create_context(self, device: int) -> tuple[int, int]:
        world = self._world
        context = world.add(Context(world.new_handle(), world.device(device), default=False))
        world.context = context
        return context.handle, 0

    @call(context=False, releases=True)
    def destroy_context(self, context: int) -> int:
        world = self._world
        found = world.get(Context, context)
        if found.default:
            raise Refused(INVALID_PARAM)
        inside: list[Stream | Event | Model] = [*world.of(Stream), *world.of(Event), *world.of(Model)]
        for thing in inside:
            if thing.context is found:
                raise Violation("S11", f"destroy_context with {type(thing).__name__.lower()} {thing.handle:#x} in it")
        world.end(Context, context)
        return 0

    @call(context=False)
    def set_context(self, context: int) -> int:
        self._world.context = self._world.get(Context, context)
        return 0

    @call(1)
    def get_context(self) -> tuple[int, int]:
        return self._world.current.handle, 0

    # Streams.

    @call(1)
    def create_stream(self) -> tuple[int, int]:
        return self._create()

    @call(1)
    def create_stream_with_config(self, priority: int, flag: int) -> tuple[int, int]:
        return self._create()

    @call(releases=True)
    def destroy_stream(self, stream: int) -> int:
        found = self._stream(stream)
        if found.pending:
            raise Violation("S11", f"destroy_stream with {found.pending[0].kind} in flight on stream {found.index}")
        return self._close(found)

    @call(releases=True)
    def destroy_stream_force(self, stream: int) -> int:
        found = self._stream(stream)
        self._world.queues.abandon(found)
        return self._close(found)

    @call()
    def synchronize_stream(self, stream: int) -> int:
        return self._finish(self._stream(stream))

    @call()
    def synchronize_stream_with_timeout(self, stream: int, timeout_ms: int) -> int:
        queues, found = self._world.queues, self._stream(stream)
        if timeout_ms >= 0 and found.free_at > queues.clock.now + timeout_ms * 1e3:
            queues.clock.pass_(timeout_ms * 1e3)
            return SYNC_TIMEOUT
        return self._finish(found)

    @call(1)
    def stream_query(self, stream: int) -> tuple[int, int]:
        """1 while something is in flight, 0 when all is done. Who asks again and again waits too."""
        queues, found = self._world.queues, self._stream(stream)
        queues.clock.pass_(POLL_US)
        if found.free_at > queues.clock.now:
            return 1, 0
        queues.drain(found)
        return 0, 0

    @call(1)
    def get_stream_available_num(self) -> tuple[int, int]:
        world = self._world
        return max_streams(world.soc) - len(world.queues.on(world.current.device)), 0

    # Limits of cores, which what is compiled already does not heed: they are only kept.

    @call()
    def set_stream_res_limit(self, stream: int, kind: int, value: int) -> int:
        return self._limit(self._stream(stream).handle, kind, value)

    @call(1)
    def get_stream_res_limit(self, stream: int, kind: int) -> tuple[int, int]:
        return self._limited(self._stream(stream).handle, kind)

    @call()
    def reset_stream_res_limit(self, stream: int) -> int:
        return self._unlimit(self._stream(stream).handle)

    @call()
    def set_device_res_limit(self, device: int, kind: int, value: int) -> int:
        return self._limit(self._world.device(device), kind, value)

    @call(1)
    def get_device_res_limit(self, device: int, kind: int) -> tuple[int, int]:
        return self._limited(self._world.device(device), kind)

    @call()
    def reset_device_res_limit(self, device: int) -> int:
        return self._unlimit(self._world.device(device))

    # Events.

    @call(1)
    def create_event(self) -> tuple[int, int]:
        world = self._world
        return world.add(Event(world.new_handle(), world.current)).handle, 0

    @call()
    def record_event(self, event: int, stream: int) -> int:
        found, on = self._world.get(Event, event), self._stream(stream)
        self._same_device(found, on)
        self._world.queues.record(found, on)
        return 0

    @call()
    def stream_wait_event(self, stream: int, event: int) -> int:
        found, on = self._world.get(Event, event), self._stream(stream)
        self._same_device(found, on)
        self._world.queues.wait(on, found)
        return 0

    @call()
    def synchronize_event(self, event: int) -> int:
        queues, found = self._world.queues, self._world.get(Event, event)
        if found.stream is None:
            raise Violation("S16", "synchronize_event on an event that was never recorded")
        queues.drain(found.stream, found.before[found.stream])
        queues.clock.until(found.time)
        return 0  # only a stream tells of a failure

    @call(1)
    def event_elapsed_time(self, first: int, second: int) -> tuple[float, int]:
        one, other = self._world.get(Event, first), self._world.get(Event, second)
        for event in (one, other):
            if event.stream is None or any(op.number <= event.before[event.stream] for op in event.stream.pending):
                raise Violation("S7", "event_elapsed_time of an event that nobody synchronized")
        if one.stream is not other.stream:
            raise Violation("S7", "event_elapsed_time of events of two streams: it is said of one stream alone")
        return (other.time - one.time) / 1e3, 0

    @call(releases=True)
    def destroy_event(self, event: int) -> int:
        found = self._world.get(Event, event)
        if found.stream is not None and any(op.number <= found.before[found.stream] for op in found.stream.pending):
            raise Violation("S11", f"destroy_event while stream {found.stream.index} has not come to it")
        self._world.end(Event, event)
        return 0

    def _limit(self, of: int, kind: int, value: int) -> int:
        if kind not in (CUBE, VECTOR) or value <= 0:
            raise Refused(INVALID_PARAM)
        self._limits[of, kind] = value
        return 0

    def _limited(self, of: int, kind: int) -> tuple[int, int]:
        if (of, kind) not in self._limits:
            raise Refused(INVALID_PARAM)
        return self._limits[of, kind], 0

    def _unlimit(self, of: int) -> int:
        for kind in (CUBE, VECTOR):
            self._limits.pop((of, kind), None)
        return 0

    def _create(self) -> tuple[int, int]:
        world = self._world
        if len(world.queues.on(world.current.device)) >= max_streams(world.soc):
            raise Refused(NO_STREAM_RESOURCE)
        return world.add(world.queues.open(world.new_handle(), world.current)).handle, 0

    def _close(self, stream: Stream) -> int:
        self._world.queues.streams.remove(stream)
        self._world.end(Stream, stream.handle)
        return 0

    def _stream(self, handle: int) -> Stream:
        return stream_of(self._world, handle)

    def _finish(self, stream: Stream) -> int:
        code = self._world.queues.finish(stream)
        self._world.queues.clock.until(stream.free_at)
        return code

    @staticmethod
    def _same_device(event: Event, stream: Stream) -> None:
        if event.context.device != stream.context.device:
            raise Violation("S15", f"an event of device {event.context.device} on one of {stream.context.device}")

    def _nothing_left(self, device: int) -> None:
        world = self._world
        left = [f"stream {stream.index}" for stream in world.queues.on(device)]
        left += [f"model {model.om.name}" for model in world.of(Model) if model.context.device == device]
        left += [str(block) for block in world.memory.blocks.values() if block.device == device]
        if left:
            raise Violation("S12", f"reset_device({device}) with {', '.join(left)}")


def stream_of(world: World, handle: int) -> Stream:
    """Errors: Refused where the stream is of another context than the thread's."""
    stream = world.get(Stream, handle)
    if stream.context is not world.current:
        raise Refused(STREAM_CONTEXT)
    return stream
