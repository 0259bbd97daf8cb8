"""Proof: a mended model gives what the original gives, shown on random inputs with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from ops import Array, ModelError
from ops.spec import canonical_dtype

from .. import runtime
from ..runtime import first_line
from ..samples import Batch, has_ids, id_bounds, random_batch
from ..shapes import Shape, fix_inputs, shape_of
from ..skeleton import read_unchecked
from ..stage import Tensors
from ..verify import difference
from ..weights import WeightFile

TOLERANCE = 1e-4  # relative to the largest value of an output; more is no equal
Point = Mapping[str, tuple[int, ...]]  # input shapes


@dataclass(frozen=True)
class Proof:
    """points: the input shapes that were run. deviation: 0.0 for equal bytes, else relative to the largest value."""

    points: tuple[Point, ...]
    deviation: float

    def __str__(self) -> str:
        count = len(self.points)
        found = "equal bytes" if self.deviation == 0 else f"within {self.deviation:.1e} of the largest value"
        return f"{found} on random inputs of {count} shape{'s' if count != 1 else ''}"


class Desk:
    """A folder in which models are written to be run; what weights they share is written once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._weights = WeightFile(folder / "weights")

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *error: object) -> None:
        self._weights.__exit__(None, None, None)

    def write(self, model: onnx.ModelProto, name: str) -> Path:
        """A model in a file, beside its weights."""
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        self._weights.take(copy)
        self._weights.flush()
        path = self._folder / f"{name}.onnx"
        path.write_bytes(copy.SerializeToString())
        return path


class Unproven(Exception):
    """A mended model that is not shown to be equal, and why."""


class Original:
    """The model as it came, asked at random inputs; its answers are kept, so that each fix costs one run of its own."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = _Runnable(path)
        self._declared = {value.name: shape_of(value) for value in read_unchecked(path).graph.output}
        self._open: _Runnable | None = None
        self._bounds: Mapping[str, int] | None = None
        self._answers: dict[str, tuple[Batch, dict[str, Array]]] = {}

    def forget_sizes(self, model: onnx.ModelProto, shapes: Mapping[str, Shape], desk: Desk) -> None:
        """Where its declared sizes do not hold, ask the same graph with inputs declared by these shapes."""
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        fix_inputs(copy, shapes)
        self._open = _Runnable(desk.write(copy, "open"))

    def answer(self, point: Point, signed: bool = False) -> tuple[Batch, dict[str, Array]]:
        """Random inputs of these shapes, and what it makes of them. Errors: those of ONNX Runtime.

        signed: numbers of both signs, where they are 0..1 else, as pixels are.
        """
        key = f"{point} {signed}"
        if key not in self._answers:
            runnable = self._runnable(point)
            tensors = runnable.tensors(point)
            if self._bounds is None:
                self._bounds = id_bounds(tensors, runnable) if has_ids(tensors) else {}
            batch = {name: np.asarray(array) for name, array in random_batch(tensors, self._bounds).items()}
            batch = {name: _spread(array) if signed else array for name, array in batch.items()}
            self._answers[key] = batch, runnable(batch)
        return self._answers[key]

    def _answers_at(self, points: Sequence[Point]) -> Iterator[tuple[Batch, dict[str, Array]]]:
        """At the first point also of numbers of both signs, where the graph takes them."""
        yield from map(self.answer, points)
        try:
            both_signs = self.answer(points[0], signed=True)
        except Exception:  # ONNX Runtime has no family of exceptions
            return
        yield both_signs

    def check_repeatable(self, point: Point) -> None:
        """Errors: ModelError where it answers otherwise the second time: then nothing can be proven."""
        batch, before = self.answer(point)
        if difference(before.values(), self._runnable(point)(batch).values()) > 0:
            raise ModelError(
                f"{self._path} does not give the same answer twice, so that no fix can be proven",
                fix="export it without random operators (RandomNormal, Dropout in training mode, ...)",
            )

    def prove(self, mended: onnx.ModelProto, desk: Desk, points: Sequence[Point], rows: bool = False) -> Proof:
        """Ask both at these points. rows: a batch of one gives the first row of a larger one, too. Errors: Unproven."""
        path = desk.write(mended, "mended")
        try:
            runnable = _Runnable(path)
        except Exception as error:  # ONNX Runtime has no family of exceptions
            raise Unproven(f"it cannot be loaded: {first_line(error)}") from error
        deviation = 0.0
        for batch, wanted in self._answers_at(points):
            try:
                got = runnable(runnable.as_taken(batch))
                self._check_declared(mended, got)
                deviation = max(deviation, *_gaps(wanted, got))
                if rows:
                    alone = runnable(runnable.as_taken({name: array[:1] for name, array in batch.items()}))
                    deviation = max(deviation, *_gaps({name: array[:1] for name, array in got.items()}, alone))
            except Unproven:
                raise
            except Exception as error:  # ONNX Runtime has no family of exceptions
                raise Unproven(f"it does not run at {_shapes(batch)}: {first_line(error)}") from error
        if deviation > TOLERANCE:
            raise Unproven(f"it gives other answers: {deviation:.1e} of the largest value off")
        return Proof(tuple(points), deviation)

    def _check_declared(self, mended: onnx.ModelProto, got: Mapping[str, Array]) -> None:
        """Errors: Unproven where an output is not of the size that is declared now. ONNX Runtime would only warn."""
        for value in mended.graph.output:
            declared, real = shape_of(value), got[value.name].shape
            wrong = declared and any(isinstance(dim, int) and dim != size for dim, size in zip(declared, real))
            if wrong and declared != self._declared[value.name]:
                raise Unproven(f"it declares output '{value.name}' {list(declared or ())}, and it is {list(real)}")

    def _runnable(self, point: Point) -> _Runnable:
        return self._file if self._open is None or self._file.declares(point) else self._open


class _Runnable:
    """A model in a file, called with named arrays; gives named arrays."""

    def __init__(self, path: str | Path) -> None:
        self.session = runtime.session(path)
        self.inputs = {value.name: value for value in self.session.get_inputs()}
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, batch: Batch) -> dict[str, Array]:
        return dict(zip(self.outputs, map(np.asarray, runtime.run(self.session, self.outputs, dict(batch)))))

    def tensors(self, point: Point) -> Tensors:
        return tuple((name, canonical_dtype(value.type), point[name]) for name, value in self.inputs.items())

    def declares(self, point: Point) -> bool:
        """Whether its declared sizes hold at these shapes."""
        return all(
            not isinstance(want, int) or want == got
            for name, value in self.inputs.items()
            for want, got in zip(value.shape, point[name])
        )

    def as_taken(self, batch: Batch) -> dict[str, Array]:
        """The same values in the types and ranks of this model."""
        taken = {}
        for name, value in self.inputs.items():
            array = batch[name].astype(canonical_dtype(value.type))
            taken[name] = array.reshape(1) if array.ndim == 0 and len(value.shape) == 1 else array
        return taken


def _spread(array: Array) -> Array:
    """Fractions of 0..1 over what a network meets inside: about -8..8."""
    return (array * 16 - 8).astype(array.dtype) if array.dtype.kind == "f" else array


def _gaps(wanted: Mapping[str, Array], got: Mapping[str, Array]) -> Iterator[float]:
    """Of each output that is left, in the rank that it has now, and in the narrower type of before and now."""
    yield 0.0
    for name, array in got.items():
        dtype = min(array.dtype, wanted[name].dtype, key=lambda one: one.itemsize)
        want = wanted[name].astype(dtype)
        yield difference([want.reshape(1) if want.ndim == 0 and array.ndim == 1 else want], [array.astype(dtype)])


def _shapes(batch: Batch) -> str:
    return ", ".join(f"{name} {list(array.shape)}" for name, array in batch.items())
