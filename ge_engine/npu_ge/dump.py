"""Dump: what is left behind where dump_data or dump_graph is on, in the folder where the server was started.

Of each run every value as npz, of a graph its ONNX, as it is computed here: with the casts of a precision. GE writes
files of its own form there; `gepipe compare` reads both.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ops import Array

from ..npz import NpzWriter

if TYPE_CHECKING:
    import onnx

DATA, GRAPHS = Path("dump_data"), Path("dump_graph")


class Dump:
    """Of one instance. graph: with its weights; without one, inputs and outputs are all that is dumped."""

    def __init__(self, model: str, graph: onnx.ModelProto | None, threads: int, folder: Path = DATA) -> None:
        self._folder = folder.resolve()
        self._model = usable(model)
        self._graph = graph
        self._threads = threads
        self._numbers = itertools.count(1)
        self._over = False

    def run(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """Write MODEL_PROCESS_NUMBER.npz. What goes wrong ends the dump, and not the request."""
        if self._over:
            return
        file = f"{self._model}_{os.getpid()}_{next(self._numbers):06}.npz"
        try:
            with NpzWriter(self._folder / file) as npz:
                for name, array in (*inputs.items(), *outputs.items()):
                    npz.add(name, array)
                for name, array in self._inner(inputs, outputs):
                    npz.add(name, array)
        except Exception as error:  # a disk, a value that numpy cannot write, a layer that cannot be run alone
            self._over = True
            print(f"npu_ge stand-in: {self._model} is dumped no more: {error}", file=sys.stderr, flush=True)

    def _inner(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Iterator[tuple[str, Any]]:
        """What is inside the graph, computed once more, as its own run does not tell."""
        if self._graph is None:
            return
        from ..layers import layer_outputs  # needs onnx

        for name, _, array in layer_outputs(self._graph, inputs, threads=self._threads):
            if name not in inputs and name not in outputs:
                yield name, len(array) if isinstance(array, list) else array


def read_whole(path: Path) -> onnx.ModelProto:
    """A model with its weights. Errors: ModelError; ImportError where onnx is not installed."""
    from .. import weights
    from ..skeleton import read_loosely, tensors

    model = read_loosely(str(path))
    for tensor in filter(weights.is_heavy, tensors(model.graph)):
        weights.load(tensor)
    return model


def dump_graph(model: str, path: Path, folder: Path = GRAPHS) -> None:
    """Write MODEL.onnx: a model's file without its weights, which GE leaves out, too.

    Errors: ModelError; OSError; ImportError where onnx is not installed.
    """
    from ..skeleton import read_loosely
    from ..weights import detach

    graph = read_loosely(str(path))
    detach(graph)
    root = folder.resolve()  # a link may lead to where it is to be
    root.mkdir(parents=True, exist_ok=True)
    fresh = root / f".{usable(model)}.{os.getpid()}"
    fresh.write_bytes(graph.SerializeToString())
    os.replace(fresh, root / f"{usable(model)}.onnx")


def usable(name: str) -> str:
    """A name as that of a file."""
    return re.sub(r"[^\w.-]", "_", name)
