"""The settings that guides print, with a model that they could be of."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from onnx_files import node, save, tensor

PUBLISHED = Path(__file__).parents[1] / "data" / "published_configs"


def write_published(repository: Path) -> None:
    """Each in a folder of its name; the Chinese-CLIP ones beside an ONNX file with their inputs and outputs."""
    for path in sorted(PUBLISHED.glob("*.pbtxt")):
        folder = repository / path.stem
        (folder / "1").mkdir(parents=True)
        shutil.copy(path, folder / "config.pbtxt")
        if path.stem.startswith("cnclip"):
            nodes = [
                node("ReduceMean", ["image"], ["mean"], axes=[2, 3], keepdims=0),
                node("MatMul", ["mean", "weights"], ["unnorm_image_features"]),
            ]
            ends = [tensor("image", ("batch", 3, 224, 224))], [tensor("unnorm_image_features", ("batch", 512))]
            save(folder / "1" / "model.onnx", nodes, *ends, {"weights": np.zeros((3, 512), np.float32)})
