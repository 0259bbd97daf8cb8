"""A tritonserver for the suites: on exports and hand-written ensembles together, in one repository."""

from __future__ import annotations

import hashlib
import importlib.metadata
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from bench import Bench, Measure

from ge_engine.cache import cache_folder
from ops import Array
from pipeline.bench import Settings, measure
from pipeline.triton.bench_server import ServedModel, ServerTarget
from pipeline.triton.bench_wire import connect
from pipeline.triton.find_server import find_server
from pipeline.triton.installed import made_once, pip_install
from pipeline.triton.server import Server
from pipeline.triton.stub_environment import stub_environment

CLIENTS = 16
_RELEASE = "24.02"


def server(repository: Path) -> Server:
    """To be used with `with`. Its host stages' Python has what the hand-written ones need, besides what ours do."""
    return Server(repository, target=_RELEASE, environment=_environment())


def _environment() -> Path:
    made = stub_environment(find_server(_RELEASE))
    requirements = ["numpy>=1.23.5,<2", "opencv-python-headless>=4.10,<4.12", "pillow==12.2.0"]
    requirements.append(f"onnxruntime=={importlib.metadata.version('onnxruntime')}")
    key = hashlib.sha256(" ".join(requirements).encode()).hexdigest()[:8]

    def make(folder: Path) -> None:
        python = Path(f"{sys.base_prefix}/bin/python{made.release}")
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
        pip_install(requirements, python=folder / "bin" / "python3")

    return made_once(cache_folder() / f"bench-{made.release}-{key}", make)


def asked(bench: Bench, url: str, model: str, sample: Mapping[str, Array]) -> Measure:
    """The rate at which 16 gRPC clients of this process are answered, on the same cores."""
    target = ServerTarget(ServedModel(connect(url, "grpc"), model), [sample], 1, timeout_s=120)
    settings = Settings(window_s=0.05 if bench.quick else 0.75, stability=0.2, max_windows=4 if bench.quick else 5)
    return lambda: measure(target, 2 if bench.quick else CLIENTS, settings).window.infer_per_sec


def ask(url: str, model: str, sample: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs for one sample."""
    import tritonclient.grpc
    from tritonclient.utils import np_to_triton_dtype

    inputs = []
    for name, value in sample.items():
        array = value[None]
        inputs.append(tritonclient.grpc.InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype)))
        inputs[-1].set_data_from_numpy(array)
    with closing(tritonclient.grpc.InferenceServerClient(url)) as client:
        result = client.infer(model, inputs)
        return {output.name: result.as_numpy(output.name)[0] for output in result.get_response().outputs}


def as_bytes(data: bytes) -> Array:
    """One value of a bytes input, as a sample on the wire has it."""
    array: np.ndarray[Any, np.dtype[Any]] = np.empty(1, object)
    array[0] = data
    return array
