"""The files of an npu_ge model: V01, V24-V28, V30."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..model import Model
from ..problem import Place, Problem
from .npu_options import Options
from .onnx_file import check_onnx


def check_files(model: Model) -> Iterator[Problem]:
    """What the backend finds in the folder, and whether it can read it."""
    here = Place(model.folder.path)
    frozen = [file for file in model.folder.files if file.endswith(".pb")]
    links = [path for path in model.folder.links_out if path.endswith((".onnx", ".pb"))]
    onnx = [os.path.relpath(path, model.folder.path) for path in model.onnx_files]
    several = onnx or frozen  # a .pb is looked for where there is no .onnx
    if len(several) > 1:
        ending, shown = ".onnx" if onnx else ".pb", ", ".join(several[:4])
        message = f"{len(several)} {ending} files ({shown}): the backend takes the one that it happens to find first"
        yield Problem("V01", here, message, "keep one; a second version is a model of its own")
    elif not model.onnx_files and not frozen and not links:
        message = f"Model file not found: dir path {model.folder.path}"
        other = next(
            (file for file in model.folder.files if file.lower().endswith((".onnx", ".graphdef", ".om"))), None
        )
        fix = f"{other} is not read: give it the ending .onnx or .pb" if other else "put one .onnx into 1/"
        yield Problem("V01", here, message, fix, "refused")
    elif not model.onnx_files and frozen:
        yield from _frozen(model)
    if len(model.folder.versions) > 1:
        message = (
            f"versions {', '.join(map(str, sorted(model.folder.versions)))}: npu_ge does not look at version folders"
        )
        yield Problem("V27", here, message, "one version a model; a second version is a model of its own", "advice")
    if model.onnx_error is not None:
        error = model.onnx_error
        yield Problem(
            "V28", Place(model.onnx_files[0]), error.message, error.fix or "export the model again", "refused"
        )
    if model.onnx is not None:
        yield from check_onnx(model.onnx, Options(model).geared)


def _frozen(model: Model) -> Iterator[Problem]:
    config = model.config
    if not config.input or not config.output:
        message = "a frozen TensorFlow graph: nothing is read from it, so config.pbtxt has to list inputs and outputs"
        yield Problem("V26", model.at("input"), message, "list input [ ... ] and output [ ... ]", "refused")
    elif model.max_batch_size == 0 and all(
        item.dims and item.dims[0] == -1 for item in (*config.input, *config.output)
    ):
        message = "a frozen TensorFlow graph with -1 as first dim everywhere: not support model_mode_TENSOR_ZERO"
        yield Problem("V26", model.at("input"), message, "write max_batch_size, and dims without the batch", "refused")
