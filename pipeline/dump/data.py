"""Dump: every value that samples have on their way through a session, as npz files."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_engine.engine import Engine
from ge_engine.layers import layer_outputs
from ge_engine.npz import NpzWriter
from ge_engine.whole_file import write_whole
from ops import Array, WrongUse

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
    index.json says which node makes which value, which samples are in a run, and what failed. All that it names is
    there, whole.
    """

    def __init__(
        self, folder: str | os.PathLike[str], plan: Plan, layers: bool, most: int, end: Callable[[], None]
    ) -> None:
        self.folder = Path(folder)
        if most < 1:
            raise WrongUse(f"a dump of {most} samples", fix="give most=1 or more")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / INDEX).unlink(missing_ok=True)  # of an earlier dump, should this one be killed
        except OSError as error:
            raise WrongUse(
                f"{folder} cannot be made: {error.strerror}", fix="name a folder that can be made"
            ) from error
        self._plan = plan
        self._layers = layers
        self._most = most
        self._end = end
        self._lock = threading.Condition()
        self._writers = 0
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
            self._lock.wait_for(lambda: not self._writers)
            text = json.dumps(self._index(), ensure_ascii=False, indent=1) + "\n"
        self._end()
        try:
            write_whole(self.folder / INDEX, text)
        except OSError as error:
            self._fault = self._fault or error
        if self._fault is not None:
            fix = "look at the folder and the room on its disk"
            raise WrongUse(f"{self.folder}: the dump ended early: {self._fault}", fix=fix) from self._fault

    def __enter__(self) -> Dump:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def sample(self, item: Item) -> None:
        """A sample is done, or has failed: what it is and was."""
        entry = {"file": f"sample_{item.number:06}.npz"} | ({"error": str(item.error)} if item.error else {})
        with self._lock:
            if self._is_over() or len(self._samples) >= self._most:
                return
            self._samples[item.number] = entry
            self._writers += 1
        self._write(entry["file"], item.values.items(), lambda: self._samples.pop(item.number))

    def run(self, engines: Sequence[Engine], group: Group, items: Sequence[Item]) -> None:
        """The device stages of a level have run on these samples, in the rows of this group."""
        for engine, size, inputs, outputs in zip(engines, group.sizes, group.inputs, group.outputs):
            stage, gear = engine.stage.graph.name, engine.gear(len(items), size)
            with self._lock:
                if self._is_over() or len(self._runs) >= self._most * len(self._plan.built):
                    return
                file = f"run_{len(self._runs) + 1:06}_{usable(stage)}.npz"
                numbers = [item.number for item in items]
                entry = {"file": file, "stage": stage, "gear": str(gear), "samples": numbers}
                self._runs.append(entry)
                self._writers += 1
            n = len(items)
            fed = {name: array[:n] for name, array in inputs.arrays.items()}
            made = ((name, array[:n]) for name, array in outputs.arrays.items())
            looks = self._layers and not engine.stage.frozen  # into a TensorFlow graph nothing here looks
            inner = self._inner(engine, size, fed) if looks else ()
            self._write(file, chain(fed.items(), made, inner), partial(self._runs.remove, entry))

    def _inner(self, engine: Engine, size: int, fed: Mapping[str, Array]) -> Iterator[tuple[str, Any]]:
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
                yield name, array if isinstance(array, np.ndarray) else np.asarray(len(array))
        with self._lock:
            self._layer_nodes[stage.graph.name] = nodes

    def _is_over(self) -> bool:
        return self._stopped or self._fault is not None

    def _write(self, file: str, arrays: Iterable[tuple[str, Any]], forget: Callable[[], object]) -> None:
        """What goes wrong ends the dump, and not the samples; then the index is not to name the file."""
        fault: Exception | None = None
        try:
            with NpzWriter(self.folder / file) as npz:
                for name, value in arrays:
                    npz.add(name, value)
        except Exception as error:  # a disk, a value that numpy cannot write, a layer that cannot be run
            fault = error
        with self._lock:
            if fault is not None:
                self._fault = self._fault or fault
                forget()
            self._writers -= 1
            self._lock.notify_all()

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
