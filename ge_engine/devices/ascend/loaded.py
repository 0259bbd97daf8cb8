"""Loaded: one .om on one queue of a card, and the data sets through which a lane runs it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ops import DeviceError, TensorSpec

from ...buffer import tensor_nbytes
from ...gears import Gear
from ...stage import StaticGraph
from .card import Card, Owned

GEAR_INPUT = "ascend_mbatch_shape_data"
_DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "uint16": 7,
    "uint32": 8,
    "int64": 9,
    "uint64": 10,
    "float64": 11,
    "bool": 12,
    "bfloat16": 27,
}
_ROUNDED = 4096  # bytes: what a model may take beyond what is in a tensor, and more would be another tensor
Named = Sequence[tuple[str, TensorSpec]]


class Bound(NamedTuple):
    """A lane's data sets for a model: the tensors at their places in the lane's own memory."""

    inputs: int
    outputs: int


class Loaded:
    """A model of a stage in the memory of a card, checked against what the stage says.

    graphs: the gears that the file runs. inputs: the stage's, by what they are called in the file.
    Errors: DeviceError, also where the file is not of this stage.
    """

    def __init__(
        self, card: Card, part: Owned, graphs: Mapping[Gear, StaticGraph], inputs: Named, outputs: Named
    ) -> None:
        self._library = card.library
        self._graphs = graphs
        self._inputs = dict(inputs)
        self._outputs = outputs
        self._seen: set[Gear] = set()
        path = next(iter(graphs.values())).path
        try:
            self.model: int = part.get("mdl.load_from_file", path, undo="mdl.unload")
            self._desc: int = part.make("mdl.create_desc", undo="mdl.destroy_desc")
            self._library.do("mdl.get_desc", self._desc, self.model)
            self._read()
        except DeviceError as error:
            raise error.at(f"{path} on {card.name}")  # noqa: B904

    def _read(self) -> None:
        value = self._library.value
        count = value("mdl.get_num_inputs", self._desc)
        names = [str(value("mdl.get_input_name_by_index", self._desc, index)) for index in range(count)]
        self._gear_index = names.index(GEAR_INPUT) if GEAR_INPUT in names else None
        unknown = [name for name in names if name not in self._inputs and name != GEAR_INPUT]
        if unknown:
            raise _other(f"inputs {', '.join(unknown)}", f"{', '.join(self._inputs)}")
        if (self._gear_index is not None) != (len(self._graphs) > 1):
            raise _other(f"{'' if self._gear_index is not None else 'no '}gears", f"{len(self._graphs)}")
        found = value("mdl.get_num_outputs", self._desc)
        if found != len(self._outputs):
            raise _other(f"{found} outputs", f"{len(self._outputs)}")
        self._names = names
        self.in_sizes = [value("mdl.get_input_size_by_index", self._desc, index) for index in range(count)]
        self.out_sizes = [value("mdl.get_output_size_by_index", self._desc, index) for index in range(found)]
        for index, name in enumerate(names):
            if name == GEAR_INPUT:
                if not self.in_sizes[index]:
                    raise _other("gears of 0 bytes", "more")
            else:
                self._check(name, self._inputs[name], "input", index, self.in_sizes[index])
        for index, (name, spec) in enumerate(self._outputs):
            self._check(name, spec, "output", index, self.out_sizes[index])

    def _check(self, name: str, spec: TensorSpec, side: str, index: int, size: int) -> None:
        dtype = self._library.value(f"mdl.get_{side}_data_type", self._desc, index)
        if dtype != _DTYPES[spec.dtype]:
            known = next((word for word, number in _DTYPES.items() if number == dtype), f"type {dtype}")
            raise _other(f"{side} '{name}' as {known}", spec.dtype)
        most = max(tensor_nbytes(spec, gear) for gear in self._graphs)
        if not most <= size <= 2 * most + _ROUNDED:
            raise _other(f"{side} '{name}' of {size:,} bytes", f"{most:,}")

    @property
    def gear_nbytes(self) -> int:
        """The bytes of the input that says the gear; 0 where there is none."""
        return 0 if self._gear_index is None else int(self.in_sizes[self._gear_index])

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes that it takes for each tensor, by what the file calls an input, and the stage an output."""
        names = (*self._names, *(name for name, _ in self._outputs))
        return dict(zip(names, (*self.in_sizes, *self.out_sizes)))

    def bind(self, part: Owned, inputs: Mapping[str, int], outputs: Mapping[str, int], gear_input: int) -> Bound:
        """Data sets of these addresses, by name. Errors: DeviceError."""
        addresses = [gear_input if name == GEAR_INPUT else inputs[name] for name in self._names]
        return Bound(
            self._data_set(part, addresses, self.in_sizes),
            self._data_set(part, [outputs[name] for name, _ in self._outputs], self.out_sizes),
        )

    def _data_set(self, part: Owned, addresses: Sequence[int], sizes: Sequence[int]) -> int:
        data_set: int = part.make("mdl.create_dataset", undo="mdl.destroy_dataset")
        for address, size in zip(addresses, sizes):
            buffer = part.make("create_data_buffer", address, size, undo="destroy_data_buffer")
            self._library.get("mdl.add_dataset_buffer", data_set, buffer)
        return data_set

    def enqueue(self, bound: Bound, gear: Gear, stream: int) -> None:
        """Run a gear. Nobody else may enqueue this model meanwhile: the gear is a state of it. Errors: DeviceError."""
        if self._gear_index is not None:
            if gear.dims:
                dims = self._all_dims(gear)
                entry: dict[str, Any] = {"name": "", "dimCount": len(dims), "dims": dims}
                self._library.do("mdl.set_input_dynamic_dims", self.model, bound.inputs, self._gear_index, entry)
            else:
                self._library.do("mdl.set_dynamic_batch_size", self.model, bound.inputs, self._gear_index, gear.batch)
        self._library.do("mdl.execute_async", self.model, bound.inputs, bound.outputs, stream)
        if gear not in self._seen:
            self._check_outputs(gear)
            self._seen.add(gear)

    def _all_dims(self, gear: Gear) -> list[int]:
        return [size for name in self._names if name != GEAR_INPUT for size in gear.shape(self._inputs[name])]

    def _check_outputs(self, gear: Gear) -> None:
        """What the model says of its outputs in this gear, the first time that it runs: that the bytes are as many."""
        for index, (name, spec) in enumerate(self._outputs):
            dims = self._library.get("mdl.get_cur_output_dims", self._desc, index)["dims"]
            if math.prod(dims) != math.prod(gear.shape(spec)):
                raise _other(f"output '{name}' {list(dims)} in gear {gear}", f"{list(gear.shape(spec))}")


def _other(found: str, wanted: str) -> DeviceError:
    return DeviceError(
        f"the compiled model has {found}, the stage {wanted}",
        fix="gepipe cache clear, then open the session again; if that does not help, report it",
    )
