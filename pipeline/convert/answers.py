"""Answers: what a model gives for whole inputs, by the library that knows its kind."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Union

import numpy as np

from ge_engine import openvino_runtime, runtime
from ge_engine.cores import usable_cores
from ge_engine.openvino_runtime import OpenVinoGraph, Port
from ge_engine.tensorflow.graph_def import GraphDef, read_graph_def
from ops import Array, DeviceError
from ops.spec import canonical_dtype

from .child import run_side
from .options import Options
from .source import FROZEN, ONNX, TORCH, Source

Feeds = Mapping[str, Array]
Answer = Union[dict[str, Array], DeviceError]  # or why there is none


class Runnable(Protocol):
    """A model in a file. inputs: a dim that varies is None, or its name."""

    @property
    def inputs(self) -> Sequence[Port]: ...

    def __call__(self, feeds: Feeds) -> dict[str, Array]: ...


class OnnxRunnable:
    """An ONNX file, by ONNX Runtime. Errors: DeviceError."""

    def __init__(self, path: str) -> None:
        self._session = runtime.loaded(path, usable_cores())
        self.inputs = [
            Port(one.name, canonical_dtype(one.type), tuple(one.shape)) for one in self._session.get_inputs()
        ]
        self._outputs = [value.name for value in self._session.get_outputs()]

    def __call__(self, feeds: Feeds) -> dict[str, Array]:
        try:
            return dict(zip(self._outputs, runtime.run(self._session, self._outputs, dict(feeds))))
        except Exception as error:  # ONNX Runtime has no family of exceptions
            raise DeviceError(runtime.first_line(error), fix="look at its text; is it fit for these inputs?") from error


class FrozenRunnable:
    """A frozen graph, by OpenVINO. Errors: ModelError; DeviceError."""

    def __init__(self, path: str) -> None:
        source = read_graph_def(path)
        self.inputs = frozen_inputs(source, source.leaves)
        self._leaves = source.leaves
        self._graph = OpenVinoGraph(openvino_runtime.read(path), usable_cores())

    def __call__(self, feeds: Feeds) -> dict[str, Array]:
        answer = self._graph(feeds)
        return {name: answer[name] for name in self._leaves}


def frozen_inputs(graph: GraphDef, outputs: Sequence[str]) -> list[Port]:
    """The inputs of a frozen graph that these outputs depend on. Errors: ModelError where there is none."""
    return [
        Port(one.name, one.dtype, None if one.dims is None else tuple(None if d < 0 else d for d in one.dims))
        for one in graph.placeholders(outputs)
    ]


def runnable(path: Path) -> Runnable:
    """What was made by a conversion."""
    return OnnxRunnable(str(path)) if path.suffix == ".onnx" else FrozenRunnable(str(path))


def answer_of(model: Runnable, feeds: Feeds) -> Answer:
    """What a model gives, or why it gives nothing."""
    try:
        return model(feeds)
    except DeviceError as error:
        return error


def source_answers(source: Source, feeds: Sequence[Feeds], options: Options) -> list[Answer]:
    """What the source gives, run by its own framework. Errors: as run_side."""
    if source.kind == ONNX:
        model = OnnxRunnable(source.path)
        return [answer_of(model, one) for one in feeds]
    side = "torch_side" if source.kind == TORCH else "tensorflow_side"
    outputs = options.outputs or source.outputs
    if source.kind == FROZEN:
        outputs = read_graph_def(source.path).outputs(outputs)
    with tempfile.TemporaryDirectory(prefix="gepipe") as folder:
        given = [str(Path(folder, f"feeds{index}.npz")) for index in range(len(feeds))]
        made = [str(Path(folder, f"answers{index}.npz")) for index in range(len(feeds))]
        for path, arrays in zip(given, feeds):
            np.savez(path, **arrays)  # type: ignore[arg-type]  # each keyword is an array
        job = {
            "do": "run", "kind": source.kind, "source": source.path, "signature": options.signature,
            "function": source.path, "folder": source.folder, "inputs": source.inputs, "outputs": list(outputs),
            "feeds": given, "answers": made,
        }  # fmt: skip
        return [_loaded(path, why) for path, why in zip(made, run_side(options.python, side, job)["failed"])]


def _loaded(path: str, why: str) -> Answer:
    if why:
        return DeviceError(why, fix="look at its text; is it fit for these inputs?")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)
