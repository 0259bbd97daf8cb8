"""The .om file of the simulators: what atc_sim writes and acl_sim loads. ONNX inside, and its options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

MAGIC = b"IMOD-simulated\n"
Dims = tuple[int, ...]


@dataclass(frozen=True)
class Port:
    """An input or output. shapes: in each gear; one where there are no gears."""

    name: str
    dtype: str
    shapes: tuple[Dims, ...]


@dataclass(frozen=True)
class Om:
    """kind: "static", "batch", "hw" or "dims". gears: the values that each gives the open dims, in order of inputs.

    places: of each input, which of its dims are open.
    """

    name: str
    soc: str
    cann: str
    kind: str
    gears: tuple[Dims, ...]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    options: Mapping[str, str]
    format: str
    onnx: bytes = b""

    @property
    def places(self) -> list[list[int]]:
        return [[axis for axis in range(len(port.shapes[0])) if self._open(port, axis)] for port in self.inputs]

    def _open(self, port: Port, axis: int) -> bool:
        return len({shape[axis] for shape in port.shapes}) > 1

    def volume(self, gear: int) -> int:
        return sum(_count(port.shapes[gear]) for port in self.inputs)

    @property
    def largest(self) -> int:
        return max(range(len(self.inputs[0].shapes)), key=self.volume)

    def write(self, path: Path) -> None:
        header = asdict(self)
        del header["onnx"]
        text = json.dumps(header).encode()
        path.write_bytes(b"".join((MAGIC, len(text).to_bytes(8, "little"), text, self.onnx)))


def read(path: str) -> Om | None:
    """None for anything else than a file of atc_sim."""
    return parse(Path(path).read_bytes())


def parse(content: bytes) -> Om | None:
    if not content.startswith(MAGIC):
        return None
    start = len(MAGIC) + 8
    end = start + int.from_bytes(content[len(MAGIC) : start], "little")
    header = json.loads(content[start:end])
    return Om(
        **{
            **header,
            "gears": _tuples(header["gears"]),
            "inputs": tuple(_port(port) for port in header["inputs"]),
            "outputs": tuple(_port(port) for port in header["outputs"]),
        },
        onnx=content[end:],
    )


def _port(port: Mapping[str, object]) -> Port:
    shapes = port["shapes"]
    assert isinstance(shapes, list)
    return Port(str(port["name"]), str(port["dtype"]), _tuples(shapes))


def _tuples(rows: Sequence[Sequence[int]]) -> tuple[Dims, ...]:
    return tuple(tuple(row) for row in rows)


def _count(shape: Dims) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total
