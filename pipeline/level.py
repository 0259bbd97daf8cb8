"""Level: a host stage and the device stages behind it, and how samples come to stand in the rows of their buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter as clock
from typing import Any

import numpy as np

from ge_engine.devices import Stream
from ge_engine.engine import Engine
from ge_engine.gears import Gears, pick
from ops import Array, GepipeError, SampleError
from ops.host_stage import HostStage, Step, same_memory

from .group import Group, Seat, Sizes
from .item import Item
from .profile.recorder import Recorder


class Level:
    """A host stage and the device stages that follow it.

    rows: the most samples of one group. graded: a sample's size, and so its group, is known only while it is written.
    written: the keys that the host stage writes straight into a row. depth: 0 for the first level.
    """

    def __init__(self, host: HostStage | None, engines: tuple[Engine, ...], recorder: Recorder, depth: int) -> None:
        self.host = host
        self.engines = engines
        self.depth = depth
        self._recorder = recorder
        self._graded_dims = {name for engine in engines for name, _ in engine.sizes[0].dims}
        self.graded = bool(self._graded_dims)
        rows = min((engine.rows for engine in engines), default=0)
        # Groups of several sizes share the buffers of an engine without sizes: one sample at a time then.
        self.rows = 1 if self.graded and len(engines) > 1 else rows
        made = {key for step in host.steps for key, _, _ in step.outputs} if host else set()
        self.written = made.intersection(key for engine in engines for key, _ in engine.stage.graph.inputs)
        self._groups: dict[tuple[int, Sizes], Group] = {}
        self.costs_us: dict[int, float] = {}
        self.alike = (0,) * len(engines)

    def measure(self, stream: Stream) -> None:
        """What one step of each batch size costs, where batches are padded."""
        batches = sorted({b for engine in self.engines for b in engine.batches if b <= self.rows})
        if len(batches) > 1 and any(engine.pads for engine in self.engines):
            costs = [(engine.batches, engine.measure_us(stream)) for engine in self.engines]
            self.costs_us = {batch: sum(cost[pick(sizes, batch)] for sizes, cost in costs) for batch in batches}

    def split(self, n: int) -> tuple[int, ...]:
        """How many of n samples to run at a time."""
        if n <= 1:
            return (n,)
        if self.costs_us:
            return Gears(tuple(self.costs_us)).split(n, self.costs_us)
        whole, rest = divmod(n, self.rows)
        return (self.rows,) * whole + ((rest,) if rest else ())

    def best_rows(self) -> int:
        """The batch that costs least a sample; of those nearly as good, the largest."""
        each = {rows: cost / rows for rows, cost in self.costs_us.items()}
        return max((rows for rows, cost in each.items() if cost <= 1.05 * min(each.values())), default=self.rows)

    def group(self, slot: int, sizes: Sizes) -> Group:
        """The slot's own at this size, empty."""
        group = self._groups.get((slot, sizes))
        if group is None:
            group = self._groups[slot, sizes] = Group(self.engines, slot, sizes)
        group.reset()
        return group

    def place(self, item: Item, find: Callable[[Sizes], Seat]) -> Seat | None:
        """Run the host stage on a sample, straight into the row that `find` gives it; where it has gone.

        None: it failed before it had a row. The caller settles the row, by the item's error.
        """
        if self.graded:
            seat = self._place_by_size(item, find)
        else:
            seat = group, row = find(self.alike)
            if self._run_steps(item, group.row(row)):
                self._fill_row(item, group, row)
        if item.made is not None:
            self._trace(item)
        return seat

    def _place_by_size(self, item: Item, find: Callable[[Sizes], Seat]) -> Seat | None:
        out: dict[str, Array] = {}
        seat: Seat | None = None

        def on_gear(step: Step, index: int) -> None:
            nonlocal seat
            item.sizes.update((dim.name, index) for _, _, spec in step.outputs for dim in spec.graded)
            if seat is None and item.sizes.keys() >= self._graded_dims:
                seat = find(self.sizes(item))
                out.update(seat[0].row(seat[1]))

        if not self._run_steps(item, out, on_gear):
            return seat
        if seat is None:
            if not self._sizes_from_values(item):
                return None
            seat = find(self.sizes(item))
        self._fill_row(item, *seat)
        return seat

    def run_host(self, item: Item) -> bool:
        """The host stage on one sample, where no device stage follows; whether it succeeded."""
        done = self._run_steps(item, {})
        if item.made is not None:
            self._trace(item)
        return done

    def _run_steps(self, item: Item, out: Mapping[str, Array], on_gear: Any = None) -> bool:
        item.made = None if self._recorder.trace is None else []  # of this level alone: a trace may end in between
        item.times.append(clock())
        if self.host is not None:
            try:
                item.copied_in += self.host.run(item.values, out, on_gear, item.times, item.made)
            except GepipeError as error:
                item.error = error
                self._recorder.host_failed(self.depth)
                dump = self._recorder.dump
                if dump is not None:
                    dump.sample(item)
                return False
        return True

    def _trace(self, item: Item) -> None:
        trace, made = self._recorder.trace, item.made
        if trace is not None and made is not None:
            trace.host(self.depth, item.number, item.times[-len(made) - 1 :], made, item.error)

    def sizes(self, item: Item) -> Sizes:
        """For each engine, the index of the size that this sample has."""
        return tuple(
            next((item.sizes[name] for name, _ in engine.sizes[0].dims if name in item.sizes), 0)
            for engine in self.engines
        )

    def _sizes_from_values(self, item: Item) -> bool:
        """Which size a sample has whose values are there already; whether it is one of the sizes."""
        for engine in self.engines:
            graded = [(key, spec) for key, spec in engine.stage.graph.inputs if spec.graded]
            fitting = (
                index
                for index in range(len(engine.sizes))
                if all(spec.at_gear(index) == item.values[key].shape for key, spec in graded)
            )
            index = next(fitting, None)
            if index is None:
                found = ", ".join(f"{key} {list(item.values[key].shape)}" for key, _ in graded)
                sizes = ", ".join(map(str, engine.sizes))
                item.error = SampleError(f"no size has {found}", fix=f"give all inputs one of the sizes {sizes}")
                return False
            item.sizes.update((name, index) for name, _ in engine.sizes[index].dims)
        return True

    def _fill_row(self, item: Item, group: Group, row: int) -> None:
        """Copy what the host stage did not write in place: the caller's own arrays, and values of earlier stages."""
        before = item.copied_in
        for buffer in group.inputs:
            for key, target in buffer.rows[row].items():
                value = item.values[key]
                if value is not target and not same_memory(value, target):
                    np.copyto(target, value, casting="no")
                    item.copied_in += target.nbytes
        item.times.append(clock())
        if item.made is not None:
            item.made.append(item.copied_in - before)
