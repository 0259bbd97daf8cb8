"""The rule book of declarations: what each rule says, why, and a bad and a good line.

In the lines, x is an input float32[8], spec its spec, image an input uint8[640,640,3] and pixels one of unknown size.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A rule: its id, what it asks, why, and lines that break it beside lines that keep it."""

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
        'ops.Cast("int32")(x, name="a"); ops.Cast("int64")(x, name="a")',
        'ops.Cast("int32")(x, name="a"); ops.Cast("int64")(x, name="b")',
    ),
    Rule(
        "G02",
        "an input or output that is named exists",
        "An op's inputs are the parameters of its infer; a Model's are those of its ONNX file.",
        'Model("weights/dense.onnx")(inputs=x)',
        'Model("weights/dense.onnx")(x=x)',
    ),
    Rule(
        "G03",
        "every input of an op is given, once",
        "An op has no default inputs: what is missing would be missing at every request.",
        "ops.Similarity()(x)",
        "ops.Similarity()(x, ops.L2Normalize()(x))",
    ),
    Rule(
        "G04",
        "no value depends on itself",
        "A pipeline is a DAG; a cycle would wait for itself for ever.",
        'the JSON of a graph: {"name": "a", "inputs": ["b"]}, {"name": "b", "inputs": ["a"]}',
        'the JSON of a graph: {"name": "a", "inputs": ["x"]}, {"name": "b", "inputs": ["a"]}',
    ),
    Rule(
        "G05",
        "every node leads to an output",
        "A node that nobody reads costs time at every request, and is usually a forgotten edge.",
        "ops.Softmax()(x); pipeline.output(y=ops.L2Normalize()(x))",
        "pipeline.output(scores=ops.Softmax()(x), y=ops.L2Normalize()(x))",
    ),
    Rule(
        "G06",
        "every input and constant is used",
        "Clients would have to send what nobody reads; Triton refuses an unused ensemble input.",
        'pipeline.input("mask", spec); pipeline.output(y=ops.Softmax()(x))',
        "pipeline.output(y=ops.Softmax()(x))",
    ),
    Rule(
        "G07",
        "each output has a name of its own",
        "An answer holds one value for a name.",
        "pipeline.output(y=ops.Softmax()(x)); pipeline.output(y=ops.L2Normalize()(x))",
        "pipeline.output(y=ops.Softmax()(x)); pipeline.output(z=ops.L2Normalize()(x))",
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
        'y = ops.Softmax()(Pipeline("other").input("x", spec))\npipeline.output(y=y)',
        "y = ops.Softmax()(x)\npipeline.output(y=y)",
    ),
    Rule(
        "G10",
        "an input has a dtype that the op takes",
        "Nothing converts silently: a wrong dtype is a wrong answer, or a copy that nobody asked for.",
        'ops.Similarity()(x, ops.Cast("float16")(x))',
        'ops.Similarity()(x, ops.Cast("float32")(x))',
    ),
    Rule(
        "G11",
        "an input has the rank that the op takes",
        "A spec is that of ONE sample: it has no batch axis.",
        'batch = pipeline.input("batch", ops.TensorSpec("uint8", (1, 640, 640, 3)))\n'
        "ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(batch)",
        "ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(image)",
    ),
    Rule(
        "G12",
        "an input's dims fit the op and its other inputs",
        "Static graphs have one shape; a wrong dim would fail in the compiler or at the first request.",
        "ops.Normalize(mean=(0.5,), std=(0.5,))(image)",
        "ops.Normalize(mean=(0.5,) * 3, std=(0.5,) * 3)(image)",
    ),
    Rule(
        "G13",
        "an op's attributes make sense",
        "A wrong attribute is found before the first sample, not at it.",
        "ops.TopK(k=0)(x)",
        "ops.TopK(k=5)(x)",
    ),
    Rule(
        "G14",
        "a model's file is there",
        "The path is relative to the file that declares the Model.",
        'Model("dense.onnx")(x)',
        'Model("weights/dense.onnx")(x)',
    ),
    Rule(
        "G15",
        "a model can be used",
        "It must be an ONNX file that ONNX Runtime can run, or a frozen TensorFlow graph that OpenVINO can (the extra "
        "openvino), with a batch axis and no scalars or strings.",
        'Model("weights/README.md")(x)',
        'Model("weights/dense.onnx")(x)',
    ),
    Rule(
        "G16",
        "no output has the name of an input",
        "A Triton ensemble would load, feed its output back as its input for ever, and never answer.",
        "pipeline.output(x=ops.Softmax()(x))",
        "pipeline.output(y=ops.Softmax()(x))",
    ),
    Rule(
        "G17",
        "a name is letters, digits, _ and -, and begins with a letter or _",
        "Names become folders, tensors and keyword arguments. `name=` names a node, so no input is called name.",
        'ops.Softmax()(x, name="my softmax")',
        'ops.Softmax()(x, name="my_softmax")',
    ),
    Rule(
        "G18",
        "the settings fit the models",
        "A model whose batch is fixed runs in that gear only; a setting for a model that is not there does nothing, "
        "and a preferred batch that is no gear gains nothing.",
        'pipeline.output(y=Model("weights/one_sample.onnx")(x))\npipeline.compile(gears=(1, 2, 4))',
        'pipeline.output(y=Model("weights/dense.onnx")(x))\npipeline.compile(gears=(1, 2, 4))',
    ),
    Rule(
        "G19",
        "a model takes every size gear, and one op picks the size of a sample",
        "Each size is compiled to a graph of its own, and a sample runs in one of them.",
        "image, _ = ops.Letterbox(sizes=((640, 640), (640, 480)))(pixels)\n"
        'Model("weights/square.onnx")(ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(image))  # it says 640x640',
        "image, _ = ops.Letterbox(height=640, width=640)(pixels)\n"
        'Model("weights/square.onnx")(ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(image))',
    ),
    Rule(
        "G20",
        "a model's name stands for one file",
        "Settings go by it: gears={'model': (1, 4)} would set two models at once.",
        'Model("weights/image/model.onnx")(x); Model("weights/text/model.onnx")(x)',
        'Model("weights/image/model.onnx", name="image")(x); Model("weights/text/model.onnx", name="text")(x)',
    ),
    Rule(
        "G21",
        "an output is made by a node",
        "An input or constant handed straight back makes clients pay for nothing; a Triton ensemble refuses it.",
        "pipeline.output(y=x, z=ops.Softmax()(x))",
        "pipeline.output(z=ops.Softmax()(x))",
    ),
    Rule(
        "G22",
        "a node depends on an input",
        "What depends on constants only is the same for every sample, and would be made anew for each.",
        'text = pipeline.constant("text", np.ones(8, np.float32))\nops.Similarity()(x, ops.L2Normalize()(text))',
        'text = pipeline.constant("text", np.full(8, 8**-0.5, np.float32))\nops.Similarity()(x, text)',
    ),
    Rule(
        "G23",
        "an op has infer and run, and infer returns a spec for each output",
        "What an op makes is known before it runs; everything after it is checked against that.",
        "class Double(ops.Op[ops.Edge]):\n"
        "    def infer(self, x): return x.shape\n"
        "    def run(self, x): return x * 2\n"
        "Double()(x)",
        "class Double(ops.Op[ops.Edge]):\n"
        "    def infer(self, x): return x\n"
        "    def run(self, x): return x * 2\n"
        "Double()(x)",
    ),
    Rule(
        "G24",
        "the file that declares the pipeline runs to its end",
        "A pipeline is declared by running the file; what raises in it leaves the rest undeclared.",
        "import numppy\npipeline.output(y=ops.Softmax()(x))",
        "import numpy\npipeline.output(y=ops.Softmax()(x))",
    ),
    Rule(
        "G25",
        "every id has a row in the model's table",
        "An id beyond the table of a Gather fails the sample on a CPU, and reads whatever lies behind the table on an "
        "NPU. Most texts have none, so it shows late: a vocabulary of another model.",
        'ids = pipeline.constant("ids", np.array([1, 7000]))\n'
        'table = Model("weights/lookup.onnx")(x, ids)  # of 10 rows',
        'ids = pipeline.constant("ids", np.array([1, 7]))\ntable = Model("weights/lookup.onnx")(x, ids)',
    ),
    Rule(
        "G26",
        "a Softmax is taken of several scores, once",
        "Of one number it is always 1.0; of probabilities it makes others, which are almost equal.",
        "ops.Softmax()(ops.Softmax()(x))",
        "ops.Softmax()(x)",
    ),
    Rule(
        "G27",
        "of a model with several outputs the one that is meant is named",
        "model(x) stands for the first output; the others are dropped, which may be the answer.",
        'ops.Softmax()(Model("weights/heads.onnx")(x))',
        'ops.Softmax()(Model("weights/heads.onnx")(x)["low"])',
    ),
    Rule(
        "G50",
        "a model treats each sample of a batch alone",
        "Padding and merging change the neighbours of a sample. Where its answer depends on them, there is neither.",
        'Model("weights/dynamic_int8.onnx")(x)  # DynamicQuantizeLinear: one scale for the whole batch',
        'Model("weights/dense.onnx")(x)',
    ),
    Rule(
        "G51",
        "every shape in a static graph is known",
        "A compiler for an NPU needs fixed shapes; one that depends on the data (NonZero, NMS) has none.",
        'Model("weights/yolo11n_with_nms.onnx")',
        'ops.NMS()(...)  # on the host, behind Model("weights/yolo11n.onnx")',
    ),
    Rule(
        "G52",
        "a model takes a batch of any size",
        "One whose batch is fixed runs that many samples every time, however few there are.",
        'Model("weights/one_sample.onnx")(x)',
        'Model("weights/dense.onnx")(x)',
    ),
    Rule(
        "G53",
        "a model has an opset from 13 to 18, as the others of its stage",
        "A stage is one graph and has one opset; what differs is converted, which can change an operator's meaning.",
        'Model("weights/opset11.onnx")(ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(image))',
        'Model("weights/square.onnx")(ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(image))',
    ),
    Rule(
        "G54",
        "a model uses ONNX's own operators",
        "The compilers of NPUs do not know those of other domains; ONNX Runtime does.",
        'Model("weights/com_microsoft.onnx")(x)',
        'Model("weights/dense.onnx")(x)',
    ),
    Rule(
        "G55",
        "one graph serves every batch size on CPU",
        "Where there is none, each gear has a session of its own, and the weights are in memory once for each.",
        "an ONNX export whose Reshape writes the batch size as a number",
        "an ONNX export with dynamic_axes for the batch, whose Reshape writes 0 or -1 there",
    ),
    Rule(
        "G56",
        "the graph that serves every batch size gives the bytes of each gear's own graph",
        "The gears' own graphs are what is exported; on CPU one graph stands for them, as long as its answers do.",
        "a difference that your own tolerance does not allow",
        "a difference of the order of 1e-6, which is the order of a sum",
    ),
    Rule(
        "G57",
        "a model runs on random ids",
        "Gears are checked against each other by running them; a model that refuses random ids could not be.",
        "a model with ids whose table is smaller than it says",
        "Session.run on real samples, compared with the framework that the model came from",
    ),
    Rule(
        "G58",
        "what is built is kept in the compile cache",
        "Without it every start of a process builds all graphs again, which takes seconds to minutes.",
        "a home folder that is read-only, or a disk that is full",
        "GEPIPE_CACHE=/a/folder/with/room; or GEPIPE_CACHE=off, where it is meant",
    ),
    Rule(
        "G59",
        "the precision is one that a CPU emulates",
        "Which ops a mixed precision takes is a table of each SoC, bfloat16 and hif8 are its own formats, and a "
        "TensorFlow graph is not rewritten: on a CPU these run as origin, so nothing is seen of what they cost.",
        "Deployment(precision='mixed_float16')",
        "Deployment(precision='fp16'), which rounds at least as much as mixed_float16",
    ),
)

RULES = {rule.id: rule for rule in _RULES}
