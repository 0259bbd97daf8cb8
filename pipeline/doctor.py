"""doctor: is everything there, of the right make, and does it add up?"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import platform
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np

from ge_engine.builder import GraphBuilder
from ge_engine.cache import Cache
from ge_engine.cache.store import FOLDER, OFF
from ge_engine.model import Model
from ops import BuildError, TensorSpec

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
    """Versions, where the packages come from, OpenCV, a tiny sum on each device, and the compile cache."""
    yield Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in LIBRARIES:
        version = _version(name)
        yield Check(name, version is not None, version or "not installed", f"pip install {name}")
    yield opencv({name: version for name in OPENCV if (version := _version(name))})
    owners = importlib.metadata.packages_distributions()
    for package in PACKAGES:
        yield origin(package, owners.get(package, ()))
    for device in ("cpu", "null"):
        yield tiny_sum(device)
    yield compile_cache()


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def opencv(found: Mapping[str, str]) -> Check:
    """One distribution of cv2, and no more: they overwrite each other's files."""
    seen = ", ".join(f"{name} {version}" for name, version in found.items()) or "no distribution of cv2"
    if not found:
        return Check("opencv", False, seen, "pip install opencv-python-headless")
    others = " ".join(found)
    fix = f"keep one: pip uninstall {others}, then pip install opencv-python-headless; they share their files"
    return Check("opencv", len(found) == 1, seen, fix)


def origin(package: str, owners: Sequence[str]) -> Check:
    """Which distribution a package comes from: another one owns the module name `ops`, too.

    owners: the distributions that say they hold it. An editable install does not say so.
    """
    folder = Path(str(importlib.import_module(package).__file__)).parent
    here = Path(__file__).parent.parent
    others = sorted(set(owners) - {"gepipe"})
    seen = f"{_ours(here)}: {folder}" if folder.parent == here else f"not beside pipeline: {folder}"
    if others:
        seen += f"; also in {', '.join(f'{name} {_version(name)}' for name in others)}"
    fix = "install gepipe into an environment of its own" + (f": pip uninstall {' '.join(others)}" if others else "")
    return Check(package, not others and folder.parent == here, seen, fix)


def _ours(here: Path) -> str:
    """What this installation of gepipe is."""
    try:
        found = importlib.metadata.distribution("gepipe")
    except importlib.metadata.PackageNotFoundError:
        return "gepipe (a folder, not installed)"
    if Path(str(found.locate_file("pipeline"))) == here / "pipeline":
        return f"gepipe {found.version}"
    source = json.loads(found.read_text("direct_url.json") or "{}")
    is_here = Path(url2pathname(urlsplit(source.get("url", "")).path)) == here
    return f"gepipe {found.version} (editable)" if is_here else "gepipe (a folder, not the installed one)"


def tiny_sum(device: str) -> Check:
    """Compile and run x + x: the whole walk, in small."""
    try:
        with tempfile.TemporaryDirectory() as folder, _doubling(folder).compile(cache=False).session(device) as session:
            answer = session.run(x=np.full(1, 2, np.float32))["y"].tolist()
    except Exception as error:  # whatever it is, it is what doctor is asked for
        return Check(f"device {device}", False, f"{type(error).__name__}: {error}", "reinstall onnxruntime")
    ok = answer == [4] or device == "null"  # the null device does not calculate
    seen = f"2 + 2 = {answer[0]:g}" if device != "null" else "answers (it does not calculate)"
    return Check(f"device {device}", ok, seen, "reinstall onnxruntime")


def compile_cache() -> Check:
    """Whether what is compiled can be kept for the next time."""
    try:
        cache = Cache.of_environment()
        if cache is None:
            return Check("compile cache", True, f"{FOLDER} is {OFF}")
        cache.new().close()
    except (OSError, BuildError) as error:
        return Check(
            "compile cache", False, str(error), f"give {FOLDER} a folder that can be written, or set it to {OFF}"
        )
    return Check("compile cache", True, str(cache.folder))


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
