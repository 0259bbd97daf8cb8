"""Facts: all that is found out about a model before anything is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import onnx

from ops import ModelError, SpecError
from ops.near import near

from ..gears import Gear
from ..model_file import FROZEN
from ..shapes import Shape
from ..skeleton import read_loosely, read_skeleton, read_unchecked
from .axis_names import Sizes, is_batch, place, proposed, shape_at
from .file_facts import FileFacts, Port, file_facts
from .free_axes import Axes, free_axes
from .frozen_facts import frozen_facts
from .gear_facts import GearFacts, gear_facts


@dataclass(frozen=True)
class Facts:
    """What a file says, and what each gear's graph is.

    error: why ONNX Runtime, or we, cannot use it as it is; unsized: variable axes whose sizes nobody gave, without
    which there are no gears. free: declared sizes that the graph does not need. model: without its weights; None where
    it cannot be read that far, or the file is no ONNX.
    """

    file: FileFacts
    error: ModelError | None
    gears: tuple[GearFacts, ...] = ()
    unsized: tuple[str, ...] = ()
    free: Axes = field(default_factory=dict)
    model: onnx.ModelProto | None = field(default=None, repr=False, compare=False)

    @property
    def weights(self) -> int:
        return self.file.weights

    @property
    def folds(self) -> Mapping[str, int]:
        """How many nodes of each type static shapes make constant, in the first gear."""
        return next((gear.folds for gear in self.gears if not gear.error), {})

    def by_place(self, sizes: Sequence[Sizes]) -> tuple[Sizes, ...]:
        """These sizes by the places of their axes: a mended copy may have other names, or none that varies."""
        found = []
        for size in sizes:
            shapes = {port.name: shape_at(port, 1, size, self.free.get(port.name, ()))[0] for port in self.file.inputs}
            found.append(
                {
                    place(port, axis): dim
                    for port in self.file.inputs
                    for axis, dim in enumerate(shapes[port.name])
                    if isinstance(dim, int) and not is_batch(port, axis)
                }
            )
        return tuple(found)

    def memory(self, streams: int) -> int | None:
        """Bytes on a card, served by npu_ge: of more than one gear each stream has its own weights.

        None where a peak is not known, or there is no gear.
        """
        peaks = [gear.peak for gear in self.gears if not gear.error]
        if not peaks or any(peak is None for peak in peaks):
            return None
        copies = streams if len(peaks) > 1 else 1
        return copies * self.weights + streams * max(peak or 0 for peak in peaks)


def facts_of(path: str, batches: Sequence[int] | None = None, sizes: Sequence[Sizes] = ()) -> Facts:
    """The facts of an ONNX file, or as many as there are of a frozen TensorFlow graph; its weights are not read.

    batches: the gears; by default 1, or the batch that the file fixes. sizes: for each H x W (or length) gear, the
    sizes of the other variable axes, by their names, or as "x.2" by input and axis.
    Errors: ModelError for a file that is missing or no ONNX at all; SpecError for sizes of axes that are not there.
    """
    if path.endswith(FROZEN):
        return Facts(frozen_facts(path), None)
    file = file_facts(path, read_unchecked(path))
    error = None
    try:
        model = read_skeleton(path).model
    except ModelError as unusable:
        error = unusable
        try:
            model = read_loosely(path)
        except ModelError:
            return Facts(file, error)
        return Facts(file, error, model=model)
    free = free_axes(model, file.inputs)
    _check_names(file.inputs, free, sizes)
    unsized = _unsized(file.inputs, sizes)
    known = not unsized and all(port.dims is not None for port in file.inputs)
    gears = tuple(_gears(model, file.inputs, free, batches, sizes)) if known else ()
    return Facts(file, None, gears, unsized, free, model)


def _gears(
    model: onnx.ModelProto, inputs: Sequence[Port], free: Axes, batches: Sequence[int] | None, sizes: Sequence[Sizes]
) -> list[GearFacts]:
    declared = _declared_batch(inputs)
    fixed = declared is not None and not any(0 in axes for axes in free.values())
    found = []
    for index, size in enumerate(sizes or ({},)):
        for batch in batches or (declared or 1,):
            gear = Gear(batch, tuple(size.items()), index)
            if fixed and batch != declared:
                found.append(GearFacts(gear, {}, f"the batch is fixed to {declared}"))
                continue
            shapes: dict[str, Shape] = {}
            for port in inputs:
                shapes[port.name], _ = shape_at(port, batch, size, free.get(port.name, ()))
            found.append(gear_facts(model, gear, shapes))
    return found


def _declared_batch(inputs: Sequence[Port]) -> int | None:
    """That of the first input, if none varies; then an input without a batch may be beside them."""
    sizes = [port.dims[0] for port in inputs if port.dims and is_batch(port, 0)]
    fixed = [size for size in sizes if isinstance(size, int)]
    return fixed[0] if fixed and len(fixed) == len(sizes) else None


def _unsized(inputs: Sequence[Port], sizes: Sequence[Sizes]) -> tuple[str, ...]:
    """The variable axes that lack a size in some of the sizes; the batch is none of them."""
    found: dict[str, None] = {}
    for size in sizes or ({},):
        for port in inputs:
            found.update(dict.fromkeys(shape_at(port, 1, size)[1]))
    return tuple(found)


def _check_names(inputs: Sequence[Port], free: Axes, sizes: Sequence[Sizes]) -> None:
    """Errors: SpecError for a name that is none, or the batch's, or the place of an axis of another fixed size."""
    known: dict[str, int | None] = {}
    batch: set[str] = set()
    for port in inputs:
        for axis, dim in enumerate(port.dims or ()):
            varies = not isinstance(dim, int) or axis in free.get(port.name, ())
            if varies and is_batch(port, axis):
                batch |= {place(port, axis), proposed(port, axis), str(dim)}
                continue
            known[place(port, axis)] = None if varies or not isinstance(dim, int) else dim
            if varies:
                known.update(dict.fromkeys(filter(None, (proposed(port, axis), str(dim))), None))
    for name, size in (pair for one in sizes for pair in one.items()):
        if name in batch - known.keys():
            raise SpecError(f"{name} is the batch", fix=f"give it as a gear: --gears {size}")
        if name not in known:
            open_axes = [other for other, fixed in known.items() if fixed is None]
            raise SpecError(f"no axis of an input that varies is called {name!r}", fix=near(name, open_axes))
        if known[name] not in (None, size):
            raise SpecError(f"{name} is {known[name]} in the file, not {size}", fix="leave it out")
