"""doctor: is everything there, of the right make, and does it add up?"""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ops
from ge_engine.builder import GraphBuilder
from ge_engine.model import Model
from ops import GepipeError, TensorSpec

from .pipeline import Pipeline

PACKAGES = ("pipeline", "ops", "ge_engine")
LIBRARIES = ("numpy", "onnx", "onnxruntime", "networkx", "protobuf", "typer", "rich")
OPENCV = ("opencv-python-headless", "opencv-python", "opencv-contrib-python", "opencv-contrib-python-headless")


@dataclass(frozen=True)
class Check:
    """One thing looked at: whether it is well, what was seen, and what to do if it is not."""

    name: str
    ok: bool
    seen: str
    fix: str = ""


def examine() -> Iterator[Check]:
    """Versions, where the packages come from, OpenCV, and a tiny sum on each device."""
    yield Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in LIBRARIES:
        version = _version(name)
        yield Check(name, version is not None, version or "not installed", f"pip install {name}")
    yield _opencv()
    for package in PACKAGES:
        yield _origin(package)
    for device in ("cpu", "null"):
        yield _tiny_sum(device)


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _opencv() -> Check:
    found = {name: version for name in OPENCV if (version := _version(name))}
    seen = ", ".join(f"{name} {version}" for name, version in found.items()) or "no distribution of cv2"
    fix = "keep one: pip uninstall the others, then reinstall opencv-python-headless; they overwrite each other's files"
    return Check("opencv", len(found) == 1, seen, fix)


def _origin(package: str) -> Check:
    """Another distribution owns the module name `ops` too: ours must be the one that is imported."""
    owners = sorted(set(importlib.metadata.packages_distributions().get(package, ())))
    seen = f"from {', '.join(owners) or 'a folder'}"
    fix = "install gepipe into an environment of its own"
    others = [owner for owner in owners if owner != "gepipe"]
    ours = package != "ops" or hasattr(ops, "TensorSpec")
    return Check(package, not others and ours, seen, fix)


def _tiny_sum(device: str) -> Check:
    """Compile and run x + x: the whole walk, in small."""
    try:
        with tempfile.TemporaryDirectory() as folder, _doubling(folder).compile().session(device) as session:
            answer = session.run(x=np.full(1, 2, np.float32))["y"].tolist()
    except GepipeError as error:
        return Check(f"device {device}", False, str(error), "see the message")
    ok = answer == [4] or device == "null"  # the null device does not calculate
    return Check(f"device {device}", ok, "2 + 2 = 4" if answer == [4] else "answers", "reinstall onnxruntime")


def _doubling(folder: str) -> Pipeline:
    spec = TensorSpec("float32", (1,))
    builder = GraphBuilder(13)
    x = builder.input("x", spec)
    builder.output("y", builder.op("Add", x, x), spec)
    path = Path(folder) / "double.onnx"
    path.write_bytes(builder.model().SerializeToString())
    pipeline = Pipeline("doctor")
    pipeline.output(y=Model(path)(pipeline.input("x", spec)))
    return pipeline
