"""Inside: an ONNX file opened to be dumped: its graph, and every value that a run makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ops import Array

from . import weights
from .layers import layer_outputs
from .skeleton import read_loosely, tensors
from .whole_file import write_whole


class Inside:
    """A model, with its weights: the file may go. Errors: ModelError."""

    def __init__(self, path: Path, threads: int) -> None:
        self._model = read_loosely(str(path))
        self._threads = threads
        for tensor in filter(weights.is_heavy, tensors(self._model.graph)):
            weights.load(tensor)

    def values(self, inputs: Mapping[str, Array]) -> Iterator[tuple[str, Any]]:
        """What its nodes make of these inputs, in order; of a sequence how long it is. Errors: ModelError."""
        for name, _, value in layer_outputs(self._model, inputs, threads=self._threads):
            yield name, len(value) if isinstance(value, list) else value


def write_graph(path: Path, target: Path) -> None:
    """Write the graph of an ONNX file; heavy weights, which GE leaves out of its dumps, too, are inputs there.

    Errors: ModelError; OSError.
    """
    graph = read_loosely(str(path))
    weights.detach(graph)
    write_whole(target, graph.SerializeToString())
