"""Runner: walks samples through the stages of a plan, in one set of buffers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_engine.devices import Device, Stream
from ge_engine.engine import Engine
from ge_engine.gears import Gears, pick
from ge_engine.pool import Pool
from ops import Array, DeviceError, GepipeError
from ops.host_stage import HostStage, Step, same_memory

if TYPE_CHECKING:
    from .plan import Plan


class Item:
    """A sample on its way: its values so far, or the error that stopped it."""

    __slots__ = ("answer", "copied_in", "copied_out", "error", "given", "sizes", "values")

    def __init__(self, values: dict[str, Any], copied_in: int = 0) -> None:
        self.values = values
        self.given = tuple(values.values())  # the caller's own, which no answer may hand back
        self.sizes: dict[str, int] = {}  # for each Graded dim, the index of its value
        self.error: GepipeError | None = None
        self.answer: dict[str, Any] = {}
        self.copied_in = copied_in
        self.copied_out = 0


class Group:
    """Samples of one size that fill the rows of a set's buffers."""

    def __init__(self, level: Level, slot: int, sizes: tuple[int, ...]) -> None:
        self.slot = slot
        self.sizes = sizes
        self.items: list[Item] = []
        self.inputs = [engine.inputs(slot, size) for engine, size in zip(level.engines, sizes)]
        self.outputs = [engine.outputs(slot, size) for engine, size in zip(level.engines, sizes)]

    def clear_row(self, row: int) -> None:
        """A row that a bad sample may have half written must not become padding."""
        for buffer in self.inputs:
            for array in buffer.rows[row].values():
                array.fill(0)

    def move_to_first(self, row: int) -> int:
        """Copy a row of all inputs to the first; the bytes."""
        copied = 0
        for buffer in self.inputs:
            for key, array in buffer.rows[row].items():
                np.copyto(buffer.rows[0][key], array)
                copied += array.nbytes
        return copied


class Level:
    """A host stage and the device stages that follow it.

    written: for each engine, the keys that the host stage writes straight into the engine's buffer.
    """

    def __init__(self, host: HostStage | None, engines: tuple[Engine, ...]) -> None:
        self.host = host
        self.engines = engines
        self.graded = any(engine.stage.gears.sizes for engine in engines)
        rows = min((engine.rows for engine in engines), default=0)
        # Groups of several sizes share the buffers of an engine without sizes: one sample at a time then.
        self.rows = 1 if self.graded and len(engines) > 1 else rows
        made = {key for step in host.steps for key, _, _ in step.outputs} if host else set()
        self.written: list[list[str]] = []
        for engine in engines:
            mine = [key for key, _ in engine.stage.graph.inputs if key in made]
            made.difference_update(mine)
            self.written.append(mine)
        self.costs_us: dict[int, float] = {}

    def measure(self, stream: Stream) -> None:
        """What one step of each batch size costs, where batches are padded."""
        batches = sorted({b for engine in self.engines for b in engine.batches if b <= self.rows})
        if len(batches) > 1 and any(engine.pads for engine in self.engines):
            costs = [(engine.batches, engine.measure_us(stream)) for engine in self.engines]
            self.costs_us = {batch: sum(cost[pick(sizes, batch)] for sizes, cost in costs) for batch in batches}

    def split(self, n: int) -> tuple[int, ...]:
        """How many samples to run at a time."""
        if self.costs_us:
            return Gears(tuple(self.costs_us)).split(n, self.costs_us)
        whole, rest = divmod(n, self.rows)
        return (self.rows,) * whole + ((rest,) if rest else ())

    def sizes(self, item: Item) -> tuple[int, ...]:
        """For each engine, the index of the size that this sample has."""
        return tuple(
            next((item.sizes[name] for name, _ in engine.sizes[0].dims if name in item.sizes), 0)
            for engine in self.engines
        )


class Runner:
    """The levels of a plan, loaded on a device with `slots` sets of buffers."""

    def __init__(self, plan: Plan, device: Device, slots: int, streams: Pool[Stream]) -> None:
        self._streams = streams
        self._outputs = tuple((output.name, output.key) for output in plan.graph.outputs)
        self._constants = _host_constants(plan)
        self.engines: dict[str, Engine] = {}
        self._levels: list[Level] = []
        largest = max((max(stage.batches) for stage in plan.stages if stage.on_device), default=1)
        needed = _needed_after(plan)
        for number in range(0, max((stage.level for stage in plan.stages), default=0) + 1, 2):
            host = next((stage for stage in plan.stages if stage.level == number), None)
            for stage in plan.stages:
                if stage.level == number + 1:
                    self.engines[stage.name] = Engine(plan.built[stage.name], device, slots, largest)
            engines = tuple(self.engines[stage.name] for stage in plan.stages if stage.level == number + 1)
            runner = HostStage(host.steps, needed[number]) if host else None
            self._levels.append(Level(runner, engines))

    def measure(self) -> None:
        stream = self._streams.take()
        try:
            for level in self._levels:
                level.measure(stream)
        finally:
            self._streams.give(stream)

    def run(self, items: list[Item], slot: int) -> None:
        """Fill in each item's answer or error."""
        for item in items:
            item.values.update(self._constants)
        self._advance(items, slot, 0)

    def close(self) -> None:
        for engine in self.engines.values():
            engine.close()

    def _advance(self, items: list[Item], slot: int, depth: int) -> None:
        if depth == len(self._levels):
            for item in items:
                self._finish(item)
            return
        level = self._levels[depth]
        if not level.engines:
            self._advance([item for item in items if self._host(level, item, {}, None)], slot, depth + 1)
            return
        groups: dict[tuple[int, ...], Group] = {}
        sizes = iter(level.split(len(items)))
        full = level.rows if level.graded else next(sizes, 0)
        for item in items:
            group = self._place(level, item, slot, groups)
            if group is not None and len(group.items) == full:
                self._run(level, group, depth)
                full = full if level.graded else next(sizes, full)
        for group in groups.values():
            if group.items:
                self._run(level, group, depth)

    def _place(self, level: Level, item: Item, slot: int, groups: dict[tuple[int, ...], Group]) -> Group | None:
        """Run the host stage on a sample, into the next row of the group of its size; None if it failed."""
        out: dict[str, Array] = {}
        group: Group | None = None

        def open_row() -> Group:
            sizes = level.sizes(item)
            found = groups.get(sizes)
            if found is None:
                found = groups[sizes] = Group(level, slot, sizes)
            row = len(found.items)
            for buffer, keys in zip(found.inputs, level.written):
                for key in keys:
                    out[key] = buffer.rows[row][key]
            return found

        def on_gear(step: Step, index: int) -> None:
            nonlocal group
            item.sizes.update((dim.name, index) for _, _, spec in step.outputs for dim in spec.graded)
            group = open_row()

        if not level.graded:
            group = open_row()
        if not self._host(level, item, out, on_gear):
            if group is not None:
                group.clear_row(len(group.items))
            return None
        if group is None:
            self._sizes_from_values(level, item)
            group = open_row()
        self._fill_row(level, item, group)
        group.items.append(item)
        return group

    def _host(self, level: Level, item: Item, out: dict[str, Array], on_gear: Any) -> bool:
        if level.host is not None:
            try:
                item.copied_in += level.host.run(item.values, out, on_gear)
            except GepipeError as error:
                item.error = error
                return False
        return True

    def _sizes_from_values(self, level: Level, item: Item) -> None:
        for engine in level.engines:
            for key, spec in engine.stage.graph.inputs:
                shape = item.values[key].shape
                for index in range(len(spec.graded[0].values) if spec.graded else 0):
                    if spec.at_gear(index) == shape:
                        item.sizes.update((dim.name, index) for dim in spec.graded)

    def _fill_row(self, level: Level, item: Item, group: Group) -> None:
        """Copy what the host stage did not write in place: the caller's own arrays, and values of earlier stages."""
        row = len(group.items)
        for engine, buffer in zip(level.engines, group.inputs):
            for key, _ in engine.stage.graph.inputs:
                value, target = item.values[key], buffer.rows[row][key]
                if not same_memory(value, target):
                    np.copyto(target, value, casting="no")
                    item.copied_in += target.nbytes

    def _run(self, level: Level, group: Group, depth: int) -> None:
        items, group.items = group.items, []
        try:
            self._enqueue(level, group, len(items))
        except DeviceError as error:
            if len(items) == 1:
                items[0].error = error
                group.clear_row(0)
            else:
                self._run_one_by_one(level, group, items, depth)
            return
        for row, item in enumerate(items):
            for buffer in group.outputs:
                item.values.update(buffer.rows[row])
        self._advance(items, group.slot, depth + 1)

    def _run_one_by_one(self, level: Level, group: Group, items: list[Item], depth: int) -> None:
        """A run failed, perhaps because of one sample: each has its own, in the first row."""
        for row, item in enumerate(items):
            if row:
                item.copied_in += group.move_to_first(row)
            group.items = [item]
            self._run(level, group, depth)
            group.clear_row(
                row
            )  # only now: later stages and the answer may read the row that the sample was written to

    def _enqueue(self, level: Level, group: Group, n: int) -> None:
        stream = self._streams.take()
        try:
            try:
                for engine, size in zip(level.engines, group.sizes):
                    engine.enqueue(group.slot, n, stream, size)
            finally:
                stream.synchronize()  # also after a failure: nothing may still be in flight on these buffers
        finally:
            self._streams.give(stream)

    def _finish(self, item: Item) -> None:
        for name, key in self._outputs:
            value = item.values[key]
            if isinstance(value, np.ndarray) and not (value.flags.owndata and self._is_new(value, item)):
                value = value.copy()  # a view of a buffer lives only as long as the run
                item.copied_out += value.nbytes
            item.answer[name] = value
        item.values.clear()

    def _is_new(self, value: Any, item: Item) -> bool:
        """Whether an op made this array, rather than hand on the caller's or a constant, and for this output alone."""
        others = (*item.given, *self._constants.values(), *item.answer.values())
        return not any(value is other for other in others)


def _host_constants(plan: Plan) -> dict[str, Array]:
    read = {key for stage in plan.stages if not stage.on_device for step in stage.steps for key in step.inputs}
    return {key: array for key, array in plan.graph.constants.items() if key in read}


def _needed_after(plan: Plan) -> dict[int, frozenset[str]]:
    """For each host level, the keys that something later reads."""
    wanted = {output.key for output in plan.graph.outputs}
    return {
        stage.level: frozenset(wanted.union(_read(later for later in plan.stages if later.level > stage.level)))
        for stage in plan.stages
    }


def _read(stages: Iterable[Any]) -> Iterable[str]:
    return (key for stage in stages for step in stage.steps for key in step.inputs)
