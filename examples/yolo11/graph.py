"""YOLO11 detection: an encoded picture to boxes in its own pixels."""

import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("yolo11")
jpeg = pipeline.input("image", ops.ENCODED_IMAGE)  # one encoded file a sample: bytes
pixels = ops.DecodeImage(color="RGB")(jpeg)  # uint8[H,W,3]
image, transform = ops.Letterbox(height=640, width=640)(pixels)  # uint8[640,640,3], float32[6]
x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)  # float32[3,640,640]
model = Model("weights/yolo11n.onnx")
boxes, scores, classes = ops.YoloBoxes(conf_threshold=0.25, iou_threshold=0.45)(model(x), transform)
pipeline.output(boxes=boxes, scores=scores, classes=classes)  # float32[k,4], float32[k], int32[k]; k <= 300
