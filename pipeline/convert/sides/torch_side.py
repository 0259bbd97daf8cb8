"""What only PyTorch can do, as a program of its own: export a model, run it. It imports nothing of ours.

Called with a job as JSON: {"do": "export", "function", "folder", "inputs", "outputs", "opset", "target"}, or {"do":
"run", ..., "feeds": [npz], "answers": [npz]}. What it found goes to the job's "report", as JSON.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def main(job_file: str) -> None:
    """Do one job."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    made = called(job["function"], job["folder"])
    model, examples = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if isinstance(model, type) or not hasattr(model, "eval"):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        sys.exit(f"gepipe: {job['function']} returned {what}, not a torch.nn.Module, or one with its example inputs")
    model.eval()
    inputs = inputs_of(job["inputs"], examples, job["function"])
    if job["do"] == "export":
        report = {"inputs": inputs}
        export(model, inputs, job)
    else:
        report = {}
        for feeds, answers in zip(job["feeds"], job["answers"]):
            with np.load(feeds) as arrays:
                np.savez(answers, **run(model, [arrays[name] for name in inputs], job["outputs"]))
    Path(job["report"]).write_text(json.dumps(report), encoding="utf-8")


def called(function: str, folder: str) -> Any:
    """What `module:function` or `file.py:function` returns. folder: where to look for it."""
    source, _, name = function.rpartition(":")
    sys.path.insert(0, folder)
    if source.endswith(".py"):
        path = os.path.join(folder, source)
        sys.path.insert(0, os.path.dirname(path))
        spec = importlib.util.spec_from_file_location("gepipe_model", path)
        if spec is None or spec.loader is None or not os.path.isfile(path):
            sys.exit(f"gepipe: there is no file {path}")
        module = importlib.util.module_from_spec(spec)
        sys.modules["gepipe_model"] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(source)
    if not callable(getattr(module, name, None)):
        sys.exit(f"gepipe: {source} has no function {name}")
    return getattr(module, name)()


def inputs_of(wanted: Mapping[str, Any], examples: Any, function: str) -> dict[str, Any]:
    """For each input its dtype and shape, as the job says, or else as the examples are, with the batch free."""
    if wanted:
        return dict(wanted)
    if examples is None:
        sys.exit(
            f"gepipe: {function} returned a model alone: return the model and example inputs by name, or list the "
            'inputs in a JSON file, as {"x": ["batch", 3, 224, 224]}'
        )
    named = examples if isinstance(examples, Mapping) else {f"input{i}": x for i, x in enumerate(_sequence(examples))}
    others = [name for name, tensor in named.items() if not hasattr(tensor, "dtype") or not len(tensor.shape)]
    if not named:
        sys.exit(f"gepipe: {function} returned no example inputs")
    if others:
        sys.exit(f"gepipe: {function} returned example inputs that are no tensors with a batch: {', '.join(others)}")
    return {
        name: {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": ["batch", *tensor.shape[1:]]}
        for name, tensor in named.items()
    }


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def export(model: Any, inputs: Mapping[str, Any], job: Mapping[str, Any]) -> None:
    """torch.onnx.export, with a name for each dim that varies."""
    import torch

    def example(spec: Mapping[str, Any]) -> Any:
        shape = [dim if isinstance(dim, int) else 2 if axis == 0 else 64 for axis, dim in enumerate(spec["shape"])]
        dtype = getattr(torch, spec["dtype"])
        return torch.zeros(shape, dtype=dtype) if not dtype.is_floating_point else torch.rand(shape).to(dtype)

    arguments = tuple(map(example, inputs.values()))
    with torch.no_grad():
        made = _flat(model(*arguments))
    names = job["outputs"] or [f"output{i}" for i in range(len(made))]
    if len(names) != len(made):
        sys.exit(f"gepipe: the model gives {len(made)} outputs, and {len(names)} names: {', '.join(names)}")
    axes = {
        name: {axis: dim for axis, dim in enumerate(spec["shape"]) if not isinstance(dim, int)}
        for name, spec in inputs.items()
    }
    batch = next((dims[0] for dims in axes.values() if 0 in dims), None)
    if batch:
        axes.update({name: {0: batch} for name in names})
    torch.onnx.export(
        model,
        arguments,
        job["target"],
        input_names=list(inputs),
        output_names=names,
        dynamic_axes={name: dims for name, dims in axes.items() if dims},
        opset_version=job["opset"],
        dynamo=False,
    )


def run(model: Any, arrays: Sequence[Any], outputs: Sequence[str]) -> dict[str, Any]:
    """The outputs by name."""
    import torch

    with torch.no_grad():
        made = _flat(model(*map(torch.from_numpy, arrays)))
    names = outputs or [f"output{i}" for i in range(len(made))]
    return {name: tensor.numpy() for name, tensor in zip(names, made)}


def _flat(value: Any) -> list[Any]:
    """The tensors that a model gives, in the order in which torch.onnx.export lists them."""
    if isinstance(value, Mapping):
        return [tensor for item in value.values() for tensor in _flat(item)]
    return [tensor for item in value for tensor in _flat(item)] if isinstance(value, (tuple, list)) else [value]


if __name__ == "__main__":
    main(sys.argv[1])
