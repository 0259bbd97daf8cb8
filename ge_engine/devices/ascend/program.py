"""Program: one stage on cards, with a model a queue, memory of the card a lane, and pinned buffers a slot."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ops import DeviceError

from ...buffer import Buffer, extent, place, room
from ...gears import Gear
from ...stage import BuiltStage
from ..base import Stream
from .card import Owned
from .fits import check_fits
from .lane import Lane, Work
from .loaded import Bound, Loaded
from .memory import D2H, H2D, Spans, pinned, spans
from .queue import Queue

if TYPE_CHECKING:
    from ...om import Compiled

Dims = tuple[tuple[str, int], ...]


class Seat(NamedTuple):
    """A stage's memory on a lane: blocks for inputs and outputs at the largest gear, bound to each of its models."""

    inputs: int
    outputs: int
    bound: Mapping[str, Bound]


class Host(NamedTuple):
    """A slot's pinned buffers, and their addresses."""

    inputs: Buffer
    outputs: Buffer
    in_address: int
    out_address: int


class AscendProgram:
    """A stage, loaded on every queue. A slot's buffers are pinned when it is first used.

    files: what the stage was compiled to; held as long as the program is open.
    Errors: DeviceError; then nothing of it is left.
    """

    def __init__(
        self,
        stage: BuiltStage,
        files: Compiled,
        lanes: Sequence[Lane],
        slots: int,
        rows: int,
        troubles: Callable[[list[DeviceError]], None],
    ) -> None:
        self._graphs = files.graphs
        self._stage = stage.graph
        self._file_names = files.names
        self._let_go = weakref.finalize(self, files.let_go)
        self._slots = slots
        self._rows = rows
        self._troubles = troubles
        self._full = tuple(gear.with_batch(rows) for gear in stage.gears)
        self._lay_out({})
        self._cards = list({lane.card.number: lane.card for lane in lanes}.values())
        self._parts: list[Owned] = [card.part() for card in self._cards]
        self._part_of = dict(zip((card.number for card in self._cards), self._parts))
        self._models: dict[tuple[Queue, str], Loaded] = {}
        self._seats: dict[Lane, Seat] = {}
        self._hosts: dict[tuple[int, Dims], Host] = {}
        self._closed = False
        try:
            for card in self._cards:
                own = [lane for lane in lanes if lane.card is card]
                streams = len({lane.queue for lane in own})
                check_fits(card, stage.graph.name, self._paths(), streams, len(own), self._in_extent + self._out_extent)
            self._load(lanes)
            for lane in lanes:
                self._seats[lane] = self._seat(lane)
        except BaseException:
            self.close()
            raise

    def inputs(self, slot: int, gear: Gear) -> Buffer:
        return self._host(slot, gear).inputs

    def outputs(self, slot: int, gear: Gear) -> Buffer:
        return self._host(slot, gear).outputs

    def enqueue(self, slot: int, gear: Gear, stream: Stream) -> None:
        assert isinstance(stream, Lane)
        graph = self._graphs.get(gear)
        if graph is None:
            raise DeviceError(f"{gear} is not a gear", fix=f"run one of {', '.join(map(str, self._graphs))}")
        host, seat = self._host(slot, gear), self._seats[stream]
        loaded, bound = self._models[stream.queue, graph.path], seat.bound[graph.path]
        ins, outs = self._spans[gear]
        copy, copies = stream.card.library.do, "rt.memcpy_async"

        def copy_in(on: int) -> None:
            for offset, n in ins:
                copy(copies, seat.inputs + offset, n, host.in_address + offset, n, H2D, on)

        def compute(on: int) -> None:
            loaded.enqueue(bound, gear, on)

        def copy_out(on: int) -> None:
            for offset, n in outs:
                copy(copies, host.out_address + offset, n, seat.outputs + offset, n, D2H, on)

        stream.enqueue(Work(f"stage '{self._stage.name}', gear {gear}", copy_in, compute, copy_out))

    def close(self) -> None:
        """Give everything back; what the card refuses to take is told when the device is closed."""
        if self._closed:
            return
        self._closed = True
        self._seats.clear()
        self._models.clear()
        self._hosts.clear()
        for card, part in zip(self._cards, self._parts):
            self._troubles(card.end(part))
        self._let_go()

    def _load(self, lanes: Sequence[Lane]) -> None:
        """The models, onto each queue; and room for what they take of each tensor, which may be rounded up."""
        sizes: dict[str, int] = {}
        for lane in lanes:
            with lane.card.current():
                for path in self._paths():
                    for name, size in self._model(lane.queue, path, self._part_of[lane.card.number]).sizes.items():
                        sizes[name] = max(size, sizes.get(name, 0))
        self._lay_out({key: sizes[name] for key, name in self._file_names.items() if name in sizes} | sizes)

    def _lay_out(self, least: Mapping[str, int]) -> None:
        """Where each tensor is in the blocks, on the card and on the host."""
        inputs, outputs = self._stage.inputs, self._stage.outputs
        self._in_places, self._out_places = place(inputs, self._full, least), place(outputs, self._full, least)
        self._in_extent = extent(inputs, self._full, self._in_places, least)
        self._out_extent = extent(outputs, self._full, self._out_places, least)
        self._spans: dict[Gear, tuple[Spans, Spans]] = {
            gear: (spans(inputs, gear, self._in_places), spans(outputs, gear, self._out_places))
            for gear in self._graphs
        }

    def _seat(self, lane: Lane) -> Seat:
        part = self._part_of[lane.card.number]
        with lane.card.current():
            models = {path: self._model(lane.queue, path, part) for path in self._paths()}
            gear_inputs, nbytes = {}, self._in_extent
            for path, loaded in models.items():
                gear_inputs[path] = nbytes
                nbytes += room(loaded.gear_nbytes)
            inputs = lane.card.malloc(part, nbytes)
            outputs = lane.card.malloc(part, self._out_extent)
            ins = {self._file_names[key]: inputs + offset for key, offset in self._in_places.items()}
            outs = {key: outputs + offset for key, offset in self._out_places.items()}
            bound = {path: loaded.bind(part, ins, outs, inputs + gear_inputs[path]) for path, loaded in models.items()}
        return Seat(inputs, outputs, bound)

    def _paths(self) -> list[str]:
        return list(dict.fromkeys(graph.path for graph in self._graphs.values()))

    def _model(self, queue: Queue, path: str, part: Owned) -> Loaded:
        loaded = self._models.get((queue, path))
        if loaded is None:
            graphs = {gear: graph for gear, graph in self._graphs.items() if graph.path == path}
            inputs = [(self._file_names[key], spec) for key, spec in self._stage.inputs]
            loaded = Loaded(queue.card, part, graphs, inputs, self._stage.outputs)
            self._models[queue, path] = loaded
        return loaded

    def _host(self, slot: int, gear: Gear) -> Host:
        host = self._hosts.get((slot, gear.dims))
        if host is None:
            assert slot < self._slots, (slot, self._slots)
            card, full = self._cards[0], gear.with_batch(self._rows)
            middle = extent(self._stage.inputs, (full,), self._in_places)
            with card.current():
                block = pinned(card, self._parts[0], middle + extent(self._stage.outputs, (full,), self._out_places))
            inputs = Buffer(self._stage.inputs, full, lambda nbytes: block[:middle], self._in_places)
            outputs = Buffer(self._stage.outputs, full, lambda nbytes: block[middle:], self._out_places)
            host = Host(inputs, outputs, inputs.block.ctypes.data, outputs.block.ctypes.data)
            self._hosts[slot, gear.dims] = host
        return host
