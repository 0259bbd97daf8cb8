"""openvino's PrePostProcessor: resize, scale and layout are compiled into the model's graph. One thread, float32."""

from __future__ import annotations

import sys

import cv2
import numpy as np
import openvino
from answering import answering
from openvino.preprocess import PrePostProcessor, ResizeAlgorithm

MEAN = [255 * value for value in (0.485, 0.456, 0.406)]
STD = [255 * value for value in (0.229, 0.224, 0.225)]


def main(model: str, picture: str, span_s: float) -> None:
    """The picture is a .npy file."""
    image = np.load(picture)
    core = openvino.Core()
    network = core.read_model(model)
    network.reshape([1, 3, 224, 224])
    steps = PrePostProcessor(network)
    steps.input().tensor().set_element_type(openvino.Type.u8).set_layout(openvino.Layout("NHWC"))
    steps.input().tensor().set_shape([1, *image.shape])
    steps.input().model().set_layout(openvino.Layout("NCHW"))
    chain = steps.input().preprocess().resize(ResizeAlgorithm.RESIZE_LINEAR)  # of bytes: floats take ten times as long
    chain.convert_element_type(openvino.Type.f32).mean(MEAN).scale(STD)
    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    request = core.compile_model(steps.build(), "CPU", settings).create_infer_request()
    tensor = openvino.Tensor(image[None], shared_memory=True)
    cv2.setNumThreads(1)

    def call() -> list[float]:
        request.set_input_tensor(tensor)
        request.infer()
        values: list[float] = request.get_output_tensor().data[0].tolist()
        return values

    answering(call, span_s)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
