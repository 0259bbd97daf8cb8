"""mmdeploy-runtime: the transforms and the classifier of MMDeploy's SDK, on the ONNX Runtime that it carries.

Its model is a folder: the ONNX file and three JSON files, which its converter writes for the models of mmpretrain.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from answering import answering
from mmdeploy_runtime import Classifier

CLASSES = 8
MEAN = [255 * value for value in (0.485, 0.456, 0.406)]
STD = [255 * value for value in (0.229, 0.224, 0.225)]
KEYS = ("filename", "ori_shape", "img_shape", "pad_shape", "scale_factor", "img_norm_cfg")
DEPLOY = {
    "version": "1.3.1",
    "task": "Classifier",
    "models": [
        {"name": "small", "net": "end2end.onnx", "weights": "", "backend": "onnxruntime", "precision": "FP32"}
        | {"batch_size": 1, "dynamic_shape": False}
    ],
    "customs": [],
}
TRANSFORMS = [
    {"type": "LoadImageFromFile"},
    {"type": "Resize", "size": [224, 224], "keep_ratio": False, "interpolation": "bilinear"},
    {"type": "Normalize", "mean": MEAN, "std": STD, "to_rgb": False},
    {"type": "ImageToTensor", "keys": ["img"]},
    {"type": "Collect", "keys": ["img"], "meta_keys": list(KEYS)},
]
PIPELINE = {
    "pipeline": {
        "input": ["img"],
        "output": ["cls"],
        "tasks": [
            {"type": "Task", "module": "Transform", "name": "Preprocess", "input": ["img"], "output": ["prep_output"]}
            | {"transforms": TRANSFORMS},
            {"name": "small", "type": "Task", "module": "Net", "is_batched": False, "input": ["prep_output"]}
            | {"output": ["infer_output"], "input_map": {"img": "x"}, "output_map": {"output": "y"}},
            {"type": "Task", "module": "mmcls", "name": "postprocess", "component": "LinearClsHead"}
            | {"params": {"topk": CLASSES}, "output": ["cls"], "input": ["infer_output"]},
        ],
    }
}


def main(model: str, picture: str, span_s: float) -> None:
    """The picture is a .npy file."""
    image = np.load(picture)
    folder = Path(tempfile.mkdtemp())
    shutil.copyfile(model, folder / "end2end.onnx")
    for name, document in (("deploy", DEPLOY), ("pipeline", PIPELINE), ("detail", {"version": "1.3.1"})):
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    classifier = Classifier(str(folder), "cpu", 0)
    shutil.rmtree(folder)

    def call() -> list[float]:
        """It gives labels with scores, the best first."""
        return [score for _, score in sorted(classifier(image))]

    answering(call, span_s)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
