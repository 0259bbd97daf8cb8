"""Discover: which file below the model's directory is the model. npu_ge ignores version directories."""

from __future__ import annotations

import os
from pathlib import Path

from ops import ModelError

from ..model_file import ENDINGS


def find_model(folder: Path) -> Path:
    """The only .onnx below a directory; where there is none, the only .pb.

    Errors: ModelError where there is none, or a choice.
    """
    found = files_below(folder)
    for ending in ENDINGS:
        graphs = [path for path in found if path.name.endswith(ending)]
        if len(graphs) > 1:
            names = ", ".join(str(path.relative_to(folder)) for path in graphs)
            raise ModelError(f"V01: {len(graphs)} {ending} files, npu_ge takes any of them: {names}", fix="leave one")
        if graphs:
            return graphs[0]
    raise ModelError(f"Model file not found: dir path {folder}", fix="put the .onnx into the version directory")


def files_below(folder: Path) -> list[Path]:
    """All files, links followed, each directory once, in order of names."""
    found: list[Path] = []
    seen: set[str] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        found += [Path(root, name) for name in sorted(files)]
    return found


def versions(folder: Path) -> list[str]:
    """The version directories, of which npu_ge reads none in particular."""
    return sorted(path.name for path in folder.iterdir() if path.name.isdigit() and path.is_dir())
