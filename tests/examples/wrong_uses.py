"""Ten wrong uses, one a line. A type checker has to flag each of them, and nothing else here."""

import ops
from ge_engine import Model
from pipeline import Pipeline

pipeline = Pipeline("wrong_uses")
data = pipeline.input("image", ops.ENCODED_IMAGE)
pixels = ops.DecodeImage(color="RGB")(data)
letterboxed = ops.Letterbox(height=640, width=640)(pixels)
x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(letterboxed.image)
model = Model("yolo11n.onnx")
head = model(x)["output0"]

a, b, c = ops.Letterbox(height=640, width=640)(pixels)  # wrong: it has two outputs
d, e = model(x)  # wrong: a model's outputs have names
ops.Normalise(mean=(0, 0, 0), std=(1, 1, 1))  # wrong: no such op
_ = letterboxed.imag  # wrong: no such output
y = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(letterboxed)  # wrong: a bundle is not an edge
z = ops.CenterCrop(height=224, width=224)("pixels")  # wrong: a name is not an edge
ops.Normalize(mean="0.5", std=(1, 1, 1))  # wrong: text for numbers
ops.Letterbox(height="640", width=640)  # wrong: text for a number
ops.Normalize(means=(0, 0, 0), std=(1, 1, 1))  # wrong: no such attribute, and one is missing
pipeline.output(letterboxed=letterboxed)  # wrong: a bundle is not an edge
