"""Model: a trained network in a file, as an op: ONNX, or a frozen TensorFlow graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ops import Array, Asset, Edge, ModelError, Op, SpecError, TensorSpec
from ops.near import near
from ops.op import Sink

from . import model_inputs, model_specs, runtime
from .inline import inline
from .labels import labels_of
from .model_file import FROZEN
from .skeleton import Skeleton, read_skeleton
from .tensorflow.skeleton import read_frozen, run_frozen

if TYPE_CHECKING:
    from .builder import GraphBuilder, GraphValue


@dataclass(frozen=True, eq=False)
class Outputs(Edge):
    """All outputs of a model. It stands for the first one; `outputs["name"]` is the one of that name."""

    def __getitem__(self, name: str) -> Edge:
        if not isinstance(name, str):
            raise TypeError(f"outputs of a model have names, not numbers: write outputs['name'], not outputs[{name!r}]")
        return Edge(self.sink, self.node, name)

    if not TYPE_CHECKING:  # mypy says it by itself: not iterable

        def __iter__(self) -> NoReturn:
            raise TypeError("a model's outputs cannot be unpacked: write outputs['name'] for each")


@dataclass(frozen=True)
class Model(Op[Outputs]):
    """A network in an ONNX file, or a frozen TensorFlow graph (.pb); the first axis of inputs and outputs is the batch.

    Input:      the file's inputs, by position or by name, without the batch axis
    Output:     the file's outputs: `model(x)` stands for the first, `model(x)["name"]` for each
    Errors:     SpecError when the inputs are not what the file declares; ModelError when the file cannot be used
    Reference:  ONNX Runtime on the file as it is; OpenVINO for a .pb
    Deviation:  0 on one machine; 1e-4 relative elsewhere

    The path is relative to the Python file that declares the Model; the file is read when it is needed, its weights
    only when a graph is built. label_file: one label a line, for a model that does not carry its labels. outputs: of a
    .pb, which does not say what it is for: the values to give, as "scores" or "split:1"; else those that nothing reads.
    """

    path: str | os.PathLike[str] | Asset
    name: str | None = None
    label_file: str | os.PathLike[str] | Asset | None = None
    outputs: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Asset.of(self.path))
        object.__setattr__(self, "outputs", (self.outputs,) if isinstance(self.outputs, str) else tuple(self.outputs))
        if self.label_file is not None:
            object.__setattr__(self, "label_file", Asset.of(self.label_file))

    @property
    def file(self) -> str:
        """The absolute path of the file."""
        assert isinstance(self.path, Asset)
        return self.path.path

    @property
    def model_name(self) -> str:
        """What settings call it: `name`, or the file's stem."""
        return str(self.name or os.path.splitext(os.path.basename(self.file))[0])

    @property
    def default_name(self) -> str:
        return self.model_name

    @property
    def frozen(self) -> bool:
        """Whether it is a TensorFlow graph, which runs by itself: no op can join it."""
        return self.file.endswith(FROZEN)

    @property
    def skeleton(self) -> Skeleton:
        """The file without its weights. Errors: ModelError."""
        return read_frozen(self.file, self.outputs) if self.frozen else read_skeleton(self.file)

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(value.name for value in self.skeleton.model.graph.input)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(value.name for value in self.skeleton.model.graph.output)

    @property
    def opset(self) -> int:
        return self.skeleton.opset

    @property
    def fixed_batch(self) -> int | None:
        """The only batch size that the file declares to take; None where any will do."""
        return model_inputs.fixed_batch(self.skeleton)

    @property
    def declared_inputs(self) -> tuple[TensorSpec | None, ...]:
        """What the file itself says of each input, of one sample; None where it leaves a size open."""
        return model_inputs.declared_inputs(self.skeleton)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its classes, from label_file or else the ONNX metadata; () where there are none."""
        if isinstance(self.label_file, Asset):
            return self.label_file.lines()
        try:
            return labels_of(self.skeleton.metadata)
        except ModelError:  # to declare TopK(labels=model.labels) must not raise; validate reports the model
            return ()

    def infer(self, *specs: TensorSpec, **named: TensorSpec) -> tuple[TensorSpec, ...]:
        skeleton = self.skeleton
        if self.name is not None and not isinstance(self.name, str):
            raise SpecError(f"name is {self.name!r}", fix="give the model's name as text, or leave it out")
        if self.outputs and not self.frozen:
            raise SpecError(
                f"outputs is {self.outputs!r}, and {self.file} is no TensorFlow graph",
                fix="leave it out: an ONNX file says what its outputs are, and model(x)['name'] is each",
            )
        if isinstance(self.label_file, Asset):
            self.label_file.lines()  # one that cannot be read is refused here, not when labels are asked for
        return model_specs.infer(skeleton, self.model_name, arrange(self.input_names, self.model_name, specs, named))

    def run(self, *arrays: Array, out: Array | Mapping[str, Array] | None = None, **named: Array) -> tuple[Array, ...]:
        """One sample through ONNX Runtime, or OpenVINO, on the file as it is."""
        names = self.input_names
        batch = self.fixed_batch or 1
        given = arrange(names, self.model_name, arrays, named)
        feeds = {name: np.repeat(np.asarray(array)[None], batch, 0) for name, array in zip(names, given)}
        status = os.stat(self.file)
        if self.frozen:
            answer = run_frozen(self.skeleton, feeds)
        else:
            answer = _session(self.file, status.st_mtime_ns, status.st_size).run(None, feeds)
        results = tuple(result[0] for result in answer)
        targets = {self.output_names[0]: out} if isinstance(out, np.ndarray) else dict(out or {})
        return tuple(_written(result, targets.get(name)) for name, result in zip(self.output_names, results))

    def lower(self, g: GraphBuilder, *values: GraphValue) -> tuple[GraphValue, ...]:
        return inline(g, self.skeleton, values)

    def _result(self, sink: Sink, node: int) -> Outputs:
        return Outputs(sink, node)


def arrange(names: Sequence[str], model: str, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Positional and named inputs in the order of the ONNX file.

    Errors: SpecError for too many, missing, doubled or unknown ones.
    """
    wants = f"model '{model}' has the inputs {', '.join(names)}"
    if len(given) > len(names):
        raise SpecError(f"{len(given)} inputs are given, {wants}", fix=f"give {len(names)}")
    arranged = dict(zip(names, given))
    for name, value in named.items():
        if name not in names:
            raise SpecError(f"{wants}, not {name!r}", fix=near(name, names), input=name)
        if name in arranged:
            raise SpecError(f"input {name!r} is given twice", fix="give it by position or by name", input=name)
        arranged[name] = value
    missing = [name for name in names if name not in arranged]
    if missing:
        raise SpecError(
            f"{wants}; {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing",
            fix=f"pass {', '.join(f'{name}=' for name in missing)}",
            input=missing[0],
        )
    return tuple(arranged[name] for name in names)


@lru_cache(maxsize=4)
def _session(path: str, mtime_ns: int, size: int) -> Any:
    return runtime.session(path)


def _written(result: Array, target: Array | None) -> Array:
    if target is None:
        return result
    np.copyto(target, result, casting="no")
    return target
