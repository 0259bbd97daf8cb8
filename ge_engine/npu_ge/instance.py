"""Instance: one instance of a model in a server, without the server's own types."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ops import DeviceError, Finding, ModelError

from ..cores import usable_cores
from ..half.precision import ORIGIN, emulates
from ..model_file import FROZEN
from ..openvino_runtime import OpenVinoGraph
from ..runtime import OrtGraph
from .batch import Answer, Batcher, Work
from .command_line import CommandLine
from .discover import find_model, versions
from .dump import Dump, Inner, graph_file, nothing
from .options import Options
from .ports import Ports
from .program import Arrays, Program
from .setup import Setup
from .streams import Streams


class Instance:
    """A model loaded in this process; it takes a stream for each batch.

    folder: the model's; config: its configuration, completed; home: the backend's directory.
    Errors: ModelError, DeviceError, or ValidationError with every reason why npu_ge would not run it as it is meant.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any], home: Path, environment: Mapping[str, str]) -> None:
        started = CommandLine.beside(home)
        self.folder = folder
        self.path = find_model(folder)
        options = Options.of(config, started.backend_config, environment)
        self.at_once = max(1, min(options.instances, options.streams))
        self.threads = started.threads or max(1, usable_cores() // self.at_once)
        self._not_dumped: list[Finding] = []
        graph, ports, inner = self._loaded(options)
        self.setup = Setup.of(config, ports, options, auto_complete=started.auto_complete)
        self.inputs = tuple(port.name for port in self.setup.known.model.inputs)
        dump = Dump(folder.name, inner) if options.dump_data else None
        self._batcher = Batcher(Program(graph, self.setup, dump))
        shared = self.at_once < options.instances
        self._streams = Streams(home / "model.py", str(folder), self.at_once) if shared else None

    @property
    def work(self) -> Work:
        return self._batcher.work

    def answer(self, requests: Sequence[Arrays]) -> list[Answer]:
        """An answer for each request, or what went wrong with it alone; good until the next call."""
        with self._streams.one() if self._streams else nullcontext():
            return self._batcher.answer(requests)

    def advice(self) -> Iterator[str]:
        """What a user should know of this model."""
        yield from map(str, (*self.setup.advice, *self._not_dumped))
        if len(versions(self.folder)) > 1:
            yield f"V27: npu_ge does not look at versions: {', '.join(versions(self.folder))}"

    def __str__(self) -> str:
        kind = "tensorflow pb" if self.path.suffix == FROZEN else "onnx"
        return f"find {kind} path: {self.path}; {self.at_once} runs at once, {self.threads} threads each"

    def _loaded(self, options: Options) -> tuple[OrtGraph | OpenVinoGraph, Ports, Inner]:
        """The graph, its inputs and outputs, and what to dump from inside it. Errors: DeviceError; ModelError."""
        if self.path.suffix == FROZEN:
            frozen = _opened(self.path, self.threads)
            if options.dump_data or options.dump_graph:
                self._not_inside("it is a TensorFlow graph", "dump the model's ONNX form in-process")
            return frozen, Ports.of_frozen(self.path, frozen), nothing
        with _as_run(self.path, options.precision or ORIGIN) as path:
            graph = OrtGraph(path, self.threads)
            return graph, Ports.of_session(graph.session), self._inner(options, path)

    def _inner(self, options: Options, path: Path) -> Inner:
        """What to dump from inside an ONNX file; its graph is dumped now. What cannot be is advice."""
        try:
            if options.dump_data or options.dump_graph:
                from ..inside import Inside, write_graph  # needs onnx

            if options.dump_graph:
                write_graph(path, graph_file(self.folder.name))
            if options.dump_data:
                return Inside(path, self.threads).values
        except ImportError as error:
            self._not_inside(str(error), f"install onnx into the environment of {sys.executable}")
        except (OSError, ModelError) as error:
            self._not_inside(str(error), "look at the cause; inputs and outputs are dumped all the same")
        return nothing

    def _not_inside(self, why: str, fix: str) -> None:
        message = f"what is inside the graph is not dumped: {why}"
        self._not_dumped.append(Finding("V23", "advice", "parameters", message, fix))


@contextmanager
def _as_run(path: Path, precision: str) -> Iterator[Path]:
    """The file that computes in a precision, which may be a temporary one. Errors: DeviceError; ModelError."""
    if not emulates(precision):
        yield path
        return
    with TemporaryDirectory(prefix="gepipe") as folder:
        yield Path(_emulated(path, precision, Path(folder)))


def _emulated(path: Path, precision: str, folder: Path) -> str:
    """The model in that precision. Errors: DeviceError where onnx is not installed."""
    try:
        from ..half.files import write_emulated  # needs onnx, and nothing else here does
    except ImportError as error:
        raise DeviceError(
            f"precision {precision} is emulated by rewriting the graph, and {sys.executable} cannot: {error}",
            fix="install onnx into the environment of the server's Python, or use precision origin",
        ) from error
    return write_emulated(path, precision, folder)


def _opened(path: Path, threads: int) -> OpenVinoGraph:
    """A TensorFlow graph. Errors: DeviceError, also where OpenVINO is not installed."""
    try:
        return OpenVinoGraph(str(path), threads)
    except ModelError as error:
        raise DeviceError(
            f"V26: {path.name} is a TensorFlow graph, which the stand-in runs by OpenVINO, and {sys.executable} "
            f"cannot: {error.message}",
            fix="install openvino into the environment of the server's Python",
        ) from error
