"""onnxruntime-extensions: decoding, resizing and scaling as nodes of the ONNX file itself, before the classifier."""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
import onnxruntime_extensions
from answering import answering
from onnxruntime_extensions.tools import pre_post_processing as steps

MEAN_STD = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)]


def main(model: str, picture: str, span_s: float) -> None:
    """The picture is a JPEG."""
    data = np.fromfile(picture, np.uint8)
    chain = steps.PrePostProcessor([onnx.helper.make_tensor_value_info("image", onnx.TensorProto.UINT8, ["n"])], 17)
    chain.add_pre_processing(
        [
            steps.ConvertImageToBGR(),
            steps.ReverseAxis(axis=2, dim_value=3, name="bgr_to_rgb"),
            steps.Resize(256, policy="not_smaller"),
            steps.CenterCrop(224, 224),
            steps.ChannelsLastToChannelsFirst(),
            steps.ImageBytesToFloat(),
            steps.Normalize(MEAN_STD, layout="CHW"),
            steps.Unsqueeze([0]),
        ]
    )
    whole = chain.run(onnx.version_converter.convert_version(onnx.load(model), 17))
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def call() -> list[float]:
        values: list[float] = session.run(None, {"image": data})[0][0].tolist()
        return values

    answering(call, span_s)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
