"""Runner: walks samples through the levels of a plan, in one set of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_engine.devices import Device, Stream
from ge_engine.engine import Engine
from ge_engine.pool import Pool
from ops import Array, DeviceError
from ops.host_stage import HostStage

from .group import Group, Seat, Sizes
from .item import Item
from .level import Level
from .profile.parts import COPY_OUT
from .profile.recorder import Recorder
from .stages import paired

if TYPE_CHECKING:
    from .plan import Plan


class Runner:
    """The levels of a plan, loaded on a device with `slots` sets of buffers."""

    def __init__(self, plan: Plan, device: Device, slots: int, streams: Pool[Stream]) -> None:
        self._streams = streams
        self.recorder = Recorder(plan, device.name)
        self._outputs = tuple((output.name, output.key) for output in plan.graph.outputs)
        self._constants = _host_constants(plan)
        self.engines: dict[str, Engine] = {}
        self.levels: list[Level] = []
        largest = max((max(stage.batches) for stage in plan.stages if stage.on_device), default=1)
        for depth, (host, following) in enumerate(paired(plan.stages)):
            engines = {stage.name: Engine(plan.built[stage.name], device, slots, largest) for stage in following}
            self.engines.update(engines)
            steps = HostStage(host.steps, _needed_after(plan, host.level)) if host else None
            self.levels.append(Level(steps, tuple(engines.values()), self.recorder, depth))
        self._hosts = [level.host for level in self.levels]

    def measure(self) -> None:
        stream = self._streams.take()
        try:
            for level in self.levels:
                level.measure(stream)
        finally:
            self._streams.give(stream)

    def prepare(self, item: Item) -> None:
        """Give the sample its number, and what the host stages read besides it."""
        item.number = next(self.recorder.numbers)
        item.values.update(self._constants)

    def run(self, items: Sequence[Item], slot: int) -> None:
        """Fill in each item's answer or error, in a slot that is the caller's alone."""
        for item in items:
            self.prepare(item)
        self._advance(items, slot, 0)

    def run_group(self, group: Group, items: Sequence[Item]) -> DeviceError | None:
        """The device stages of a group that stands ready in its rows of the first level; what went wrong there."""
        return self._on_device(self.levels[0], group, len(items))

    def finish_group(self, group: Group, items: Sequence[Item], error: DeviceError | None) -> None:
        """The rest of its way."""
        self._go_on(group, items, 0, error)

    def keep_all(self, yes: bool) -> None:
        """From the next sample on, hold every value until its sample is answered; or only as long as it is needed."""
        for level, host in zip(self.levels, self._hosts):
            if host is not None:
                made = (key for step in host.steps for key, _, _ in step.outputs)
                read = (key for step in host.steps for key in step.inputs)
                level.host = HostStage(host.steps, frozenset((*read, *made))) if yes else host

    def close(self) -> None:
        for engine in self.engines.values():
            engine.close()

    def _advance(self, items: Sequence[Item], slot: int, depth: int) -> None:
        if depth == len(self.levels):
            for item in items:
                self._finish(item)
            return
        level = self.levels[depth]
        if not level.engines:
            self._advance([item for item in items if level.run_host(item)], slot, depth + 1)
            return
        groups: dict[Sizes, Group] = {}

        def find(sizes: Sizes) -> Seat:
            group = groups.get(sizes)
            if group is None:
                group = groups[sizes] = level.group(slot, sizes)
            return group, group.reserve()

        counts = iter(level.split(len(items)))
        full = level.rows if level.graded else next(counts)
        for item in items:
            seat = level.place(item, find)
            if seat is None:
                continue
            group, row = seat
            group.settle(row, None if item.error else item)
            if group.filled == full:
                self._run(group, group.take(), depth)
                full = full if level.graded else next(counts, full)
        for group in groups.values():
            if group.filled:
                self._run(group, group.take(), depth)

    def _run(self, group: Group, items: Sequence[Item], depth: int) -> None:
        self._go_on(group, items, depth, self._on_device(self.levels[depth], group, len(items)))

    def _go_on(self, group: Group, items: Sequence[Item], depth: int, error: DeviceError | None) -> None:
        dump = self.recorder.dump
        if error is None:
            for row, item in enumerate(items):
                for buffer in group.outputs:
                    item.values.update(buffer.rows[row])
            if dump is not None:
                dump.run(self.levels[depth].engines, group, items)
            self._advance(items, group.slot, depth + 1)
        elif len(items) == 1:
            items[0].error = error
            if dump is not None:
                dump.sample(items[0])
            group.clear(0)
        else:
            self._run_one_by_one(group, items, depth)

    def _run_one_by_one(self, group: Group, items: Sequence[Item], depth: int) -> None:
        """A run failed, perhaps because of one sample: each runs alone, with nothing of the others in its padding."""
        own = []
        for row, item in enumerate(items):
            for key in self.levels[depth].written & item.values.keys():
                item.values[key] = item.values[key].copy()  # later stages and the answer may read it
            own.append([{key: array.copy() for key, array in arrays.items()} for arrays in group.read(row)])
        for row in range(len(items)):
            group.clear(row)
        for item, inputs in zip(items, own):
            item.copied_in += 2 * group.write(0, inputs)
            self._run(group, [item], depth)
            group.clear(0)

    def _on_device(self, level: Level, group: Group, n: int) -> DeviceError | None:
        """Run the first n rows."""
        runs, trace, failure = self.recorder.runs[level.depth], self.recorder.trace, None
        marks = [n, clock()]
        stream = self._streams.take()
        if trace is not None:
            stream.watch = trace.watch(stream.index)
        try:
            try:
                for engine, size in zip(level.engines, group.sizes):
                    marks.append(clock())
                    engine.enqueue(group.slot, n, stream, size)
            finally:
                stream.synchronize()  # also after a failure: nothing may still be in flight on these buffers
            marks.append(clock())
            runs.add(marks)
        except DeviceError as error:
            failure = error
            runs.fail(n)
        finally:
            stream.watch = None
            self._streams.give(stream)
        if trace is not None:
            gears = [engine.gear(n, size) for engine, size in zip(level.engines, group.sizes)]
            trace.run(level.depth, marks, stream.index, gears, failure)
        return failure

    def _finish(self, item: Item) -> None:
        dump = self.recorder.dump
        if dump is not None:
            dump.sample(item)
        item.times.append(clock())
        for name, key in self._outputs:
            value = item.values[key]
            if isinstance(value, np.ndarray) and not (value.flags.owndata and self._is_new(value, item)):
                value = value.copy()  # a view of a buffer lives only as long as the run
                item.copied_out += value.nbytes
            item.answer[name] = value
        item.values.clear()
        item.times.append(clock())
        self.recorder.samples.add(item.times, item.copied_in, item.copied_out)
        trace = self.recorder.trace
        if trace is not None:
            trace.copy(COPY_OUT, item.number, item.times[-2], item.times[-1], item.copied_out)

    def _is_new(self, value: Any, item: Item) -> bool:
        """Whether an op made this array, rather than hand on the caller's or a constant, and for this output alone."""
        for others in (item.given, self._constants.values(), item.answer.values()):
            for other in others:
                if value is other:
                    return False
        return True


def _host_constants(plan: Plan) -> dict[str, Array]:
    read = {key for stage in plan.stages if not stage.on_device for step in stage.steps for key in step.inputs}
    return {key: array for key, array in plan.graph.constants.items() if key in read}


def _needed_after(plan: Plan, level: int) -> frozenset[str]:
    """What is read after a level, or is an answer."""
    read = (key for stage in plan.stages if stage.level > level for step in stage.steps for key in step.inputs)
    return frozenset(read).union(output.key for output in plan.graph.outputs)
