"""Model: what tritonserver loads for `backend: "npu_ge"` where there is no NPU."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
if (FOLDER / "ge_engine").is_dir():
    sys.path.insert(0, str(FOLDER))  # before the server's own packages: theirs may have our names

from ge_engine.devices.cpu import usable_cores  # noqa: E402  # found by the line above
from ge_engine.npu_ge.batch import Answer, Batcher  # noqa: E402
from ge_engine.npu_ge.command_line import CommandLine  # noqa: E402
from ge_engine.npu_ge.complete import is_complete, missing  # noqa: E402
from ge_engine.npu_ge.discover import find_model, versions  # noqa: E402
from ge_engine.npu_ge.options import Options  # noqa: E402
from ge_engine.npu_ge.ports import Ports  # noqa: E402
from ge_engine.npu_ge.program import Program, open_model  # noqa: E402
from ge_engine.npu_ge.setup import Setup  # noqa: E402
from ge_engine.npu_ge.streams import Streams  # noqa: E402
from ops import GepipeError, SpecError  # noqa: E402

try:
    import triton_python_backend_utils as pb_utils
except ImportError:  # outside the server this module is only looked at
    pb_utils = None


class TritonPythonModel:
    """One instance of a model: a process of its own, one stream of execution."""

    @staticmethod
    def auto_complete_config(config: Any) -> Any:
        """Add the inputs and outputs that config.pbtxt leaves out, as npu_ge does."""
        known = config.as_dict()
        if not is_complete(known):
            ports = Ports.of_session(open_model(find_model(Path(pb_utils.get_model_dir()).parent), threads=1))
            added = missing(known, ports)
            for entry in added.inputs:
                config.add_input(entry)
            for entry in added.outputs:
                config.add_output(entry)
        return config

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the graph, or say why npu_ge would not run it as it is meant."""
        folder, config = Path(args["model_repository"]), json.loads(args["model_config"])
        started = CommandLine.beside(FOLDER)
        path = find_model(folder)
        options = Options.of(config, started.backend_config, os.environ)
        at_once = max(1, min(options.instances, options.streams))
        threads = started.threads or max(1, usable_cores() // at_once)
        session = open_model(path, threads)
        setup = Setup.of(config, Ports.of_session(session), options, auto_complete=started.auto_complete)
        self.batcher = Batcher(Program(session, setup))
        self.streams = Streams(Path(__file__), str(folder), at_once) if at_once < options.instances else None
        self.name = args["model_instance_name"]
        if self.name.endswith("_0"):  # one instance speaks for all
            self._say(f"find onnx path: {path}; {at_once} runs at once, {threads} threads each")
            for finding in setup.advice:
                self._warn(str(finding))
            if len(versions(folder)) > 1:
                self._warn(f"V27: npu_ge does not look at versions: {', '.join(versions(folder))}")

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """An answer for each request."""
        ports = self.batcher.program.ports
        inputs = [
            {port.name: pb_utils.get_input_tensor_by_name(request, port.name).as_numpy() for port in ports.inputs}
            for request in requests
        ]
        with self.streams.one() if self.streams else nullcontext():
            answers = self.batcher.answer(inputs)
        return [_response(request, answer) for request, answer in zip(requests, answers)]

    def finalize(self) -> None:
        """Say what was done."""
        self._say(str(self.batcher.work))

    def _say(self, text: str) -> None:
        pb_utils.Logger.log_info(f"npu_ge stand-in, {self.name}: {text}")

    def _warn(self, text: str) -> None:
        pb_utils.Logger.log_warn(f"npu_ge stand-in, {self.name}: {text}")


def _response(request: Any, answer: Answer) -> Any:
    if isinstance(answer, GepipeError):
        code = pb_utils.TritonError.INVALID_ARG if isinstance(answer, SpecError) else pb_utils.TritonError.INTERNAL
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(answer), code))
    wanted = request.requested_output_names()
    return pb_utils.InferenceResponse(
        [pb_utils.Tensor(name, array) for name, array in answer.items() if name in wanted]
    )
