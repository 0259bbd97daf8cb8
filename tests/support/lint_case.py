"""A model folder for lint, and short ways to write one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ECHO = """import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        tensors = [pb.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        return [pb.InferenceResponse([pb.Tensor("y", tensor)]) for tensor in tensors]
"""


@dataclass(frozen=True)
class Case:
    """A model folder. `rules`: every rule that lint finds in it; `words`: a part of one of the messages.

    loads: whether a server loads it; None for what would hang or end one, or needs what a test server has not.
    """

    name: str
    config: str | None
    rules: tuple[str, ...] = ()
    words: str = ""
    loads: bool | None = True
    files: Mapping[str, str] = field(default_factory=dict)
    folders: Sequence[str] = ("1",)

    def write(self, repository: Path) -> None:
        folder = repository / self.name
        folder.mkdir(parents=True)
        for version in self.folders:
            (folder / version).mkdir()
        if self.config is not None:
            (folder / "config.pbtxt").write_text(self.config, encoding="utf-8")
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def tensor(name: str, dims: str = "4", kind: str = "FP32", extra: str = "") -> str:
    return f'{{ name: "{name}" data_type: TYPE_{kind} dims: [ {dims} ] {extra} }}'


def config(
    extra: str = "",
    inputs: Sequence[str] = (tensor("x"),),
    outputs: Sequence[str] = (tensor("y"),),
    head: str = 'backend: "python"',
) -> str:
    return f"{head}\n{extra}\ninput [ {', '.join(inputs)} ]\noutput [ {', '.join(outputs)} ]\n"


def host(name: str, text: str, *rules: str, words: str = "", **more: object) -> Case:
    """A model of the python backend."""
    loads = more.pop("loads", not rules)
    files = {"1/model.py": ECHO, **dict(more.pop("files", {}))}  # type: ignore[call-overload]
    return Case(name, text, rules, words, loads, files, **more)  # type: ignore[arg-type]


def step(model: str, inputs: Mapping[str, str], outputs: Mapping[str, str], version: str = "model_version: -1") -> str:
    maps = [("input_map", inputs), ("output_map", outputs)]
    pairs = [f'{word} {{ key: "{key}" value: "{value}" }}' for word, pairs in maps for key, value in pairs.items()]
    return f'{{ model_name: "{model}" {version} {" ".join(pairs)} }}'


IN, OUT, MID, FROM_MID = {"x": "in"}, {"y": "out"}, {"y": "t"}, {"x": "t"}


def ensemble(
    name: str,
    steps: Sequence[str],
    *rules: str,
    words: str = "",
    loads: bool | None = None,
    asked: bool = True,
    inputs: Sequence[str] = (tensor("in"),),
    outputs: Sequence[str] = (tensor("out"),),
    extra: str = "",
    head: str = 'platform: "ensemble"',
) -> Case:
    text = config(extra, inputs, outputs, head) + f"ensemble_scheduling {{ step [\n{', '.join(steps)}\n] }}\n"
    loads = not rules if loads is None else loads
    return Case(name, text, rules, words, loads if asked else None)


def changed(old: str, new: str, extra: str = "") -> str:
    """The usual config with one thing changed, where it stands first."""
    text = config(extra)
    assert old in text
    return text.replace(old, new, 1)
