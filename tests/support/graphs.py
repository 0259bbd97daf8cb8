"""Files that declare a pipeline."""

from __future__ import annotations

GOOD = """\
import ops
from ge_engine import Model
from pipeline import Pipeline

print("a word of the user's own")
pipeline = Pipeline("good")
x = pipeline.input("x", ops.TensorSpec("float32", (8,)))
best = ops.TopK(k=2, labels=("猫", "狗", "鸟", "鱼"))(Model("weights/dense.onnx")(x))
pipeline.output(scores=best.scores, labels=best.labels)
"""
BAD = (
    GOOD
    + """
ops.Softmax()(x)
pipeline.output(scores=ops.TopK(k=0)(x).scores)
"""
)
VECTOR = "[1,2,3,4,5,6,7,8]"
