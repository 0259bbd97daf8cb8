"""Compiled: a built stage as .om files, from the compile cache, or made by atc and kept there."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import onnx

from ops import BuildError, DeviceError, TensorSpec

from .. import weights
from ..cache import Cache, Held
from ..cache.folders import new_folder
from ..cache.key import versions
from ..cache.manifest import About
from ..cores import Cores
from ..gears import Gear
from ..model import Model
from ..progress import Progress
from ..shapes import Shape
from ..single_file import any_size_graph, read_graph, write_single_file
from ..stage import BuiltStage, Made, StageGraph, StaticGraph
from .atc import gear_flags, run_atc, setting_flags
from .cann import cann_version

FORMAT = 1  # of what is made here
_LEGAL = re.compile(r"[A-Za-z0-9_./-]+")


class Compiled(NamedTuple):
    """A stage as .om files: for each gear the one that runs it; by key, what its inputs are called in them.

    let_go: the files are there until it is called.
    """

    graphs: Mapping[Gear, StaticGraph]
    names: Mapping[str, str]
    let_go: Callable[[], None]


def compile_stage(stage: BuiltStage, rows: int, cores: Cores, soc: str, progress: Progress | None = None) -> Compiled:
    """The gears of at most `rows` samples, for this SoC and the CANN that is installed.

    progress: told what is done; atc may take minutes.

    Errors: DeviceError for a graph that cannot be compiled.
    """
    if stage.frozen:
        raise DeviceError(
            f"stage '{stage.graph.name}' is a TensorFlow graph, which is not compiled here",
            fix="give the model as ONNX; or export it for npu_ge, which reads TensorFlow's",
        )
    if stage.dynamic:
        name, chain = stage.dynamic[0]
        raise DeviceError(
            f"stage '{stage.graph.name}': the shape of '{name}' depends on data, from node '{chain[0]}' on",
            fix="cut the model before that node and do the rest on the host; or run on the CPU",
        )
    gears = [gear for gear in stage.gears if gear.batch <= rows]
    work = _Work(stage, gears, cores, soc, progress or (lambda what, done, total: None))
    graphs, held = work.run()
    return Compiled(graphs, work.names, held.close)


def _file_names(graph: StageGraph) -> dict[str, str]:
    """What the inputs are called in the file: the command line cannot say a name with a colon, as models have."""
    return {key: key if _LEGAL.fullmatch(key) else f"input_{index}" for index, (key, _) in enumerate(graph.inputs)}


def _open_shapes(tensors: Sequence[tuple[str, TensorSpec]]) -> dict[str, Shape]:
    """Of one sample, with the names of graded dims."""
    return {key: (1, *(dim if isinstance(dim, int) else str(dim) for dim in spec.shape)) for key, spec in tensors}


class _Work:
    """One stage to compile: which graphs, with which flags."""

    def __init__(self, stage: BuiltStage, gears: Sequence[Gear], cores: Cores, soc: str, progress: Progress) -> None:
        self.stage = stage
        self.gears = gears
        self.title = f"{stage.graph.name} for {soc}"
        self.progress = progress
        self.flags = [f"--soc_version={soc}", *setting_flags(stage.graph, cores)]
        self.names = _file_names(stage.graph)

    def run(self) -> tuple[Mapping[Gear, StaticGraph], Held]:
        """From the cache, or into it, or where it cannot be used into a temporary folder. Errors: DeviceError."""
        cache = Cache.of_environment()
        if cache is not None:
            try:
                return self.from_cache(cache)
            except OSError as error:
                self.progress(f"{self.title}: not kept, the cache cannot be used: {error}", 0, 1)
        try:
            held = new_folder(Path(tempfile.gettempdir()))
            return self._closing(held), held
        except OSError as error:
            raise DeviceError(
                f"stage '{self.stage.graph.name}' cannot be compiled: {error}",
                fix="its graphs need room in the folder for temporary files; TMPDIR names another",
            ) from error

    def from_cache(self, cache: Cache) -> tuple[Mapping[Gear, StaticGraph], Held]:
        """Errors: OSError; DeviceError."""
        digests = cache.digests()
        key = self._key([digests.of(path) for path in self._files()])
        waiting = f"{self.title}: another process compiles it"
        with cache.building(key, lambda: self.progress(waiting, 0, 1)):
            taken = cache.take(key)
            if taken is not None:
                self.progress(f"{self.title}: from the cache", 1, 1)
                held, made = taken
                return made.static, held
            held = cache.new()
            static = self._closing(held)
            models = dict.fromkeys(step.op.file for step in self.stage.graph.steps if isinstance(step.op, Model))
            about = About(self.title, tuple(map(str, self.gears)), tuple(models))
            made = cache.keep(key, held, about, Made(static, {}, None, None, (), ()))
            return made.static, held

    def into(self, folder: Path) -> dict[Gear, StaticGraph]:
        """Compile everything. Errors: DeviceError; OSError."""
        result: dict[Gear, StaticGraph] = {}
        graph = self.stage.graph
        inputs, outputs = [(name, key) for key, name in self.names.items()], [(key, key) for key, _ in graph.outputs]
        with closing(new_folder(Path(tempfile.gettempdir()))) as scratch:
            for index, (gears, model) in enumerate(self._graphs()):
                self.progress(f"{self.title}: atc", index, len(self.gears) // len(gears))
                name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{graph.name}_{gears[0] if len(gears) == 1 else 'gears'}")
                path = scratch.path / f"{name}.onnx"
                write_single_file(model, inputs, outputs, path)
                flags = gear_flags(graph, self.names, gears) if len(gears) > 1 else []
                place = folder / f"{name}.om"
                shutil.move(run_atc(path, [*self.flags, *flags], graph.name), place)
                result.update((gear, replace(self.stage.static[gear], path=str(place))) for gear in gears)
                self.progress(f"{self.title}: atc", index + 1, len(self.gears) // len(gears))
        return result

    def _graphs(self) -> Iterator[tuple[Sequence[Gear], onnx.ModelProto]]:
        """Gears that one file runs: all, where one graph with open dims gives the same answers; else each its own."""
        model = self._open() if len(self.gears) > 1 else None
        if model is not None:
            yield self.gears, model
        else:
            yield from (((gear,), read_graph(self.stage.static[gear].path)) for gear in self.gears)

    def _open(self) -> onnx.ModelProto | None:
        """The graph whose batch, or sizes, are open; None where there is none."""
        if not self.stage.gears.sizes:
            path = self.stage.shared.get(())
            return read_graph(path) if path else None
        graph = self.stage.graph
        try:
            return any_size_graph(graph, _open_shapes(graph.inputs), _open_shapes(graph.outputs))
        except BuildError:
            return None

    def _files(self) -> list[str]:
        """All that the answers come from. The graph with open sizes is made of the same steps as the static ones."""
        graphs = [self.stage.static[gear].path for gear in self.gears] + list(self.stage.shared.values())
        heavy: dict[str, None] = {}
        for graph in graphs:
            for tensor in onnx.load(graph, load_external_data=False).graph.initializer:
                if weights.is_heavy(tensor):
                    heavy[os.path.join(os.path.dirname(graph), weights.entries(tensor)["location"])] = None
        return [*graphs, *heavy]

    def _key(self, digests: Sequence[str]) -> str:
        gears = [[gear.batch, gear.dims] for gear in self.gears]
        parts = [FORMAT, versions()[0], self.stage.graph.name, digests, gears, self.flags, cann_version()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _closing(self, held: Held) -> dict[Gear, StaticGraph]:
        try:
            return self.into(held.path)
        except BaseException:
            held.close()
            raise
