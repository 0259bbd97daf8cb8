"""Dump: every value that samples have on their way through a session, as npz files."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_engine.engine import Engine
from ge_engine.layers import layer_outputs
from ge_engine.npz import NpzWriter
from ge_engine.whole_file import write_whole
from ops import Array, GepipeError, WrongUse

from ..group import Group
from ..item import Item
from ..names import usable

if TYPE_CHECKING:
    from ..plan import Plan

FORMAT = 1
INDEX = "index.json"


class Dump:
    """Made by `session.dump_data(folder)`; `stop`, at the end of the `with`, writes index.json.

    sample_000001.npz: of each sample, every value by its key, as `print(plan)` shows it; of one that failed, what there
    was until then. run_000001_STAGE.npz: of each run of a device stage, its inputs and outputs in rows; with `layers`
    every value inside it, computed once more on the CPU by ONNX Runtime, whichever the device is. Names inside begin
    with that of the step that they are from.
    index.json says which node makes which value, which samples are in a run, and what failed.
    """

    def __init__(
        self, folder: str | os.PathLike[str], plan: Plan, layers: bool, most: int, end: Callable[[], None]
    ) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WrongUse(
                f"{folder} cannot be made: {error.strerror}", fix="name a folder that can be made"
            ) from error
        self._plan = plan
        self._layers = layers
        self._most = most
        self._end = end
        self._lock = threading.Lock()
        self._samples: dict[int, dict[str, Any]] = {}
        self._runs: list[dict[str, Any]] = []
        self._layer_nodes: dict[str, dict[str, Any]] = {}
        self._stopped = False
        self._fault: Exception | None = None

    def stop(self) -> None:
        """Write the index. Later calls do nothing.

        Errors: WrongUse where something could not be written: the samples themselves were answered all the same.
        """
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            text = json.dumps(self._index(), ensure_ascii=False, indent=1) + "\n"
        self._end()
        with self._writing():
            write_whole(self.folder / INDEX, text)
        if self._fault is not None:
            fix = "look at the folder and the room on its disk"
            raise WrongUse(f"{self.folder}: the dump ended early: {self._fault}", fix=fix) from self._fault

    def __enter__(self) -> Dump:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def sample(self, item: Item) -> None:
        """A sample is done, or has failed: what it is and was."""
        file = f"sample_{item.number:06}.npz"
        with self._lock:
            if self._is_over() or len(self._samples) >= self._most:
                return
            self._samples[item.number] = {"file": file} | ({"error": str(item.error)} if item.error else {})
        with self._writing(), NpzWriter(self.folder / file) as npz:
            for key, value in item.values.items():
                npz.add(key, value)

    def run(self, engines: Sequence[Engine], group: Group, items: Sequence[Item]) -> None:
        """The device stages of a level have run on these samples, in the rows of this group."""
        for engine, size, inputs, outputs in zip(engines, group.sizes, group.inputs, group.outputs):
            stage, gear = engine.stage.graph.name, engine.gear(len(items), size)
            with self._lock:
                if self._is_over() or len(self._runs) >= self._most * len(self._plan.built):
                    return
                file = f"run_{len(self._runs) + 1:06}_{usable(stage)}.npz"
                numbers = [item.number for item in items]
                self._runs.append({"file": file, "stage": stage, "gear": str(gear), "samples": numbers})
            n = len(items)
            fed = {name: array[:n] for name, array in inputs.arrays.items()}
            with self._writing(), NpzWriter(self.folder / file) as npz:
                for name, array in (*fed.items(), *((name, array[:n]) for name, array in outputs.arrays.items())):
                    npz.add(name, array)
                if self._layers and not engine.stage.frozen:  # into a TensorFlow graph nothing here looks
                    self._add_layers(npz, engine, size, fed)

    def _add_layers(self, npz: NpzWriter, engine: Engine, size: int, fed: Mapping[str, Array]) -> None:
        """What the graph has inside: the one for any batch, else the gear's own, its padding zero."""
        stage, n = engine.stage, len(next(iter(fed.values())))
        gear = engine.gear(n, size)
        path = stage.shared.get(gear.dims)
        if path is None:
            path = stage.static[gear].path
            fed = {
                name: np.concatenate([array, np.zeros((gear.batch - n, *array.shape[1:]), array.dtype)])
                for name, array in fed.items()
            }
        nodes = {}
        outer = {*fed, *(key for key, _ in stage.graph.outputs)}
        for name, node, array in layer_outputs(stage.on_cpu(path), fed):
            nodes[name] = {"node": node.name, "op": node.op_type}
            if name not in outer:
                npz.add(name, array if isinstance(array, np.ndarray) else np.asarray(len(array)))
        with self._lock:
            self._layer_nodes[stage.graph.name] = nodes

    def _is_over(self) -> bool:
        return self._stopped or self._fault is not None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """What goes wrong ends the dump, and not the samples."""
        try:
            yield
        except (OSError, GepipeError) as error:
            self._fault = self._fault or error

    def _index(self) -> dict[str, Any]:
        graph = self._plan.graph
        values = {
            key: {"node": step.name, "op": type(step.op).__name__, "spec": str(spec), "where": step.where}
            for step in graph.steps
            for key, _, spec in step.outputs
        }
        inputs = {value.name: {"node": "", "op": "input", "spec": str(value.spec)} for value in graph.inputs}
        return {
            "format": FORMAT,
            "pipeline": graph.name,
            "values": {**inputs, **values},
            "samples": self._samples,
            "runs": self._runs,
            "layers": self._layer_nodes,
        }
