"""A model of a repository, as the server sees it: its config, completed from its files where the server does that."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ops import ModelError

from .config import CONFIG
from .folder import Folder
from .onnx_facts import OnnxFacts, onnx_facts
from .outline import Entry
from .problem import Place, Problem
from .tensor import Tensor, tensor_of

PLATFORMS = {
    "tensorflow_graphdef": "tensorflow", "tensorflow_savedmodel": "tensorflow", "tensorrt_plan": "tensorrt",
    "onnxruntime_onnx": "onnxruntime", "pytorch_libtorch": "pytorch",
}  # fmt: skip
_FILES = {  # default file name -> backend, in the server's order
    "model.savedmodel": "tensorflow", "model.graphdef": "tensorflow", "model.plan": "tensorrt",
    "model.onnx": "onnxruntime", "model.xml": "openvino", "model.pt": "pytorch", "model.py": "python",
}  # fmt: skip


@dataclass
class Model:
    """A folder and what its config says. `config` is None where it cannot be read."""

    folder: Folder
    config: Any
    outline: Entry
    problems: list[Problem] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def ensemble(self) -> bool:
        return self.config is not None and (
            self.config.platform == "ensemble" or self.config.HasField("ensemble_scheduling")
        )

    @cached_property
    def backend(self) -> str:
        """The backend that runs it, as the server fills it in; "" for an ensemble, or where nothing says."""
        config = self.config
        if config.backend or config.platform == "ensemble":
            return str(config.backend)
        if config.platform:
            return PLATFORMS.get(config.platform, "")
        name = config.default_model_filename
        inside = [name] if name else self._first_version_files()
        for file, backend in _FILES.items():
            if file in inside:
                return backend
        _, dot, last = self.name.partition(".")
        return last if dot and not name else ""

    @cached_property
    def file_name(self) -> str:
        """The file that the python backend runs."""
        if self.config.default_model_filename:
            return str(self.config.default_model_filename)
        named = not (self.config.backend or self.config.platform) and self._by_name
        return f"model.{self.backend}" if named else "model.py"

    @property
    def _by_name(self) -> bool:
        """Whether only the folder's name says what runs it."""
        return not set(_FILES) & set(self._first_version_files())

    @cached_property
    def versions(self) -> tuple[int, ...]:
        """The versions that the policy loads."""
        present = sorted(self.folder.versions)
        policy = self.config.version_policy
        if policy.HasField("specific"):
            return tuple(version for version in present if version in policy.specific.versions)
        if policy.HasField("all"):
            return tuple(present)
        count = policy.latest.num_versions if policy.HasField("latest") else 1
        return tuple(present[len(present) - count :]) if count else ()

    @cached_property
    def onnx_files(self) -> tuple[str, ...]:
        """Every .onnx below the folder, which is where npu_ge looks."""
        return tuple(os.path.join(self.folder.path, file) for file in self.folder.files if file.endswith(".onnx"))

    @cached_property
    def onnx(self) -> OnnxFacts | None:
        """The ONNX file that the backend reads, if exactly one can be meant and it can be read."""
        return self._onnx[0]

    @property
    def onnx_error(self) -> ModelError | None:
        """Why the ONNX file cannot be read."""
        return self._onnx[1]

    @cached_property
    def _onnx(self) -> tuple[OnnxFacts | None, ModelError | None]:
        files = self.onnx_files
        if self.backend == "onnxruntime" and self.versions:
            wanted = self.config.default_model_filename or "model.onnx"
            path = os.path.join(self.folder.path, self.folder.versions[self.versions[-1]], wanted)
            files = (path,) if path in files else ()
        if len(files) != 1 or self.backend not in ("npu_ge", "onnxruntime"):
            return None, None
        try:
            return onnx_facts(files[0]), None
        except ModelError as error:
            return None, error

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._completed("input")

    @cached_property
    def outputs(self) -> tuple[Tensor, ...]:
        return self._completed("output")

    @cached_property
    def open(self) -> bool:
        """Whether the backend may add inputs and outputs that neither config nor ONNX shows."""
        if self.ensemble:
            return False
        listed = bool(self.config.input and self.config.output)
        if self.backend in ("npu_ge", "onnxruntime"):
            return not listed and self.onnx is None
        if self.backend == "python":
            return any("auto_complete_config" in text for text in self._sources())
        return not listed

    @property
    def max_batch_size(self) -> int:
        return int(self.config.max_batch_size)

    def at(self, *path: str | int) -> Place:
        """The line of a field of the config, or of the nearest block around it."""
        if not self.outline.entries:
            return Place(self.folder.config_path if self.folder.has(CONFIG) else self.folder.path)
        entry = self.outline.find(*path)
        return Place(self.folder.config_path, 0 if entry is self.outline else entry.line)

    def _completed(self, kind: str) -> tuple[Tensor, ...]:
        written = tuple(tensor_of(item) for item in getattr(self.config, kind))
        if self.ensemble or self.onnx is None:
            return written
        found = getattr(self.onnx, f"{kind}s")
        full = tuple(tensor.tensor(self.max_batch_size > 0) for tensor in found)
        if not written:
            return full
        known = {tensor.name: tensor for tensor in full}
        return tuple(_filled(tensor, known.get(tensor.name)) for tensor in written)

    def _first_version_files(self) -> list[str]:
        if not self.folder.folders:
            return []
        try:
            return os.listdir(os.path.join(self.folder.path, self.folder.folders[0]))
        except OSError:
            return []

    def _sources(self) -> list[str]:
        """The text of the model.py of each version."""
        texts = []
        for version in self.versions:
            relative = os.path.join(self.folder.versions[version], self.file_name)
            path = os.path.join(self.folder.path, relative)
            if relative in self.folder.files and os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts.append(file.read(1 << 20))
        return texts


def _filled(tensor: Tensor, found: Tensor | None) -> Tensor:
    if found is None:
        return tensor
    data_type = found.data_type if tensor.data_type == "TYPE_INVALID" else tensor.data_type
    return replace(tensor, data_type=data_type, dims=tensor.dims or found.dims)
