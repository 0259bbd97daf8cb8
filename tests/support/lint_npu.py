"""A repository of one npu_ge model, right but for what a test changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lint_case import config, tensor
from onnx_files import node, save
from onnx_files import tensor as value

from ops import Finding
from pipeline.triton.lint import lint

PRECISION = {"session.ge.exec.precision_mode_v2": "origin"}
GEARS = {"graph.ge.inputShape": "x:-1,4", "graph.ge.dynamicDims": "1;2;3;4", "graph.ge.dynamicNodeType": "1"}
TWO_STREAMS = {"device_exec_blocks": "2"}
BATCH = "max_batch_size: 4 instance_group [ { count: 2 kind: KIND_CPU } ]"


def parameters(values: Mapping[str, str]) -> str:
    return " ".join(
        f'parameters {{ key: "{key}" value {{ string_value: "{text}" }} }}\n' for key, text in values.items()
    )


def npu_config(
    extra: str = BATCH,
    values: Mapping[str, str] | None = None,
    inputs: Sequence[str] = (tensor("x"),),
    outputs: Sequence[str] = (tensor("y"),),
) -> str:
    settings = PRECISION if values is None else values
    return config(extra, inputs, outputs, 'backend: "npu_ge"') + parameters(settings)


def identity(
    path: Path,
    inputs: Sequence[tuple[str, Sequence[Any], Any]] = (("x", ("batch", 4), np.float32),),
    outputs: Sequence[tuple[str, Sequence[Any], Any]] = (("y", ("batch", 4), np.float32),),
    **more: Any,
) -> Path:
    """Each output is its input, whatever dims they say."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nodes = [node("Identity", [a[0]], [b[0]]) for a, b in zip(inputs, outputs)]
    return save(path, nodes, [value(*item) for item in inputs], [value(*item) for item in outputs], **more)


def npu_model(folder: Path, text: str | None = None, onnx: bool = True) -> Path:
    """The model `m` in a repository; its folder."""
    model = folder / "models" / "m"
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_text(npu_config() if text is None else text, encoding="utf-8")
    if onnx:
        identity(model / "1" / "model.onnx")
    return model


def found(model: Path, **more: Any) -> dict[str, Finding]:
    """The findings of a model's repository, by rule."""
    return {finding.rule: finding for finding in lint(model.parent, **more)}
