"""The files of an npu_ge model: V01, V24-V28, V30."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..model import Model
from ..onnx_facts import OnnxFacts
from ..problem import Place, Problem
from .npu_options import Options

_MAX_IR, _MAX_OPSET = 11, 23  # of ONNX Runtime 1.23.2
_GE_OPSETS = range(8, 19)
_HOST = {"Mod", "NonZero"}
_BY_DATA = {"Compress", "NonMaxSuppression", "NonZero", "SequenceAt", "StringSplit", "TfIdfVectorizer", "Unique"}
_NOT_REGISTERED = {
    "Attention", "BlackmanWindow", "CenterCropPad", "ConvInteger", "DFT", "DeformConv", "DequantizeLinear",
    "DynamicQuantizeLinear", "Gelu", "GroupNormalization", "HammingWindow", "HannWindow", "Loop", "MatMulInteger",
    "MelWeightMatrix", "NegativeLogLikelihoodLoss", "Optional", "OptionalGetElement", "OptionalHasElement",
    "QLinearConv", "QLinearMatMul", "QuantizeLinear", "RMSNormalization", "RNN", "RotaryEmbedding", "STFT", "Scan",
    "SequenceMap", "StringNormalizer", "Swish", "TensorScatter", "TfIdfVectorizer",
}  # fmt: skip


def check_files(model: Model) -> Iterator[Problem]:
    """What the backend finds in the folder, and whether it can read it."""
    here = Place(model.folder.path)
    frozen = [file for file in model.folder.files if file.endswith(".pb")]
    links = [path for path in model.folder.links_out if path.endswith((".onnx", ".pb"))]
    if len(model.onnx_files) > 1:
        shown = ", ".join(os.path.relpath(path, model.folder.path) for path in model.onnx_files[:4])
        message = (
            f"{len(model.onnx_files)} .onnx files ({shown}): the backend takes the one that it happens to find first"
        )
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
        yield from _onnx(model, model.onnx)


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


def _onnx(model: Model, onnx: OnnxFacts) -> Iterator[Problem]:
    place = Place(onnx.path)
    if onnx.ir > _MAX_IR or onnx.opset > _MAX_OPSET:
        message = (
            f"IR {onnx.ir}, opset {onnx.opset}: the backend reads the file with ONNX Runtime 1.23.2, which knows IR up "
            f"to {_MAX_IR} and opset up to {_MAX_OPSET}"
        )
        yield Problem("V28", place, message, "export for opset 17, IR 8", "refused")
    elif onnx.opset not in _GE_OPSETS:
        message = f"opset {onnx.opset}: GE's parser is documented for {_GE_OPSETS[0]} to {_GE_OPSETS[-1]}"
        yield Problem("V24", place, message, "export for opset 17", "advice")
    unknown = sorted(_NOT_REGISTERED & onnx.operators)
    if unknown:
        message = f"{', '.join(unknown)}: GE registers no parser for it in the releases looked at"
        yield Problem("V24", place, message, "export it as simpler operators, or try it with atc", "advice")
    by_data = sorted(_BY_DATA & onnx.operators)
    if by_data and Options(model).geared:
        message = f"{', '.join(by_data)}: the size of its output depends on data, and each gear has fixed sizes"
        yield Problem("V25", place, message, "leave it to the host stage behind the model")
    slow = sorted((_HOST & onnx.operators) | {f"{name} on int64" for name in onnx.int64_operators})
    if slow:
        message = f"{', '.join(slow)}: runs on the host's CPU, and breaks the graph into pieces"
        yield Problem("V30", place, message, "calculate in int32 or float32 where values allow", "advice")
