"""tiny_sum: 2 + 2 on a device."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ge_engine.builder import GraphBuilder
from ge_engine.cache.store import FOLDER, OFF
from ge_engine.model import Model
from ops import GepipeError, TensorSpec

from ..pipeline import Pipeline
from .check import Check


def tiny_sum(device: str) -> Check:
    """Compile and run x + x: the whole walk, in small."""
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            cache_at(OFF),  # what was well the last time may not be now
            doubling(Path(folder), {"x": TensorSpec("float32", (1,))}).compile().session(device) as session,
        ):
            answer = session.run(x=np.full(1, 2, np.float32))["x2"].tolist()
    except GepipeError as error:
        seen = f"{error.where}: {error.message}" if error.where else error.message
        return Check(f"device {device}", False, seen, error.fix or "reinstall onnxruntime")
    except Exception as error:  # whatever it is, it is what doctor is asked for
        return Check(f"device {device}", False, f"{type(error).__name__}: {error}", "reinstall onnxruntime")
    ok = answer == [4] or device == "null"  # the null device does not calculate
    seen = f"2 + 2 = {answer[0]:g}" if device != "null" else "answers (it does not calculate)"
    return Check(
        f"device {device}", ok, seen, "look at npu-smi info" if device[:3] == "npu" else "reinstall onnxruntime"
    )


@contextmanager
def cache_at(place: str) -> Iterator[None]:
    """With another compile cache than the user's, or without one."""
    before = os.environ.get(FOLDER)
    os.environ[FOLDER] = place
    try:
        yield
    finally:
        del os.environ[FOLDER]
        if before is not None:
            os.environ[FOLDER] = before


def doubling(folder: Path, inputs: Mapping[str, TensorSpec]) -> Pipeline:
    """A pipeline whose only stage adds each input to itself: of x it makes x2. folder: for the model."""
    builder, pipeline = GraphBuilder(13), Pipeline("doctor")
    for name, spec in inputs.items():
        value = builder.input(name, spec)
        builder.output(f"{name}2", builder.op("Add", value, value), spec)
    path = folder / "doubling.onnx"
    path.write_bytes(builder.model().SerializeToString())
    made = Model(path)(*(pipeline.input(name, spec) for name, spec in inputs.items()))
    pipeline.output(**{f"{name}2": made[f"{name}2"] for name in inputs})
    return pipeline
