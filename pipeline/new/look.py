"""Look: what a model takes and gives, one sample of each, and the sizes that had to be guessed for that."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Union

from ge_engine.inspect.layout import layout_of
from ge_engine.model import Model
from ge_engine.shapes import shape_of
from ops import SpecError, TensorSpec
from ops.spec import canonical_dtype

_SIDES = (224, 640, 256, 320, 512, 299)  # of a square, where the file leaves it open
_LINES = ((48, 320), (32, 320), (32, 100))  # height and width of a line of text
_LENGTHS = (128, 64, 32, 16, 512, 8, 1)
_PICTURE = {"NCHW": (0, 1, 2), "NHWC": (2, 0, 1)}  # where a sample has channels, height and width

Size = tuple[int, int]


@dataclass(frozen=True)
class Entry:
    """An input. dims: of a sample, as the file has them, "" or a name where it varies. spec: with those guessed."""

    name: str
    dims: tuple[Union[int, str], ...]
    layout: str
    spec: TensorSpec

    @property
    def picture(self) -> tuple[int, int, int] | None:
        """Channels, height and width, if that is what it holds."""
        if self.layout not in _PICTURE or self.spec.rank != 3:
            return None
        channels, height, width = (self.spec.at_gear(0)[axis] for axis in _PICTURE[self.layout])
        return (channels, height, width) if channels in (1, 3) else None

    @property
    def open_axes(self) -> tuple[int, ...]:
        return tuple(axis for axis, dim in enumerate(self.dims) if not isinstance(dim, int))

    @property
    def is_ids(self) -> bool:
        return self.spec.dtype in ("int32", "int64") and self.spec.rank == 1


@dataclass(frozen=True)
class Look:
    """A model with its inputs, and its outputs at the sizes that the inputs have. size: what its metadata says."""

    model: Model
    inputs: tuple[Entry, ...]
    outputs: tuple[tuple[str, TensorSpec], ...]
    size: Size | None

    @property
    def picture(self) -> Entry | None:
        """The input, if there is one, and that a picture."""
        return self.inputs[0] if len(self.inputs) == 1 and self.inputs[0].picture else None


def look(path: str, side: int | None = None) -> Look:
    """side: of a square picture, where the file says nothing.

    Errors: ModelError for a file that cannot be used; SpecError for a model that takes none of the sizes tried.
    """
    model = Model(path)
    graph = model.skeleton.model.graph
    size = _size(model.skeleton.metadata)
    ports = []
    for value in graph.input:
        shape = shape_of(value)
        if not shape:
            what = "is a scalar" if shape is not None else "declares no shape, not even how many axes it has"
            fix = "export the model with the batch as the first axis of every input"
            raise SpecError(f"model '{model.model_name}': input {value.name!r} {what}", fix=fix)
        dims = tuple(dim if isinstance(dim, int) and dim > 0 else str(dim or "") for dim in shape)
        dtype = canonical_dtype(value.type.tensor_type.elem_type)
        ports.append((value.name, dtype, dims[1:], layout_of(value.name, dtype, dims, graph)))
    first: SpecError | None = None
    tried: list[list[TensorSpec]] = []
    for picture, length in _trials(size, side):
        filled = [_filled(dims, layout, picture, length) for _, _, dims, layout in ports]
        specs = [_spec(model, name, dtype, sample) for (name, dtype, _, _), sample in zip(ports, filled)]
        if specs in tried:
            continue
        tried.append(specs)
        try:
            outputs = model.infer(*specs)
        except SpecError as error:
            first = first or error
            continue
        inputs = (Entry(name, dims, layout, spec) for (name, _, dims, layout), spec in zip(ports, specs))
        return Look(model, tuple(inputs), tuple(zip(model.output_names, outputs)), size)
    assert first is not None
    raise first


def _spec(model: Model, name: str, dtype: str, sample: tuple[int, ...]) -> TensorSpec:
    """Errors: SpecError, with the input's name."""
    if not sample and dtype != "bytes":
        raise SpecError(
            f"model '{model.model_name}': input {name!r} is one number a sample, and a sample has no scalars",
            fix="export it as [batch, 1]",
        )
    try:
        return TensorSpec(dtype, sample)
    except SpecError as error:
        raise error.at(f"model '{model.model_name}', input {name!r}")  # noqa: B904  # the very same error, placed


def _trials(size: Size | None, side: int | None) -> Iterator[tuple[Size, int]]:
    sides = (side, *_SIDES) if side else _SIDES
    pictures = [*([size] if size else []), *((one, one) for one in sides), *_LINES]
    return ((picture, length) for length, picture in itertools.product(_LENGTHS, pictures))


def _filled(dims: Sequence[int | str], layout: str, picture: Size, length: int) -> tuple[int, ...]:
    places = dict(zip(_PICTURE[layout], (3, *picture))) if layout in _PICTURE and len(dims) == 3 else {}
    return tuple(dim if isinstance(dim, int) else places.get(axis, length) for axis, dim in enumerate(dims))


def _size(metadata: Mapping[str, str]) -> Size | None:
    """`imgsz`, as Ultralytics writes it: [height, width]."""
    try:
        size = ast.literal_eval(metadata.get("imgsz", "")[:40])
    except (ValueError, SyntaxError):
        return None
    sound = isinstance(size, list) and len(size) == 2 and all(isinstance(side, int) and side > 0 for side in size)
    return (size[0], size[1]) if sound else None
