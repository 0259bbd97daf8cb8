"""Program: the graph of a model, run on arrays where they lie, its answers in memory that is used again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ops import Array

from ..openvino_runtime import OpenVinoGraph
from ..runtime import OrtGraph
from .dump import Dump
from .room import Room
from .setup import Setup

Arrays = Mapping[str, Array]  # by tensor name


class Program:
    """A loaded model. One run at a time; the outputs of a run are good until the next."""

    def __init__(self, graph: OrtGraph | OpenVinoGraph, setup: Setup, dump: Dump | None = None) -> None:
        self.setup = setup
        self.ports = setup.known.model
        self._graph = graph
        self._room = Room()
        self._dump = dump

    def run(self, inputs: Arrays) -> dict[str, Array]:
        """The outputs, by name, in whole shapes as the inputs are: the batch first. Inputs are C-contiguous.

        Errors: SpecError for shapes that are no gear, or that the outputs' sizes do not fit; DeviceError.
        """
        shapes = [inputs[port.name].shape for port in self.ports.inputs]
        if not self.setup.known.row_by_row:
            return self._run(inputs, self._outputs(shapes))
        outputs = self._outputs(shapes)
        for row in range(shapes[0][0]):
            part = slice(row, row + 1)
            self._run(_part(inputs, part), _part(outputs, part))
        return outputs

    def _outputs(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, Array]:
        sizes = self.setup.output_shapes(shapes)
        return {
            port.name: self._room.of(port.name, port.dtype, shape) for port, shape in zip(self.ports.outputs, sizes)
        }

    def _run(self, inputs: Arrays, outputs: dict[str, Array]) -> dict[str, Array]:
        self._graph.bound(inputs, outputs)()
        if self._dump is not None:
            self._dump.run(inputs, outputs)
        return outputs


def _part(arrays: Arrays, rows: slice) -> dict[str, Array]:
    return {name: array[rows] for name, array in arrays.items()}
