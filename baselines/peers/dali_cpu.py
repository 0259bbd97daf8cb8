"""NVIDIA DALI on the CPU: its operators decode, resize, crop and normalise a batch; ONNX Runtime runs the model.

DALI makes the next batch on its own threads while the model runs, as it is meant to be used.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import onnxruntime
from answering import answering
from nvidia.dali import fn, pipeline_def, types

BATCH = 8
MEAN = [255 * value for value in (0.485, 0.456, 0.406)]
STD = [255 * value for value in (0.229, 0.224, 0.225)]


def main(model: str, picture: str, span_s: float) -> None:
    """The picture is a JPEG."""
    data = np.fromfile(picture, np.uint8)
    cores = len(os.sched_getaffinity(0))

    @pipeline_def(batch_size=BATCH, num_threads=cores, device_id=None)  # type: ignore[untyped-decorator]
    def chain() -> Any:
        encoded = fn.external_source(source=lambda: [data] * BATCH, dtype=types.UINT8, ndim=1)
        image = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
        resized = fn.resize(image, resize_shorter=256, interp_type=types.INTERP_LINEAR, antialias=False)
        return fn.crop_mirror_normalize(resized, crop=(224, 224), mean=MEAN, std=STD, output_layout="CHW")

    pipe = chain()
    pipe.build()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def call() -> list[float]:
        (batch,) = pipe.run()
        values: list[float] = session.run(None, {"x": batch.as_array()})[0][0].tolist()
        return values

    answering(call, span_s, BATCH)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
