"""The Python of a server that is not ours: old packages, and strangers with the names of ours."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ge_engine.cache import cache_folder
from pipeline.triton.installed import made_once, pip_install

RUNTIME = f"onnxruntime=={version('onnxruntime')}"  # for the stand-in
HOST_STAGES = ("numpy==1.23.5", "opencv-python-headless==4.10.0.84", RUNTIME)
STRANGERS = ("ops", "pipeline", "ge_engine")


def environment(name: str, requirements: Sequence[str], strangers: Sequence[str] = ()) -> Path:
    """An environment in the user's cache, with those packages, and strangers that nobody may import."""

    def make(folder: Path) -> None:
        python = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
        pip_install(requirements, python=folder / "bin" / "python3")
        (packages,) = folder.glob("lib/python3.*/site-packages")
        for stranger in strangers:
            (packages / stranger).mkdir()
            (packages / stranger / "__init__.py").write_text("raise ImportError('this is not the one')\n")

    key = hashlib.sha256(" ".join([sys.version, *requirements, *strangers]).encode()).hexdigest()[:8]
    return made_once(cache_folder() / f"test-{name}-{key}", make)
