"""Model file: whether there is one at a path, before anything reads it."""

from __future__ import annotations

import os

from ops import ModelError
from ops.near import near

ONNX, FROZEN = ENDINGS = (".onnx", ".pb")  # npu_ge, too, goes by the ending
_OTHERS = (".tflite", ".pt", ".pth", ".keras", ".h5", ".safetensors")  # of other frameworks


def status_of(path: str, again: str) -> os.stat_result:
    """Of a file that is there and not empty. again: how such a file is made.

    Errors: ModelError.
    """
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # a path with a NUL is a ValueError
        raise _missing(path) from None
    if os.path.isfile(os.path.join(path, "saved_model.pb")):
        raise ModelError(f"{path} is a SavedModel", fix=f"make one file of it: gepipe convert {path} -o model.pb")
    if os.path.isdir(path):
        raise ModelError(f"{path} is a folder, not a model", fix=f"name the {' or '.join(ENDINGS)} file in it")
    if not os.path.isfile(path):  # a pipe or a device might never end
        raise ModelError(f"{path} is not a file", fix=f"name a file {' or '.join(ENDINGS)}")
    if path.endswith(_OTHERS):
        fix = f"gepipe convert {path} -o model.onnx, which makes ONNX of it or says what that takes"
        raise ModelError(f"{path} is neither ONNX nor a frozen graph", fix=fix)
    if not status.st_size:
        raise ModelError(f"{path} is empty", fix=again)
    return status


def _missing(path: str) -> ModelError:
    folder, name = os.path.split(path)
    try:
        beside = sorted(os.listdir(folder or "."))
    except (OSError, ValueError):
        return ModelError(f"there is no file {path}, nor a folder {folder}", fix="write the path relative to the file")
    if name in beside:
        return ModelError(f"{path} is a link to what is not there", fix="mend the link, or put the model there")
    models = [other for other in beside if other.endswith(ENDINGS)]
    fix = "put the model there, or write its path relative to the file that declares it"
    return ModelError(f"there is no file {path}", fix=near(name, models) if models else fix)
