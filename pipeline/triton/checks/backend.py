"""Which backend runs a model: E01-E04, M02-M04, M23, M24, M26, and the dialect of older guides."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ops.near import nearest

from ..model import PLATFORMS, Model
from ..problem import Place, Problem

_KNOWN = (
    "npu_ge", "python", "onnxruntime", "tensorrt", "tensorflow", "pytorch", "openvino", "dali", "fil", "identity",
    "repeat", "square", "vllm", "tensorrtllm",
)  # fmt: skip
_OTHER_NAMES = {"onnx": "onnxruntime", "torch": "pytorch", "tf": "tensorflow", "trt": "tensorrt", "ge": "npu_ge"}
_PAIRED = set(PLATFORMS.values())  # the backends whose platform the server compares
_OLD_KEYS = {"EXECUTOR_TYPE": "leave EXECUTOR_TYPE out", "DEVICE_ID": 'DEVICE_ID is now "device_ids"'}


def check_backend(model: Model) -> Iterator[Problem]:
    """Backend and platform of one model."""
    config, name = model.config, model.name
    if config.name and config.name != name:
        message = f"unexpected directory name '{name}' for model '{config.name}', directory name must equal model name"
        yield Problem("M02", model.at("name"), message, f'write name: "{name}", or leave it out')
    if config.platform == "ensemble" and config.backend:
        message = f"Ensemble model '{name}' must have platform type 'ensemble' and empty backend type"
        yield Problem("E02", model.at("backend"), message, "leave backend out")
        return
    if config.HasField("ensemble_scheduling") and config.platform != "ensemble":
        yield _not_an_ensemble(model)
        return
    if config.platform == "ensemble":
        if not config.HasField("ensemble_scheduling"):
            message = f"ensemble scheduling must be set for ensemble {name} whose platform is ensemble"
            yield Problem("E03", model.at("platform"), message, "write ensemble_scheduling { step [ ... ] }")
        return
    if not model.backend:
        yield _without_backend(model)
        return
    paired = PLATFORMS.get(config.platform) == config.backend
    if config.platform and config.backend in _PAIRED and not paired:
        message = f"unexpected 'platform' and 'backend' pair, got:{config.platform}, {config.backend}"
        yield Problem("M04", model.at("platform"), message, "leave platform out")
    yield from _library(model)


def _not_an_ensemble(model: Model) -> Problem:
    if not model.backend:
        return Problem("E04", model.at(), _could_not(model.name), 'write platform: "ensemble"')
    message = f"ensemble scheduling cannot be set for model '{model.name}' whose platform is not ensemble"
    field = "backend" if model.config.backend else "ensemble_scheduling"
    return Problem("E01", model.at(field), message, 'write platform: "ensemble", and no backend')


def _without_backend(model: Model) -> Problem:
    config = model.config
    if not config.platform and not config.default_model_filename:
        return Problem("E04", model.at(), _could_not(model.name), _form(model))
    message = f"unexpected platform type '{config.platform}' for {model.name}"
    return Problem("M03", model.at("platform"), message, _form(model))


def _could_not(name: str) -> str:
    return (
        f"Invalid model name: Could not determine backend for model '{name}' with no backend in model configuration. "
        "Expected model name of the form 'model.<backend_name>'."
    )


def _form(model: Model) -> str:
    """What to write instead; older guides for Ascend name an executor, which npu_ge has replaced."""
    platform = model.config.platform
    old = [advice for key, advice in _OLD_KEYS.items() if key in model.config.parameters]
    graphdef = next((file for file in model.folder.files if file.endswith(".graphdef")), None)
    if not old and platform not in ("graph_executor", "npu_ge") and not graphdef:
        known = nearest(platform, (*_KNOWN, *PLATFORMS)) if platform else None
        return (
            f'write backend: "{known or "..."}" instead of platform'
            if platform
            else 'write backend: "npu_ge", or another'
        )
    if graphdef:
        old.append(f"{graphdef} becomes model.pb, or better one .onnx")
    file = "" if graphdef else "; the folder holds one .onnx"
    return "; ".join(['write backend: "npu_ge" instead of platform', *old]) + file


def _library(model: Model) -> Iterator[Problem]:
    backend, runtime = model.backend, str(model.config.runtime)
    if backend not in _KNOWN and not _beside(model, runtime or f"libtriton_{backend}.so"):
        meant = _OTHER_NAMES.get(backend.lower()) or nearest(backend, _KNOWN)
        message = (
            f"unable to find backend library for backend '{backend}', "
            "try specifying runtime on the model configuration."
        )
        place = model.at("backend" if model.config.backend else "name")
        if meant:
            yield Problem("M23", place, message, f'write backend: "{meant}"')
        else:
            fix = f"make sure that the server's backend directory holds {backend}/"
            yield Problem("M23", place, f"if the server does not have it: {message}", fix, "advice")
    if runtime:
        yield from _runtime(model, runtime)
    for index, group in enumerate(model.config.instance_group):
        if group.profile and backend != "tensorrt":
            message = (
                f"instance group {group.name or f'{model.name}_{index}'} of model {model.name} and platform "
                f"{model.config.platform}specifies profile field which is only supported for TensorRT models"
            )
            yield Problem("M26", model.at("instance_group", index, "profile"), message, "leave profile out")


def _runtime(model: Model, runtime: str) -> Iterator[Problem]:
    place = model.at("runtime")
    if os.path.basename(runtime) != runtime:
        message = f"runtime '{runtime}' leads out of the backend directory; releases after 24.02 refuse it"
        yield Problem("M24", place, message, "write the name of a file, without folders", "advice")
        return
    own = {"python": ("libtriton_python.so",), "npu_ge": ("libtriton_npu_ge.so", "model.py")}.get(model.backend)
    if own is None or runtime in own or (runtime != "model.py" and _beside(model, runtime)):
        return
    if runtime == "model.py":
        message = f"unable to find Python backend based backend library 'model.py' for model '{model.name}'"
    else:
        message = f"unable to find backend library '{runtime}' for model '{model.name}', searched: "
    yield Problem("M24", place, message, f"leave runtime out, or write {' or '.join(own)}")


def _beside(model: Model, library: str) -> bool:
    """Whether a library lies in the model's folder or in one of its versions."""
    folder = model.folder
    return folder.has(library) or any(folder.has(name, library) for name in folder.versions.values())


def check_name(model: Model) -> Iterator[Problem]:
    """L11: a name that an address can hold."""
    bad = sorted(
        {letter for letter in model.name if not (letter.isascii() and letter.isalnum()) and letter not in "_.-"}
    )
    if bad:
        message = f"the HTTP front end does not decode {' '.join(map(repr, bad))} in an address"
        fix = "rename the folder: letters, digits, _ . and - only"
        yield Problem("L11", Place(model.folder.path), f"model '{model.name}': {message}", fix, "fails")
