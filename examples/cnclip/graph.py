"""Chinese-CLIP: a picture and a Chinese sentence to vectors that can be compared.

`image` and `text` are the two towers; `pipeline` is both, and their similarity. The models are the small stand-in of
mini_clip/; real Chinese-CLIP files (*.img.fp32.onnx and *.txt.fp32.onnx) take their place unchanged.
"""

import ops
from ge_engine import Model
from pipeline import Pipeline

MEAN = (0.48145466, 0.4578275, 0.40821073)
STD = (0.26862954, 0.26130258, 0.27577711)

image_model = Model("mini_clip/image.onnx")
text_model = Model("mini_clip/text.onnx")


def image_vector(picture: ops.Edge) -> ops.Edge:
    """bytes to float32[D] of length 1."""
    pixels = ops.DecodeImage(color="RGB")(picture)
    square = ops.Resize(height=224, width=224, filter="pillow_bicubic")(pixels)
    features = image_model(ops.Normalize(mean=MEAN, std=STD)(square))
    return ops.L2Normalize()(features)


def text_vector(sentence: ops.Edge) -> ops.Edge:
    """bytes to float32[D] of length 1."""
    ids, _, _ = ops.Tokenize(vocab="vocab.txt", max_length=52)(sentence)
    return ops.L2Normalize()(text_model(ids))


image = Pipeline("cnclip_image")
image.output(vector=image_vector(image.input("image", ops.ENCODED_IMAGE)))

text = Pipeline("cnclip_text")
text.output(vector=text_vector(text.input("text", ops.TEXT)))

pipeline = Pipeline("cnclip")
pipeline.output(
    similarity=ops.Similarity()(
        image_vector(pipeline.input("image", ops.ENCODED_IMAGE)), text_vector(pipeline.input("text", ops.TEXT))
    )
)
