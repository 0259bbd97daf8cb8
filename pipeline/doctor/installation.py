"""The installation: versions, where the packages come from, and whether they work."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ge_engine.cache import Cache
from ge_engine.cache.store import FOLDER, OFF
from ops import BuildError, ServerError

from ..triton.find_server import server_here
from ..triton.releases import DEFAULT_TARGET
from ..triton.verify_client import INSTALL
from .check import Check
from .tiny_sum import tiny_sum

PACKAGES = ("pipeline", "ops", "ge_engine")
LIBRARIES = ("numpy", "onnx", "networkx", "protobuf", "typer", "rich")
OPENCV = ("opencv-python-headless", "opencv-python", "opencv-contrib-python", "opencv-contrib-python-headless")
CANN_RUNTIME = "onnxruntime-cann"


def examine_installation() -> Iterator[Check]:
    """Versions, where the packages come from, OpenCV, a tiny sum on each device, and the compile cache."""
    yield Check("python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for name in LIBRARIES:
        version = _version(name)
        yield Check(name, version is not None, version or "not installed", f"pip install {name}")
    yield opencv(_versions(OPENCV))
    owners = importlib.metadata.packages_distributions()
    yield onnx_runtime(_versions(sorted(set(owners.get("onnxruntime", ())))), _version("numpy") or "0")
    for package in PACKAGES:
        yield origin(package, owners.get(package, ()))
    for device in ("cpu", "null"):
        yield tiny_sum(device)
    yield compile_cache()
    yield from for_some_commands()


def for_some_commands() -> Iterator[Check]:
    """What only some commands need: told, and never a failure."""
    target = DEFAULT_TARGET
    try:
        server = server_here(target)
        seen = str(server.program) if server else f"none; `gepipe verify DIR` or `gepipe serve DIR` fetches {target}"
    except ServerError as error:
        seen = error.message
    yield Check("tritonserver", True, seen)
    yield Check("tritonclient", True, _version("tritonclient") or f"not installed; verify needs it: {INSTALL}")
    torch = _version("torch")
    yield Check("torch", True, torch or "not in this Python; `gepipe convert --python PATH` names one that has it")


def _versions(names: Sequence[str]) -> dict[str, str]:
    return {name: version for name in names if (version := _version(name))}


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def opencv(found: Mapping[str, str]) -> Check:
    """The distributions of cv2."""
    return _one_of("opencv", found, "opencv-python-headless")


def _one_of(module: str, found: Mapping[str, str], keep: str) -> Check:
    """One distribution of a module, and no more: they overwrite each other's files."""
    seen = ", ".join(f"{name} {version}" for name, version in found.items()) or "not installed"
    if not found:
        return Check(module, False, seen, f"pip install {keep}")
    others = " ".join(found)
    fix = f"keep one: pip uninstall {others}, then pip install {keep}; they share their files"
    return Check(module, len(found) == 1, seen, fix)


def onnx_runtime(found: Mapping[str, str], numpy: str) -> Check:
    """The distributions of onnxruntime: that for CANN is another one of the same module.

    numpy: its version, with which that for CANN may not be importable.
    """
    check = _one_of("onnxruntime", found, "onnxruntime")
    if check.ok and CANN_RUNTIME in found:
        seen = f"{check.seen}, with numpy {numpy}; a card is not run by it, and it falls back to the CPU in silence"
        fix = f"pip uninstall {CANN_RUNTIME}, then pip install onnxruntime; it cannot be imported with numpy 2"
        return Check(check.name, int(numpy.partition(".")[0]) < 2, seen, fix)
    return check


def origin(package: str, owners: Sequence[str]) -> Check:
    """Which distribution a package comes from: another one owns the module name `ops`, too.

    owners: the distributions that say they hold it. An editable install does not say so.
    """
    folder = Path(str(importlib.import_module(package).__file__)).parent
    here = Path(__file__).parents[2]
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
