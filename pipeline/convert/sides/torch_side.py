"""What only PyTorch can do, as a program of its own: export a model, run it. It imports nothing of ours.

Called with a job as JSON: {"do": "export", "function", "folder", "inputs", "outputs", "opset", "sizes", "target"}, or
{"do": "run", ..., "feeds": [npz], "answers": [npz]}. What it found goes to the job's "report", as JSON.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

_FORM = 'return the model with its example inputs by name: (model, {"x": tensor})'


class Input(NamedTuple):
    """shape: sizes, and names of what varies. example: the user's own, or None."""

    dtype: str
    shape: list[Any]
    example: Any


def main(job_file: str) -> None:
    """Do one job."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    made = called(job["function"], job["folder"])
    model, examples = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if isinstance(model, type) or not hasattr(model, "eval"):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
        refuse(f"{job['function']} returned {what}, not a torch.nn.Module, or one with its example inputs", _FORM)
    model.eval()
    own = parameters_of(model)
    inputs = inputs_of(job["inputs"], examples, list(own), job["function"])
    model, names, told = in_order(model, list(inputs), own)
    inputs = {name: inputs[name] for name in names}
    if job["do"] == "export":
        report = {**export(model, inputs, job), "told": told}
    else:
        report = {"failed": [run(model, list(inputs), job, *files) for files in zip(job["feeds"], job["answers"])]}
    Path(job["report"]).write_text(json.dumps(report), encoding="utf-8")


def refuse(message: str, fix: str) -> NoReturn:
    """End, with what was wrong and what to do."""
    sys.exit(f"gepipe: {message}\nfix: {fix}")


def called(function: str, folder: str) -> Any:
    """What `module:function` or `file.py:function` returns. folder: where to look for it."""
    source, _, name = function.rpartition(":")
    sys.path.insert(0, folder)
    try:
        module = (
            of_file(os.path.normpath(os.path.join(folder, source)))
            if source.endswith(".py")
            else importlib.import_module(source)
        )
        if not callable(getattr(module, name, None)):
            others = [other for other, value in vars(module).items() if is_own(value, module) and other[0] != "_"]
            close = difflib.get_close_matches(name, others, 1)
            fix = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(sorted(others)) or 'none at all'}"
            refuse(f"{source} has no function {name}", fix)
        return getattr(module, name)()
    except ModuleNotFoundError as error:
        if error.name is None or not f"{source}.".startswith(f"{error.name}."):
            raise
        refuse(
            f"there is no module {error.name}", "start where it can be imported, or give its file: folder/net.py:make"
        )
    except FileNotFoundError as error:
        missing = str(error.filename or error)
        relative = f"a relative path starts at the current folder, {os.getcwd()}: join it to os.path.dirname(__file__)"
        refuse(
            f"{function} does not find {missing}", "name a file that is there" if os.path.isabs(missing) else relative
        )


def of_file(path: str) -> Any:
    """The module that a file is."""
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("gepipe_model", path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        refuse(f"there is no file {path}", "give the path of the file, and its function: folder/net.py:make")
    module = importlib.util.module_from_spec(spec)
    sys.modules["gepipe_model"] = module
    spec.loader.exec_module(module)
    return module


def is_own(value: Any, module: Any) -> bool:
    """Whether it is a function or class of this very module."""
    return callable(value) and getattr(value, "__module__", "") == module.__name__


def inputs_of(wanted: Mapping[str, Any], examples: Any, own: Sequence[str], function: str) -> dict[str, Input]:
    """What the job says of the inputs; dtypes it does not name, and all where it names none, are those of the examples.

    Of an example alone the first axis is the batch, and varies. own: what `forward` calls its inputs.
    """
    given = examples_of(examples, list(wanted), own, function)
    if not wanted and not given:
        refuse(
            f"{function} returned a model alone",
            f'{_FORM}; or list the inputs in a JSON file, as {{"x": ["batch", 3, 224, 224]}}',
        )
    if not wanted:
        return {name: Input(dtype_of(x), ["batch", *x.shape[1:]], x) for name, x in given.items()}
    return {name: merged(name, spec, given.get(name), function) for name, spec in wanted.items()}


def examples_of(examples: Any, names: Sequence[str], own: Sequence[str], function: str) -> dict[str, Any]:
    """The example inputs by name; those without names have the wanted ones, or forward's own."""
    if examples is None:
        return {}
    if isinstance(examples, Mapping):
        named = dict(examples)
    else:
        listed = examples if isinstance(examples, (tuple, list)) else (examples,)
        known = names or own
        named = dict(zip([*known, *(f"input{i}" for i in range(len(known), len(listed)))], listed))
    others = [name for name, x in named.items() if not hasattr(x, "dtype") or not len(x.shape)]
    if others:
        refuse(f"{function} returned example inputs that are no tensors with a batch: {', '.join(others)}", _FORM)
    if not named:
        refuse(f"{function} returned no example inputs", _FORM)
    if names and set(named) != set(names):
        refuse(
            f"{function} returned examples for {', '.join(named)}, and the JSON file has inputs {', '.join(names)}",
            "call them alike",
        )
    return named


def merged(name: str, spec: Mapping[str, Any], example: Any, function: str) -> Input:
    """An input as the JSON file says, with the dtype of its example where that says none."""
    shape = list(spec["shape"])
    if example is None:
        return Input(spec["dtype"] or "float32", shape, None)
    dtype, sizes = dtype_of(example), list(example.shape)
    fits = len(sizes) == len(shape) and all(isinstance(dim, str) or dim == size for dim, size in zip(shape, sizes))
    if not fits or spec["dtype"] not in ("", dtype):
        refuse(
            f"input '{name}' is {spec['dtype'] or dtype}{shown(shape)} in the JSON file, and the example that "
            f"{function} returned {dtype}{shown(sizes)}",
            "let them agree",
        )
    return Input(dtype, shape, example)


def dtype_of(tensor: Any) -> str:
    """As numpy calls it."""
    return str(tensor.dtype).removeprefix("torch.")


def shown(shape: Sequence[Any]) -> str:
    """A shape in a message."""
    return f"[{', '.join(map(str, shape))}]"


def parameters_of(model: Any) -> dict[str, bool]:
    """What `forward` calls its inputs, as far as it can be told, and whether they may go by place."""
    try:
        parameters = inspect.signature(model.forward).parameters.values()
    except (TypeError, ValueError):  # compiled code need not tell
        return {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {one.name: one.kind is not inspect.Parameter.KEYWORD_ONLY for one in parameters if one.kind in named}


def in_order(model: Any, names: list[str], own: Mapping[str, bool]) -> tuple[Any, list[str], str]:
    """What takes tensors by place, the names in that order, and what to say of it.

    Inputs go by name where `forward` has parameters of these names, else by place. own: as parameters_of.
    """
    placed = [name for name, by_place in own.items() if by_place]
    if all(name in own for name in names):
        ordered = [name for name in own if name in names]
        return (model if ordered == placed[: len(names)] else by_name(model, ordered)), ordered, ""
    pairs = list(zip(names, placed))
    if any(name != parameter and name in own for name, parameter in pairs):
        refuse(
            f"inputs {', '.join(names)} go by place to forward({', '.join(own)}), where some of these names stand "
            "elsewhere",
            "call all of them as forward does",
        )
    renamed = [f"'{name}' is forward's '{parameter}'" for name, parameter in pairs if name != parameter]
    return model, names, f"inputs go by place: {', '.join(renamed)}" if renamed else ""


def by_name(model: Any, names: Sequence[str]) -> Any:
    """A model that gives its tensors on by name: these are not the first that `forward` takes."""
    import torch

    class ByName(torch.nn.Module):  # type: ignore[misc]  # torch need not be here
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            return self.model(**dict(zip(names, tensors)))

    return ByName().eval()


def export(model: Any, inputs: Mapping[str, Input], job: Mapping[str, Any]) -> dict[str, Any]:
    """torch.onnx.export, with a name for each axis that varies.

    It reports the sizes of those axes, beside the batch, or which have none; and between what the ids of examples are.
    """
    import torch

    sizes = sizes_of(inputs)
    given = {**sizes, **(job["sizes"][0] if job["sizes"] else {})}
    if unsized(inputs, given):
        return {"unsized": unsized(inputs, given)}
    arguments = tuple(tensor_for(name, spec, given) for name, spec in inputs.items())
    try:
        made = answers_of(model, arguments)
    except Exception as error:  # whatever the user's code raises
        refuse_run(model, inputs, given, arguments, error)
    names = job["outputs"] or [f"output{i}" for i in range(len(made))]
    if len(names) != len(made):
        refuse(f"the model gives {len(made)} outputs, and {len(names)} names: {', '.join(names)}", "name each of them")
    axes = {name: dict(varying(spec)) for name, spec in inputs.items()}
    batch = next((dims[0] for dims in axes.values() if 0 in dims), None)
    if batch:
        axes.update({name: {0: batch} for name, tensor in zip(names, made) if len(tensor.shape)})
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
    ids = {
        name: [int(spec.example.min()), int(spec.example.max())]
        for name, spec in inputs.items()
        if spec.example is not None and spec.dtype in ("int32", "int64")
    }
    traced = next((int(x.shape[0]) for x, spec in zip(arguments, inputs.values()) if is_open(spec)), 1)
    return {"inputs": list(inputs), "sizes": sizes, "ids": ids, "batch": traced}


def answers_of(model: Any, arguments: Sequence[Any]) -> list[Any]:
    """What a model gives. Errors: whatever its code raises."""
    import torch

    with torch.no_grad():
        return flat(model(*arguments))


def refuse_run(
    model: Any, inputs: Mapping[str, Input], sizes: Mapping[str, int], arguments: Sequence[Any], error: Exception
) -> NoReturn:
    """End, where it does not run on what it is traced with: is it the batch, or all of it?"""
    names = [name for name, spec in inputs.items() if is_open(spec)]
    told = told_of(inputs, arguments)
    single = [tensor_for(name, spec, sizes, 1) for name, spec in inputs.items()]
    if told_of(inputs, single) != told and runs(model, single):
        place = place_of(error)
        refuse(
            f"the code fixes the batch: the model runs on {told_of(inputs, single)}, and not on {told}: "
            f"{reason_of(error)}",
            f"use {names[0]}.shape[0] in place of a number{f' at {place}' if place else ''}; or, for one sample at a "
            "time, write 1 for the batch in a JSON file of the inputs",
        )
    refuse(
        f"the model does not run on {told}: {reason_of(error)}",
        "return example inputs that it takes, or say in a JSON file what they are, as "
        '{"ids": {"dtype": "int64", "shape": ["batch", "seq"]}}',
    )


def runs(model: Any, arguments: Sequence[Any]) -> bool:
    """Whether it gives something."""
    try:
        answers_of(model, arguments)
    except Exception:  # whatever the user's code raises
        return False
    return True


def told_of(inputs: Mapping[str, Input], tensors: Sequence[Any]) -> str:
    """In a message."""
    return ", ".join(f"{name} {dtype_of(x)}{shown(x.shape)}" for name, x in zip(inputs, tensors))


def is_open(spec: Input) -> bool:
    """Whether its first axis varies."""
    return isinstance(spec.shape[0], str)


def varying(spec: Input) -> list[tuple[int, str]]:
    """The axes that have a name in place of a size."""
    return [(axis, dim) for axis, dim in enumerate(spec.shape) if isinstance(dim, str)]


def sizes_of(inputs: Mapping[str, Input]) -> dict[str, int]:
    """What the examples have for each name of an axis, but the batch."""
    sizes: dict[str, int] = {}
    for name, spec in inputs.items():
        for axis, dim in varying(spec) if spec.example is not None else ():
            size = spec.example.shape[axis]
            if axis and sizes.setdefault(dim, size) != size:
                refuse(f"'{dim}' is {size} in the example of '{name}', and {sizes[dim]} in another", "let them agree")
    return sizes


def unsized(inputs: Mapping[str, Input], sizes: Mapping[str, int]) -> list[str]:
    """The names of the axes, beside the batch, whose sizes nobody gave."""
    return [
        dim
        for name, spec in inputs.items()
        for axis, dim in varying(spec)
        if axis and dim not in sizes and f"{name}.{axis}" not in sizes
    ]


def tensor_for(name: str, spec: Input, sizes: Mapping[str, int], batch: int = 2) -> Any:
    """What to trace with: the example, twice where it is one sample, since a batch of one may be taken for fixed."""
    import torch

    if spec.example is not None:
        single = is_open(spec) and spec.example.shape[0] == 1
        return torch.cat([spec.example] * batch) if single else spec.example
    places = ((f"{name}.{axis}", dim, batch if axis == 0 else None) for axis, dim in enumerate(spec.shape))
    shape = [dim if isinstance(dim, int) else sizes.get(place, sizes.get(dim, size)) for place, dim, size in places]
    dtype = getattr(torch, spec.dtype)
    return torch.zeros(shape, dtype=dtype) if not dtype.is_floating_point else torch.rand(shape).to(dtype)


def run(model: Any, inputs: Sequence[str], job: Mapping[str, Any], feeds: str, answers: str) -> str:
    """Write the outputs by name; or why there are none."""
    import torch

    with np.load(feeds) as arrays:
        try:
            made = answers_of(model, [torch.from_numpy(arrays[name]) for name in inputs])
        except Exception as error:  # whatever the user's code raises
            return reason_of(error)
    names = job["outputs"] or [f"output{i}" for i in range(len(made))]
    np.savez(answers, **{name: tensor.numpy() for name, tensor in zip(names, made)})
    return ""


def reason_of(error: Exception) -> str:
    """What it says, and where."""
    where = f" ({place_of(error)})" if place_of(error) else ""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}{where}"


def place_of(error: Exception) -> str:
    """The last line of the user's own code on the way to it; "" where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if "site-packages" not in one.filename and one.filename != __file__]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def flat(value: Any) -> list[Any]:
    """The tensors that a model gives, in the order in which torch.onnx.export lists them."""
    if isinstance(value, Mapping):
        return [tensor for item in value.values() for tensor in flat(item)]
    return [tensor for item in value for tensor in flat(item)] if isinstance(value, (tuple, list)) else [value]


if __name__ == "__main__":
    main(sys.argv[1])
