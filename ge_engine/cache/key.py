"""Key: what a built stage depends on, as one name.

The steps take part as the graph that they are lowered to, so whatever an op does in `lower`, a user's own included, is
in it. Weights take part by the content of their files, wherever those lie. And the graphs are checked by running them
here: the same work on another CPU, or with another number of cores, may give other bytes.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import onnx

from .. import weights
from ..cores import usable_cores
from ..gears import Gears
from ..skeleton import tensors
from ..stage import StageGraph

FORMAT = 1  # of an entry
_ABOUT_CPU = ("vendor_id", "cpu family", "model", "model name", "flags", "Features", "CPU implementer", "CPU part")


def _source() -> str:
    """Of the package that builds: while it is worked on, its version stays."""
    result = hashlib.sha256()
    home = Path(__file__).parents[1]
    for path in (*sorted(home.glob("*.py")), *sorted(home.glob("half/*.py"))):
        result.update(path.read_bytes())
    return result.hexdigest()


SOURCE = _source()  # of what has just been imported: a file that is edited later is not what runs here


def key_of(stage: StageGraph, gears: Gears, model: onnx.ModelProto, digest: Callable[[str], str]) -> str:
    """The name of what comes of a stage. model: the stage, assembled; digest: of a file's content.

    Errors: OSError for a file of weights that cannot be read.
    """
    parts = {
        "format": FORMAT,
        "graph": hashlib.sha256(_by_content(model, digest).SerializeToString(deterministic=True)).hexdigest(),
        "stage": stage.name,
        "steps": [step.name for step in stage.steps],
        "inputs": [[key, repr(spec)] for key, spec in stage.inputs],
        "outputs": [[key, repr(spec)] for key, spec in stage.outputs],
        "precision": stage.precision,
        "gears": [gears.batches, gears.sizes],
        "versions": versions(),
        "source": SOURCE,
        "machine": machine(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _by_content(model: onnx.ModelProto, digest: Callable[[str], str]) -> onnx.ModelProto:
    """The graph with the content of each file of weights in place of its path."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for tensor in filter(weights.is_heavy, tensors(result.graph)):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = digest(entry.value)
    return result


@lru_cache(maxsize=1)
def versions() -> tuple[str, ...]:
    """Of all that has a hand in it."""
    import onnxruntime  # here, since only what builds asks

    try:
        ours = importlib.metadata.version("gepipe")
    except importlib.metadata.PackageNotFoundError:  # a folder, not installed
        ours = ""
    return ours, onnx.__version__, onnxruntime.__version__, onnxruntime.get_build_info(), np.__version__


@lru_cache(maxsize=1)
def machine() -> tuple[str, ...]:
    """The instructions that the CPU knows, its make, and how many cores there are to compute on."""
    return platform.system(), platform.machine(), str(usable_cores()), *_cpu()


def _cpu() -> Iterator[str]:
    yield os.environ.get("PROCESSOR_IDENTIFIER", "")  # Windows
    yield from sorted(name for name, here in _features().items() if here)
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            lines = file.read(8192).decode("utf-8", "replace").partition("\n\n")[0].splitlines()
    except OSError:
        return
    yield from (line for line in lines if line.partition(":")[0].strip() in _ABOUT_CPU)


def _features() -> dict[str, bool]:
    """What numpy found out about the CPU."""
    try:
        umath = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # numpy 1
        umath = importlib.import_module("numpy.core._multiarray_umath")
    found: dict[str, bool] = umath.__cpu_features__
    return found
