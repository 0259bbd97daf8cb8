"""Reading: what OpenVINO says of a frozen graph. It reads a large one in half a minute, so its words are kept.

They are kept with the compile cache, by the content of the file: a process that starts again need not read the graph to
know the specs of its outputs, and what it runs has been built.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from ops import BuildError

from .. import openvino_runtime
from ..openvino_runtime import Port
from ..whole_file import write_whole
from .graph_def import GraphDef
from .rewrite import Output, write_graph

Shapes = Mapping[str, tuple[int, ...]]


class Reading:
    """values: those of the graph that are asked for; OpenVINO gives some of the others names of its own."""

    def __init__(self, source: GraphDef, values: Sequence[str]) -> None:
        self.source = source
        self.values = tuple(values)
        self._note = self._place()
        self._known: dict[str, Any] = _read(self._note) if self._note else {}

    @cached_property
    def network(self) -> Any:
        """The graph, read. Its outputs are called output0, output1 and so on. Errors: ModelError."""
        outputs = [Output(name, value) for name, value in self.named()]
        with tempfile.TemporaryDirectory(prefix="gepipe") as folder:
            file = Path(folder, "graph.pb")
            write_graph(self.source, {}, outputs, file)
            return openvino_runtime.read(file, original=self.source.path)

    def named(self) -> list[tuple[str, str]]:
        """For each value, what the network calls it."""
        return [(f"output{index}", value) for index, value in enumerate(self.values)]

    def outputs(self, shapes: Shapes | None = None) -> list[Port]:
        """The outputs as the graph has them, or for these shapes of its inputs.

        Errors: ModelError where the graph cannot be read, or does not take them.
        """
        asked = json.dumps(shapes, sort_keys=True)
        if asked not in self._known:
            network = self.network if shapes is None else openvino_runtime.reshaped(self.network, shapes)
            found = openvino_runtime.ports(network.outputs)
            self._known[asked] = [found[name]._replace(name=value) for name, value in self.named()]
            if self._note:
                with suppress(OSError):
                    self._note.parent.mkdir(parents=True, exist_ok=True)
                    write_whole(self._note, json.dumps(self._known))
        return [Port(name, dtype, None if shape is None else tuple(shape)) for name, dtype, shape in self._known[asked]]

    def _place(self) -> Path | None:
        """None where nothing is to be kept, or can be."""
        from ..cache import Cache  # it stands on models, and so on this

        try:
            cache = Cache.of_environment()
            if cache is None:
                return None
            about = [cache.digests().of(self.source.path), self.values, openvino_runtime.version()]
            return cache.readings / f"{hashlib.sha256(json.dumps(about).encode()).hexdigest()}.json"
        except (BuildError, OSError):  # who builds says so
            return None


def _read(note: Path) -> dict[str, Any]:
    try:
        known = json.loads(note.read_bytes())
        sound = all(isinstance(dtype, str) for ports in known.values() for _, dtype, _ in ports)
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return known if sound else {}
