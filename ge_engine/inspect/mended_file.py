"""Mended file: the mended model, written in one step, its weights apart where those of the original were."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import onnx

from ops import WrongUse

from .. import weights
from ..model_file import ONNX
from ..single_file import LIMIT
from ..whole_file import replaceable


def write_mended(model: onnx.ModelProto, path: Path, apart: bool) -> tuple[Path, ...]:
    """Write a model, its weights by reference; the files that were written.

    apart: with its weights in a file of their own, as they are where they do not fit into one.
    Errors: OSError; then what was there is still there.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    path = replaceable(path)
    data = replaceable(data_file(path))
    heavy = [tensor for tensor in copy.graph.initializer if weights.is_heavy(tensor)]
    apart = bool(heavy) and (apart or sum(map(weights.nbytes, heavy)) >= LIMIT)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        fresh = Path(folder, data.name)
        if apart:
            with weights.WeightFile(fresh) as file:
                file.take(copy)
        else:
            for tensor in heavy:
                weights.load(tensor)
        fresh.with_name(path.name).write_bytes(copy.SerializeToString(deterministic=True))
        if apart:
            os.replace(fresh, data)
        os.replace(fresh.with_name(path.name), path)
    return (path, data) if apart else (path,)


def data_file(path: Path) -> Path:
    """The file of the weights, where they are apart."""
    return path.resolve().with_name(f"{path.resolve().name}.data")


def check_place(path: Path, original: str) -> None:
    """Errors: WrongUse for a place that is none, or that of the original."""
    if not path.absolute().parent.is_dir():
        raise WrongUse(f"{path.absolute().parent} is no folder", fix="make it, or name another")
    if path.is_dir():
        raise WrongUse(f"{path} is a folder", fix=f"name a file in it, as {path / Path(original).name}")
    if path.suffix != ONNX:
        raise WrongUse(f"{path} does not end with {ONNX}, by which it is known", fix=f"call it {path.name}{ONNX}")
    if path.exists() and not path.is_file():
        raise WrongUse(f"{path} is not a file", fix="name a file, or a place where there is none")
    if path.exists() and os.path.samefile(path, original):
        raise WrongUse(f"{path} is the model itself", fix="name another file: the original stays as it is")
