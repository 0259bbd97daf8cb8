"""Instance: one instance of a model in a server, without the server's own types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from .. import runtime
from ..cores import usable_cores
from .batch import Answer, Batcher, Work
from .command_line import CommandLine
from .discover import find_model, versions
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
        session = runtime.loaded(self.path, self.threads)
        self.setup = Setup.of(config, Ports.of_session(session), options, auto_complete=started.auto_complete)
        self.inputs = tuple(port.name for port in self.setup.known.model.inputs)
        self._batcher = Batcher(Program(session, self.setup))
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
        yield from map(str, self.setup.advice)
        if len(versions(self.folder)) > 1:
            yield f"V27: npu_ge does not look at versions: {', '.join(versions(self.folder))}"

    def __str__(self) -> str:
        return f"find onnx path: {self.path}; {self.at_once} runs at once, {self.threads} threads each"
