"""The usual hand-written ensembles: Pillow in a python model.py, one request at a time, fp32 [3,H,W] across the edge.

A folder here holds the models of one of them; `lay_out` makes a repository of it. orientation_opencv is the careful
form of orientation, and goes beside it: both ask the same model. The model itself is on npu_ge, with a gear for each
batch size that the batcher can form: the same as in an export of gepipe, so that what differs is what a user writes:
the steps around it. The host stages' Python needs numpy, Pillow and OpenCV.
"""

from __future__ import annotations

import shutil
from pathlib import Path

HERE = Path(__file__).parent
_VERSION = "1"


def lay_out(name: str, model: Path, repository: Path) -> None:
    """Copy the models of an ensemble into a repository, and the ONNX file into the one that runs it."""
    for source in sorted((HERE / name).iterdir()):
        if not source.is_dir() or not (source / "config.pbtxt").exists():
            continue
        target = repository / source.name
        (target / _VERSION).mkdir(parents=True)
        shutil.copyfile(source / "config.pbtxt", target / "config.pbtxt")
        if (source / "model.py").exists():
            shutil.copyfile(source / "model.py", target / _VERSION / "model.py")
        elif "ensemble_scheduling" not in (source / "config.pbtxt").read_text(encoding="utf-8"):
            shutil.copyfile(model, target / _VERSION / "model.onnx")
        else:
            (target / _VERSION / "ensemble").touch()  # a version is a folder that is not empty
