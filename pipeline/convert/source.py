"""Source: what is to be converted, told by its looks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ops import SpecError, WrongUse
from ops.spec import canonical_dtype, is_whole

ONNX, FROZEN, SAVED_MODEL, TFLITE, TORCH = "ONNX", "frozen graph", "SavedModel", "TFLite", "PyTorch"
_ENDINGS = {".onnx": ONNX, ".pb": FROZEN, ".tflite": TFLITE}
_FORMS = (
    "give a SavedModel's folder, a .pb, .tflite or .onnx file, module:function that returns a torch model, or a JSON "
    "file that names one"
)
_OTHERS = {  # what people have in hand, and what to do with it
    ".pt": "write a function that makes the model and loads these weights, and give it as file.py:function",
    ".pth": "write a function that makes the model and loads these weights, and give it as file.py:function",
    ".keras": "save it as a SavedModel: model.export('folder')",
    ".h5": "save it as a SavedModel: model.export('folder')",
    ".om": "an .om is compiled for one card; convert what it was made from",
}


@dataclass(frozen=True)
class Source:
    """kind: one of the above. path: of the file or folder; for PyTorch the function, as module:function.

    folder, inputs, outputs, opset: of PyTorch, as its JSON file says: where the function is looked for, dtype ("" where
    it says none) and shape by input, names. opset: 0 where nobody says.
    """

    kind: str
    path: str
    folder: str = "."
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    opset: int = 0


def source_of(text: str) -> Source:
    """Errors: WrongUse for what is not there, or nothing that can be converted."""
    path = Path(text)
    if path.suffix == ".json":
        return _described(path)
    if not path.exists():
        if _is_function(text):
            return Source(TORCH, text)
        raise WrongUse(f"there is no {text}", fix=_FORMS)
    if path.is_dir():
        if (path / "saved_model.pb").is_file():
            return Source(SAVED_MODEL, text)
        raise WrongUse(f"{text} is a folder without saved_model.pb", fix=_FORMS)
    if path.name == "saved_model.pb":
        return Source(SAVED_MODEL, str(path.parent))
    if path.suffix not in _ENDINGS:
        raise WrongUse(f"{text} cannot be converted", fix=_OTHERS.get(path.suffix, _FORMS))
    return Source(_ENDINGS[path.suffix], text)


def _is_function(text: str) -> bool:
    """Whether it is written as module:function, or file.py:function."""
    module, _, function = text.rpartition(":")
    is_module = module.endswith(".py") or all(part.isidentifier() for part in module.split("."))
    return is_module and function.isidentifier()


def _described(path: Path) -> Source:
    """A JSON file: {"model": "net.py:make", "inputs": {"x": ["batch", 3, 224, 224]}, "outputs": ["y"], "opset": 17}."""
    known = {"model", "inputs", "outputs", "opset"}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(document, dict):
            raise ValueError(f"it holds {document!r}")
        unknown = set(document) - known
        if unknown:
            raise ValueError(f"it has {', '.join(sorted(unknown))}; known are {', '.join(sorted(known))}")
        model, outputs, opset = document["model"], document.get("outputs", []), document.get("opset", 0)
        inputs = document.get("inputs", {})
        for sound, rule in (
            (isinstance(model, str) and _is_function(model), f"model is module:function, not {model!r}"),
            (isinstance(outputs, list) and all(map(_is_name, outputs)), f"outputs is a list of names, not {outputs!r}"),
            (is_whole(opset, 0), f"opset is a whole number, not {opset!r}"),
            (isinstance(inputs, dict) and all(inputs), f"inputs has a shape for each name, and is {inputs!r}"),
        ):
            if not sound:
                raise ValueError(rule)
        inputs = {name: _input(spec) for name, spec in inputs.items()}
    except (OSError, ValueError, TypeError, KeyError, SpecError) as error:
        reason = f"there is no {error}" if isinstance(error, KeyError) else str(error).partition("\n")[0]
        raise WrongUse(f"{path} does not describe a torch model: {reason}", fix=str(_described.__doc__)) from error
    return Source(TORCH, model, os.path.dirname(path) or ".", inputs, tuple(outputs), opset)


def _input(spec: Any) -> dict[str, Any]:
    """A list of dims, or {"dtype", "shape"}; a dim is a size, or a name for what varies."""
    dtype, shape = (spec["dtype"], spec["shape"]) if isinstance(spec, dict) else ("", spec)
    if not (isinstance(shape, list) and shape and all(_is_name(dim) or is_whole(dim, 1) for dim in shape)):
        raise ValueError(f"a shape is a list of sizes and names, not {shape!r}")
    dtype = dtype if dtype == "" else canonical_dtype(dtype)
    if dtype == "bytes":
        raise ValueError("torch takes numbers, not bytes")
    return {"dtype": dtype, "shape": shape}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)
