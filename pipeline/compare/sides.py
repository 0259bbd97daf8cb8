"""Sides: where the values of a graph come from: the graph run here, or files that another device wrote."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx

from ge_engine.layers import CHUNK, layer_outputs
from ops import Array, WrongUse

from ..arrays import array_in, names_in

Feeds = Mapping[str, Array]
Place = tuple[str, int]  # a node, and which of its outputs


class Side(Protocol):
    """Something that knows values by the names of their tensors."""

    @property
    def name(self) -> str: ...

    def known(self, places: Mapping[str, Place]) -> set[str]:
        """Which of these tensors (each with the place where it is made) it has values for."""

    def values(self, feeds: Feeds, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        """The values of those tensors for one run, in the side's own order."""


@dataclass(frozen=True)
class GraphSide:
    """A graph, run on the CPU in slices.

    called: by its own name of a tensor, or of an input, the one that the comparison uses. chunk: nodes of a slice.
    """

    name: str
    graph: onnx.ModelProto
    called: Mapping[str, str] = field(default_factory=dict)
    chunk: int = CHUNK

    def known(self, places: Mapping[str, Place]) -> set[str]:
        made = {self.called.get(name, name) for node in self.graph.graph.node for name in node.output if name}
        return made & places.keys()

    def values(self, feeds: Feeds, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        own = {self.called.get(name, name): name for node in self.graph.graph.node for name in node.output if name}
        inputs = {value.name: feeds[self.called.get(value.name, value.name)] for value in self._inputs(feeds)}
        wanted = [own[name] for name in names]
        for value in layer_outputs(self.graph, inputs, wanted, chunk=self.chunk):
            yield self.called.get(value.name, value.name), value.array

    def _inputs(self, feeds: Feeds) -> list[onnx.ValueInfoProto]:
        return [value for value in self.graph.graph.input if self.called.get(value.name, value.name) in feeds]


@dataclass(frozen=True)
class HeldSide:
    """Values that are there already. runs: by the id of what was fed."""

    name: str
    runs: Mapping[int, Mapping[str, Any]]

    def known(self, places: Mapping[str, Place]) -> set[str]:
        return {name for values in self.runs.values() for name in values} & places.keys()

    def values(self, feeds: Feeds, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        held = self.runs[id(feeds)]
        return iter([(name, held[name]) for name in names])


_DUMPED = re.compile(r"[^.]+\.(?P<node>.+?)(\.\d+){1,4}\.output\.(?P<slot>\d+)(\.[A-Za-z]\w*)*")
_FROM_ONNX = re.compile(r"(?P<node>.+?)\.(?P<slot>\d+)\.\d{9,}")
NUMBERS = "biuf"  # kinds of dtype that can be compared
_FORMS = (".npy", ".npz", ".bin")


class Raw:
    """A file of bytes, which does not say their dtype and shape."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nbytes = path.stat().st_size


class DumpSide:
    """A folder of tensors: .npy and .bin by the tensor's name, .npz with tensors by name, or the files that a dump of
    GE is parsed to (`Type.node.task.stream.time.output.0.npy`) and Ascend's tools write of ONNX (`node.0.time.npy`).

    Names are told apart by their letters and digits alone: a dump writes `_` for all else. Of several files for one
    tensor the last by name counts.
    Errors: WrongUse for a folder with none.
    """

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._files: dict[str, tuple[Path, str]] = {}  # the file, and the name in a .npz
        self._found: dict[str, str] = {}  # by tensor, the key of its file
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _FORMS and path.is_file()):
            self._files.update(_keys(path))
        if not self._files:
            raise WrongUse(f"there is no {', '.join(_FORMS)} in {folder}", fix="name the folder of dumped tensors")

    def known(self, places: Mapping[str, Place]) -> set[str]:
        for tensor, (node, slot) in places.items():
            keys = (_plain(tensor), f"{_plain(node)} {slot}", *([_plain(node)] if slot == 0 else []))
            found = next((key for key in keys if key in self._files), None)
            if found is not None:
                self._found[tensor] = found
        return set(self._found)

    def values(self, feeds: Feeds, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        for name in names:
            path, inner = self._files[self._found[name]]
            yield name, Raw(path) if path.suffix == ".bin" else array_in(path, inner)

    def strangers(self) -> list[str]:
        """Files that belong to no tensor: fused away, or of another model."""
        taken = set(self._found.values())
        return sorted({str(path) for key, (path, _) in self._files.items() if key not in taken})


def _keys(path: Path) -> Iterator[tuple[str, tuple[Path, str]]]:
    if path.suffix == ".npz":
        yield from ((_plain(name), (path, name)) for name in names_in(path))
        return
    match = _DUMPED.fullmatch(path.stem) or _FROM_ONNX.fullmatch(path.stem)
    key = f"{_plain(match['node'])} {int(match['slot'])}" if match else _plain(path.stem)
    yield key, (path, "")


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def fitted(value: Any, like: Array) -> Array | str:
    """A value in the shape of another; why it has none."""
    if isinstance(value, Raw):
        dtypes = {like.dtype.itemsize: like.dtype, 2: np.dtype(np.float16), 4: np.dtype(np.float32)}
        each = value.nbytes / max(1, like.size)
        dtype = like.dtype if each == like.dtype.itemsize else dtypes.get(int(each)) if each in (2, 4) else None
        if dtype is None:
            return f"{value.nbytes} bytes are no {like.dtype}{list(like.shape)}"
        value = np.fromfile(value.path, dtype)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in NUMBERS:
        return f"it is {value.dtype if isinstance(value, np.ndarray) else type(value).__name__}, no numbers"
    array: Array = value
    if array.size != like.size:
        return f"its shape is {list(array.shape)}, not {list(like.shape)}"
    shaped: Array = array.reshape(like.shape)
    return shaped
