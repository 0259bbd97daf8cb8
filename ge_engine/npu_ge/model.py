"""Model: what tritonserver loads for `backend: "npu_ge"` where there is no NPU.

What it stands on is imported when it is needed: the server imports this file once only to ask what it would complete.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

try:
    import triton_python_backend_utils as pb_utils
except ImportError:  # outside the server this module is only looked at
    pb_utils = None

HOME = Path(__file__).resolve().parent
if (HOME / "ge_engine").is_dir():
    sys.path.insert(0, str(HOME))  # before the server's own packages: theirs may have our names


class TritonPythonModel:
    """An instance, as Triton's Python backend wants it: a process of its own."""

    @staticmethod
    def auto_complete_config(config: Any) -> Any:
        """Add the inputs and outputs that config.pbtxt leaves out, as npu_ge does."""
        known = config.as_dict()
        if known.get("input") and known.get("output"):
            return config
        from ge_engine.npu_ge.complete import missing_of

        added = missing_of(known, Path(pb_utils.get_model_dir()).parent)
        for entry in added.inputs:
            config.add_input(entry)
        for entry in added.outputs:
            config.add_output(entry)
        return config

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the graph, or say why npu_ge would not run it as it is meant."""
        from ge_engine.npu_ge.instance import Instance

        config = json.loads(args["model_config"])
        self.name = args["model_instance_name"]
        self.unsaid, self.quiet_until = 0, 0.0  # requests that failed, and were not logged
        self.instance = Instance(Path(args["model_repository"]), config, HOME, os.environ)
        if self.name.endswith("_0"):  # one instance speaks for all
            self._say(str(self.instance))
            for advice in self.instance.advice():
                pb_utils.Logger.log_warn(f"npu_ge stand-in, {self.name}: {advice}")

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """A response for each request."""
        names = self.instance.inputs
        inputs = [
            {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in names}
            for request in requests
        ]
        answers = self.instance.answer(inputs)
        for answer in answers:
            if isinstance(answer, Exception):
                self._say_failed(answer)
        return [_response(request, answer) for request, answer in zip(requests, answers)]

    def finalize(self) -> None:
        """Say what was done."""
        self._say(str(self.instance.work))

    def _say_failed(self, error: Exception) -> None:
        """A line, once a second at most: a client that asks again and again must not fill the disk."""
        now = time.monotonic()
        self.unsaid += 1
        if now < self.quiet_until:
            return
        count = "a request" if self.unsaid == 1 else f"{self.unsaid} requests, the last of them"
        text = "; ".join(str(error).splitlines())
        pb_utils.Logger.log_error(f"npu_ge stand-in, {self.name}: {count} failed: {text}")
        self.unsaid, self.quiet_until = 0, now + 1

    def _say(self, text: str) -> None:
        pb_utils.Logger.log_info(f"npu_ge stand-in, {self.name}: {text}")


def _response(request: Any, answer: Any) -> Any:
    if isinstance(answer, Exception):
        from ops import SpecError  # the request has a shape that is no gear

        code = pb_utils.TritonError.INVALID_ARG if isinstance(answer, SpecError) else pb_utils.TritonError.INTERNAL
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(answer), code))
    wanted = request.requested_output_names()
    return pb_utils.InferenceResponse(
        [pb_utils.Tensor(name, array) for name, array in answer.items() if name in wanted]
    )
