"""The rule book of declarations: what each rule says, why, and a bad and a good line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A rule: its id, what it asks, why, and a line that breaks it beside one that keeps it."""

    id: str
    title: str
    why: str
    bad: str
    good: str


_RULES = (
    Rule(
        "G01",
        "each input, constant and node has a name of its own",
        "Names address values in answers, plans, exports and errors; two of one name cannot be told apart.",
        'ops.Cast("float32")(x, name="a"); ops.Cast("int32")(x, name="a")',
        'ops.Cast("float32")(x, name="a"); ops.Cast("int32")(x, name="b")',
    ),
    Rule(
        "G02",
        "an input or output that is named exists",
        "An op's inputs are the parameters of its infer; a Model's are those of its ONNX file.",
        "model(imagez=x)",
        "model(images=x)",
    ),
    Rule(
        "G03",
        "every input of an op is given, once",
        "An op has no default inputs: what is missing would be missing at every request.",
        "ops.NMS()(boxes, scores)",
        "ops.NMS()(boxes, scores, classes)",
    ),
    Rule(
        "G04",
        "no value depends on itself",
        "A pipeline is a DAG; a cycle would wait for itself for ever.",
        "a -> b -> a",
        "a -> b -> c",
    ),
    Rule(
        "G05",
        "every node leads to an output",
        "A node that nobody reads costs time at every request, and is usually a forgotten edge.",
        "ops.Softmax()(logits)",
        "pipeline.output(scores=ops.Softmax()(logits))",
    ),
    Rule(
        "G06",
        "every input and constant is used",
        "Clients would have to send what nobody reads; Triton refuses an unused ensemble input.",
        'pipeline.input("mask", spec)',
        'mask = pipeline.input("mask", spec); model(ids, mask)',
    ),
    Rule(
        "G07",
        "each output has a name of its own",
        "An answer holds one value for a name.",
        "pipeline.output(y=a); pipeline.output(y=b)",
        "pipeline.output(y=a, z=b)",
    ),
    Rule(
        "G08",
        "a pipeline has at least one input and one output",
        "Without them there is nothing to send, or nothing to answer.",
        'Pipeline("empty").validate()',
        "pipeline.output(y=ops.Softmax()(x))",
    ),
    Rule(
        "G09",
        "the edges of a pipeline are its own",
        "A value of another pipeline is not there when this one runs.",
        'x = a.input("x", spec); b.output(y=ops.Softmax()(x))',
        'x = b.input("x", spec); b.output(y=ops.Softmax()(x))',
    ),
    Rule(
        "G10",
        "an input has a dtype that the op takes",
        "Nothing converts silently: a wrong dtype is a wrong answer, or a copy that nobody asked for.",
        "ops.Normalize(mean, std)(float32_image)",
        "ops.Normalize(mean, std)(uint8_image)",
    ),
    Rule(
        "G11",
        "an input has the rank that the op takes",
        "A spec is that of ONE sample: it has no batch axis.",
        'pipeline.input("image", ops.TensorSpec("uint8", (1, 224, 224, 3)))',
        'pipeline.input("image", ops.TensorSpec("uint8", (224, 224, 3)))',
    ),
    Rule(
        "G12",
        "an input's dims fit the op and its other inputs",
        "Static graphs have one shape; a wrong dim would fail in the compiler or at the first request.",
        "ops.Normalize(mean=(0.5,), std=(0.5,))(rgb)",
        "ops.Normalize(mean=(0.5,) * 3, std=(0.5,) * 3)(rgb)",
    ),
    Rule(
        "G13",
        "an op's attributes make sense",
        "A wrong attribute is found before the first sample, not at it.",
        "ops.TopK(k=0)",
        "ops.TopK(k=5)",
    ),
    Rule(
        "G14",
        "a model's file is there",
        "The path is relative to the file that declares the Model.",
        'Model("yolo11.onnx")',
        'Model("weights/yolo11n.onnx")',
    ),
    Rule(
        "G15",
        "a model can be used",
        "It must be an ONNX file that ONNX Runtime can run, with a batch axis and no scalars or strings.",
        'Model("notes.txt")',
        'Model("yolo11n.onnx")',
    ),
    Rule(
        "G16",
        "no output has the name of an input",
        "A Triton ensemble would load, feed its output back as its input for ever, and never answer.",
        'x = pipeline.input("x", spec); pipeline.output(x=y)',
        'x = pipeline.input("x", spec); pipeline.output(y=y)',
    ),
    Rule(
        "G17",
        "a name is letters, digits, _ and -, and begins with a letter",
        "Names become folders, tensors and keyword arguments. `name=` names a node, so no input is called name.",
        'pipeline.input("my image", spec)',
        'pipeline.input("my_image", spec)',
    ),
    Rule(
        "G18",
        "the settings fit the models",
        "A model whose batch is fixed runs in that gear only; a setting for a model that is not there does nothing.",
        "pipeline.compile(gears=(1, 2, 4))  # the model says [1,3,224,224]",
        "pipeline.compile(gears=(1,))",
    ),
    Rule(
        "G21",
        "an output is made by a node",
        "An input or constant handed straight back makes clients pay for nothing; a Triton ensemble refuses it.",
        "pipeline.output(y=x)  # x is an input",
        "pipeline.output(y=ops.Softmax()(x))",
    ),
    Rule(
        "G23",
        "infer returns a spec for each output",
        "What an op makes is known before it runs; everything after it is checked against that.",
        "def infer(self, x): return x.shape",
        "def infer(self, x): return TensorSpec(x.dtype, x.shape)",
    ),
)

RULES = {rule.id: rule for rule in _RULES}
