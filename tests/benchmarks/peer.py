"""A peer: another library, in an environment of its own, measured in turn with us."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from weights import ROOT

from ge_engine.cache import cache_folder
from ops import ServerError
from pipeline.triton.installed import made_once, pip_install

FOLDER = "GEPIPE_PEERS"  # where the environments are, instead of the user's cache
SCRIPTS = ROOT / "baselines" / "peers"
REQUIREMENTS = {
    "openvino_ppp": ("openvino==2026.4.1", "numpy==2.4.6", "opencv-python-headless==5.0.0.93"),
    "mmdeploy_sdk": ("mmdeploy-runtime==1.3.1", "numpy<2"),
    "ort_extensions": ("onnxruntime-extensions==0.15.2", "onnxruntime==1.32.0", "onnx==1.23.2", "numpy==2.4.6"),
    "dali_cpu": ("nvidia-dali-cuda120==2.4.0", "onnxruntime==1.32.0", "numpy==2.4.6"),
    "litserve_server": ("litserve==0.2.19", "onnxruntime==1.32.0", "opencv-python-headless==5.0.0.93"),
}


class Unavailable(Exception):
    """The library cannot be installed, or does not run here."""


def python_of(name: str) -> Path:
    """The interpreter of the peer's environment, which is made once.

    Errors: Unavailable with pip's own words.
    """
    wanted = REQUIREMENTS[name]
    key = hashlib.sha256(" ".join((*wanted, sys.version)).encode()).hexdigest()[:8]
    parent = Path(os.environ[FOLDER]) if FOLDER in os.environ else cache_folder()

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        pip_install(wanted, python=folder / "bin" / "python")

    try:
        return made_once(parent / f"peer-{name}-{key}", make) / "bin" / "python"
    except (ServerError, subprocess.CalledProcessError, OSError) as error:
        raise Unavailable(str(error).partition("\nfix: ")[0]) from error


class Peer:
    """A script of baselines/peers, running until the stack ends. answer: what it made of the sample."""

    def __init__(self, name: str, arguments: Sequence[Any], stack: ExitStack, core: int | None = None) -> None:
        """core: the one that it may use; by default all. Errors: Unavailable."""
        command = [str(python_of(name)), str(SCRIPTS / f"{name}.py"), *map(str, arguments)]
        pipe = subprocess.PIPE
        self._process = stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        stack.callback(self._process.kill)
        if core is not None:
            os.sched_setaffinity(self._process.pid, {core})
        self.answer: list[float] = self._hear()["answer"]

    def us(self) -> float:
        """Microseconds a sample."""
        assert self._process.stdin is not None
        self._process.stdin.write("measure\n")
        self._process.stdin.flush()
        taken: float = self._hear()["us"]
        return taken

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        assert self._process.stderr is not None
        words = self._process.stderr.read().strip().splitlines()
        raise Unavailable(f"it ended by itself: {words[-1] if words else 'without a word'}")
