"""Declarations with mistakes in them, and what validate has to say."""

from __future__ import annotations

import re
from pathlib import Path

from ops import Finding, TensorSpec, ValidationError
from pipeline import Deployment, Pipeline
from pipeline.load import load

VECTOR = TensorSpec("float32", (8,))
PRELUDE = """\
from dataclasses import dataclass
import numpy as np
import ops
from ge_engine import Model
from ops import Edge, TensorSpec
from pipeline import Pipeline

VECTOR = TensorSpec("float32", (8,))
IMAGE = TensorSpec("uint8", (640, 640, 3))
PIXELS = TensorSpec("uint8", ("H", "W", 3))
dense = Model("weights/dense.onnx")
pipeline = Pipeline("bad")
"""


def findings_of(pipeline: Pipeline, deployment: Deployment | None = None) -> tuple[Finding, ...]:
    try:
        return pipeline.validate(deployment).advice
    except ValidationError as error:
        return error.findings


def declared(source: str, folder: Path, name: str = "graph.py") -> tuple[Pipeline, list[tuple[str, str]]]:
    """The pipeline that a file declares, and the (rule, place) that comments like `# G01` in it ask for."""
    (folder / name).write_text(source, encoding="utf-8")
    marks = [
        (rule, f"{name}:{number}")
        for number, line in enumerate(source.splitlines(), 1)
        for rule in re.findall(r"G\d\d", line.partition("#")[2])
    ]
    return load(str(folder / name)), marks


def seen(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.where) for finding in findings]


# A comment says which finding its line gets; the second text is what the findings say. One that declares no input
# is given x.

BAD: dict[str, tuple[str, str]] = {
    # names
    "two inputs of one name": (
        'a, b = pipeline.input("x", VECTOR), pipeline.input("x", VECTOR)  # G01\n'
        "pipeline.output(y=ops.Similarity()(a, b))",
        "input 'x' has the name of input 'x' at graph.py:13",
    ),
    "two nodes of one name": (
        'a = ops.Softmax()(x, name="a")\nb = ops.Softmax()(x, name="a")  # G01\npipeline.output(a=a, b=b)',
        r"node 'a' \(Softmax\) has the name of node 'a' \(Softmax\) at graph.py:14",
    ),
    "a constant with the name of an input": (
        'c = pipeline.constant("x", np.ones(8, np.float32))  # G01\npipeline.output(y=ops.Similarity()(x, c))',
        "constant 'x' has the name of input 'x'",
    ),
    "an input called name": (
        'x = pipeline.input("name", VECTOR)  # G17\npipeline.output(y=ops.Softmax()(x))',
        "input 'name' has a name that cannot be used",
    ),
    "an input with a space": (
        'x = pipeline.input("my x", VECTOR)  # G17\npipeline.output(y=ops.Softmax()(x))',
        "input 'my x' .* fix: .*: my_x",
    ),
    "an op whose infer exits": (
        "@dataclass(frozen=True)\nclass Leaves(ops.Op[Edge]):\n    def infer(self, x): raise SystemExit(2)\n"
        "    def run(self, x): return x\npipeline.output(y=Leaves()(x))  # G23",
        r"SystemExit at .*graph.py:16: 2",
    ),
    "an op that takes any number of inputs": (
        "@dataclass(frozen=True)\nclass Join(ops.Op[Edge]):\n    def infer(self, *xs): return xs[0]\n"
        "    def run(self, *xs): return xs[0]\npipeline.output(y=Join()(x, x))  # G13",
        r"infer takes \*xs: its inputs have no names fix: name each input as a parameter of infer",
    ),
    "an input that is named None": (
        "x = pipeline.input(None, VECTOR)  # G17\npipeline.output(y=ops.Softmax()(x))",
        "input None has a name that cannot be used",
    ),
    "a name that no file could have": (
        'pipeline.output(y=ops.Softmax()(x, name="n" * 101))  # G17',
        r"node 'nnn.* has a name that cannot be used fix: .* 100 at most",
    ),
    "a model that is not named by text": (
        'pipeline.output(y=Model("weights/dense.onnx", name=5)(x))  # G13',
        "name is 5",
    ),
    "an input that is not named by text": (
        "x = pipeline.input(5, VECTOR)  # G17\npipeline.output(y=ops.Softmax()(x))",
        "input 5 has a name that cannot be used",
    ),
    "a node with a slash": (
        'pipeline.output(y=ops.Softmax()(x, name="a/b"))  # G17',
        "node 'a/b' .* fix: .*: a_b",
    ),
    "a node with an empty name": (
        'pipeline.output(y=ops.Softmax()(x, name=""))  # G17',
        "node '' has a name",
    ),
    "an output with a dot": (
        'pipeline.output(**{"y.0": ops.Softmax()(x)})  # G17',
        "output 'y.0' has a name",
    ),
    "a pipeline with a space": (
        'pipeline = Pipeline("my model")  # G17\npipeline.output(y=ops.Softmax()(pipeline.input("x", VECTOR)))',
        "pipeline 'my model' has a name",
    ),
    "an output named twice": (
        "pipeline.output(y=ops.Softmax()(x))\npipeline.output(y=dense(x))  # G07",
        "output 'y' is named at graph.py:14 too",
    ),
    # outputs and inputs
    "no output": (
        'pipeline = Pipeline("p")  # G08\nops.Softmax()(pipeline.input("x", VECTOR))',
        "pipeline 'p' has no output",
    ),
    "nothing at all": ('pipeline = Pipeline("p")  # G08 G08', "has no output.*has no input"),
    "an input and nothing else": (
        'pipeline = Pipeline("p")  # G08\npipeline.input("x", VECTOR)',
        "pipeline 'p' has no output",
    ),
    "an output that is an input": (
        "pipeline.output(y=x)  # G21",
        "output 'y' is input 'x' itself",
    ),
    "an output that is the input of its name": (
        "pipeline.output(x=x, y=dense(x))  # G21",
        "output 'x' is input 'x' itself",
    ),
    "an output that is a constant": (
        'c = pipeline.constant("c", np.ones(4))\npipeline.output(y=dense(x), c=c)  # G21',
        "output 'c' is constant 'c' itself",
    ),
    "an output with an input's name": (
        "pipeline.output(x=dense(x))  # G16",
        "output 'x' has the name of the input at graph.py:13",
    ),
    "an output with another input's name, and an input itself": (
        'x, z = pipeline.input("x", VECTOR), pipeline.input("z", VECTOR)\npipeline.output(z=x, y=dense(z))  # G21 G16',
        "is input 'x' itself.*has the name of the input",
    ),
    "an unused constant": (
        'pipeline.constant("c", np.ones(8))  # G06\npipeline.output(y=dense(x))',
        "constant 'c' is not used",
    ),
    "a dead end of two nodes": (
        "pipeline.output(y=dense(x))\nsoft = ops.Softmax()(x)\nops.TopK(k=2)(soft)  # G05",
        r"node 'top_k' \(TopK\) leads to no output",
    ),
    "a node fed by constants": (
        'c = pipeline.constant("c", np.ones(8, np.float32))\n'
        "one = ops.Softmax()(c)  # G22\npipeline.output(y=ops.Similarity()(x, ops.L2Normalize()(one)))",
        "depends on no input: it makes the same for every sample",
    ),
    # edges
    "an unknown input of a model": (
        'pipeline.output(y=Model("weights/tokens.onnx")(idz=x, mask=x))  # G02',
        r"node 'tokens' \(Model\) has no input 'idz'.*did you mean 'ids'",
    ),
    "an unknown input, and another one missing": (
        'pipeline.output(y=Model("weights/tokens.onnx")(idz=x))  # G02 G03',
        "no edge for input 'mask'",
    ),
    "an unknown input of an op": (
        "pipeline.output(y=ops.Similarity()(x, c=x))  # G02",
        "has no input 'c'.*use b",
    ),
    "an unknown output of a model": (
        'pipeline.output(y=ops.Softmax()(dense(x)["z"]))  # G02',
        r"reads 'z' of node 'dense' \(Model\), which has no such output.*use y",
    ),
    "an unknown output of a model as an output": (
        'pipeline.output(low=Model("weights/heads.onnx")(x)["lo"])  # G02',
        "output 'low' reads 'lo' of node 'heads'.*did you mean 'low'",
    ),
    "an edge made by hand to nowhere": (
        "pipeline.output(y=ops.Similarity()(x, Edge(pipeline, 99)))  # G02",
        "reads entry 99, which is not declared",
    ),
    "an edge made by hand to an output of an input": (
        'pipeline.output(y=ops.Softmax()(Edge(pipeline, 0, "z")))  # G02',
        "reads 'z' of input 'x'.*it has one output",
    ),
    "a missing input": (
        "pipeline.output(y=ops.Similarity()(x))  # G03",
        "no edge for input 'b'.*it takes a, b",
    ),
    "too many inputs": (
        "pipeline.output(y=ops.Softmax()(x, x))  # G03",
        "2 inputs given, 1 taken",
    ),
    "an input by position and by name": (
        "pipeline.output(y=ops.Similarity()(x, b=x, a=x))  # G03",
        "input 'a' is given by position and by name",
    ),
    "an edge of another pipeline": (
        'other = Pipeline("other")\npipeline.output(y=ops.Softmax()(other.input("x", VECTOR)))  # G09',
        "output 'y' of pipeline 'bad' is an edge of pipeline 'other'",
    ),
    "an input of another pipeline, beside the one that was meant": (
        'image = Pipeline("image")\nx = image.input("x", VECTOR)\nmine = pipeline.input("x", VECTOR)\n'
        'z = pipeline.input("z", VECTOR)\npipeline.output(y=ops.Similarity()(z, x))  # G09',
        "Similarity, input 2 of pipeline 'bad' is an edge of pipeline 'image'",
    ),
    "a cycle of two": (
        'a = ops.Similarity()(x, Edge(pipeline, 2), name="a")  # G04\npipeline.output(y=ops.Softmax()(a, name="b"))',
        "a cycle: 'a' -> 'b' -> 'a'",
    ),
    "a cycle of one": (
        'pipeline.output(y=ops.Similarity()(x, Edge(pipeline, 1), name="me"))  # G04',
        "a cycle: 'me' -> 'me'",
    ),
    "two cycles": (
        'a = ops.Similarity()(x, Edge(pipeline, 1), name="a")  # G04\n'
        'b = ops.Similarity()(x, Edge(pipeline, 3), name="b")  # G04\nc = ops.Softmax()(b, name="c")\n'
        "pipeline.output(a=a, c=c)",
        "a cycle: 'a' -> 'a'.*a cycle: 'b' -> 'c' -> 'b'",
    ),
    "a missing input beside a constant": (
        'c = pipeline.constant("c", np.ones(8, np.float32))\n'
        "pipeline.output(y=ops.Similarity()(c), z=ops.Softmax()(x))  # G03",
        "no edge for input 'b'",
    ),
    # specs
    "bytes where pixels belong": (
        'data = pipeline.input("data", ops.ENCODED_IMAGE)\n'
        "pipeline.output(y=ops.Resize(height=8, width=8)(data))  # G10",
        "input image: bytes: dtype is bytes, wanted uint8",
    ),
    "a batch axis": (
        'x = pipeline.input("x", TensorSpec("uint8", (1, 8, 8, 3)))\n'
        "pipeline.output(y=ops.CenterCrop(height=4, width=4)(x))  # G11",
        "rank is 4, wanted 3",
    ),
    "channels first": (
        'x = pipeline.input("x", TensorSpec("uint8", (3, 8, 8)))\n'
        "pipeline.output(y=ops.Resize(height=4, width=4)(x))  # G12",
        "image has 8 channels, wanted 1 or 3.*put the channels last",
    ),
    "embeddings of two models": (
        "pipeline.output(y=ops.Similarity()(dense(x), x))  # G12",
        r"b has 8 values an embedding but a \(float32\[4\]\) has 4",
    ),
    "a size that varies into a model": (
        'x = pipeline.input("x", PIXELS)\nn = ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(x)\n'
        'pipeline.output(y=Model("weights/any_size.onnx")(n))  # G12',
        "varies; a Model needs fixed sizes",
    ),
    "ids of another length than the mask": (
        'i = pipeline.input("i", TensorSpec("int64", (4,)))\nm = pipeline.input("m", TensorSpec("int64", (5,)))\n'
        'pipeline.output(y=Model("weights/tokens.onnx")(i, m))  # G12',
        "length is 5 here and 4 in ids",
    ),
    "a filter that nobody has": (
        'x = pipeline.input("x", PIXELS)\npipeline.output(y=ops.Resize(height=4, width=4, filter="linear")(x))  # G13',
        "filter 'linear' is not known",
    ),
    "an attribute of a wrong type": (
        'x = pipeline.input("x", IMAGE)\npipeline.output(y=ops.Normalize(mean=0.5, std=0.5)(x))  # G13',
        "cannot use mean=0.5, std=0.5, swap=False: TypeError",
    ),
    "a dtype that is none": (
        'pipeline.output(y=ops.Cast("float23")(x))  # G13',
        "'float23' is not a dtype",
    ),
    "a constant without a dtype of ours": (
        'c = pipeline.constant("c", np.zeros(8, complex))  # G13\npipeline.output(y=ops.Similarity()(x, c))',
        "constant 'c': .*complex128.* is not a dtype",
    ),
    "a constant of objects": (
        'c = pipeline.constant("c", np.array([None, 1], object))  # G13\npipeline.output(y=ops.Similarity()(x, c))',
        "constant 'c': an object is not bytes",
    ),
    "a wrong attribute and a wrong dtype": (
        'x = pipeline.input("x", TensorSpec("float64", (8,)))\npipeline.output(y=ops.TopK(k=0)(x).scores)  # G10 G13',
        "dtype is float64, wanted float32.*k is 0",
    ),
    "two inputs of a wrong dtype": (
        'x = pipeline.input("x", TensorSpec("float64", (8,)))\npipeline.output(y=ops.Similarity()(x, x))  # G10 G10',
        "input a: .*input b: ",
    ),
    # models
    "a model without a file": (
        'pipeline.output(y=Model("weights/dens.onnx")(x))  # G14',
        "there is no file .*dens.onnx.*did you mean 'dense.onnx'",
    ),
    "a model that is text": (
        'pipeline.output(y=Model("weights/README.md")(x))  # G15',
        "README.md is not an ONNX model",
    ),
    "a model's output whose size the data decides": (
        'some = Model("weights/some.onnx")(x)  # G15\npipeline.output(y=some, z=some["found"])',
        r"the data decides the size of output 'found', float32\[k\]",
    ),
    "a model's output whose size the data decides, read by an op": (
        'dense = Model("weights/some.onnx")(x)  # G15\npipeline.output(y=dense, z=ops.Cast("int32")(dense["found"]))',
        r"the data decides the size of output 'found', float32\[k\]",
    ),
    "a model that is a folder": (
        'pipeline.output(y=Model("weights")(x))  # G15',
        "weights is a folder",
    ),
    "an attribute behind a model whose input is of a wrong dtype": (
        'y = dense(ops.Cast("float16")(x))  # G10\npipeline.output(z=ops.TopK(k=0)(y).scores)  # G13',
        "dtype is float16, model 'dense' wants.*k is 0",
    ),
    "an attribute behind an op whose input is of a wrong dtype": (
        'y = ops.Softmax()(ops.Cast("int32")(x))  # G10\npipeline.output(z=ops.L2Normalize(eps=0)(y))  # G13',
        "dtype is int32, wanted float32.*eps is 0",
    ),
    "an attribute behind a model behind a wrong attribute": (
        'x = pipeline.input("x", IMAGE)\nn = ops.Normalize(mean=(0.5,), std=(0.5,))(x)  # G12\n'
        'y = Model("weights/square.onnx")(n)\npipeline.output(z=ops.L2Normalize(eps=0)(y))  # G13',
        "image has 3 channels but mean has 1 value.*eps is 0",
    ),
    "sizes that a model does not take": (
        'x = pipeline.input("x", PIXELS)\nf, t = ops.Letterbox(sizes=((640, 640), (320, 640)))(x)\n'
        "n = ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(f)\n"
        'pipeline.output(t=t, y=Model("weights/square.onnx")(n))  # G19',
        "takes the sizes 640, 320, model 'square' wants",
    ),
    "two ops that pick a size": (
        'x = pipeline.input("x", PIXELS)\nf, t = ops.Letterbox(sizes=((64, 64), (32, 64)))(x)\n'
        "g, u = ops.Letterbox(sizes=((64, 64), (32, 64)))(x)  # G19\npipeline.output(f=f, t=t, g=g, u=u)",
        r"node 'letterbox_2' \(Letterbox\) picks a size H, and so does node 'letterbox' \(Letterbox\)",
    ),
    "two inputs of one size's name that come in other sizes": (
        'a = pipeline.input("a", TensorSpec("float32", (ops.Graded("n", (4, 8)),)))\n'
        'b = pipeline.input("b", TensorSpec("float32", (ops.Graded("n", (4, 6)),)))  # G19\n'
        "pipeline.output(y=ops.Softmax()(a), z=ops.Softmax()(b))",
        "input 'b' picks a size n, and so does input 'a'",
    ),
    # a user's own ops
    "an op without infer": (
        "class Mine(ops.Op[Edge]):\n    def run(self, x): return x\n"
        'pipeline.output(y=Mine()(pipeline.input("x", VECTOR)))  # G23',
        r"node 'mine' \(Mine\) has no infer.*define infer in Mine",
    ),
    "an op without run": (
        "class Mine(ops.Op[Edge]):\n    def infer(self, x): return x\n"
        'pipeline.output(y=Mine()(pipeline.input("x", VECTOR)))  # G23',
        "has no run",
    ),
    "an infer that fails": (
        "class Mine(ops.Op[Edge]):\n    def infer(self, x): return x.size\n    def run(self, x): return x\n"
        'pipeline.output(y=Mine()(pipeline.input("x", VECTOR)))  # G23',
        "AttributeError at graph.py:14: .*size",
    ),
    "an infer that returns a shape": (
        "class Mine(ops.Op[Edge]):\n    def infer(self, x): return x.shape\n    def run(self, x): return x\n"
        'pipeline.output(y=Mine()(pipeline.input("x", VECTOR)))  # G23',
        r"infer returned \(8,\), declared one output",
    ),
    "an infer that returns too many": (
        "class Mine(ops.Op[Edge]):\n    def infer(self, x): return x, x\n    def run(self, x): return x\n"
        'pipeline.output(y=Mine()(pipeline.input("x", VECTOR)))  # G23',
        "declared one output",
    ),
}

# One finding each, whatever follows from it.
CONSEQUENCES: dict[str, str] = {
    "what follows a missing model": """
x = pipeline.input("x", VECTOR)
y = Model("nowhere.onnx")(x)  # G14
best = ops.TopK(k=3)(ops.Softmax()(y["logits"]))
pipeline.output(scores=best.scores, labels=best.labels)
""",
    "what follows a wrong dtype": """
x = pipeline.input("x", VECTOR)
y = dense(ops.Cast("float16")(x))  # G10
pipeline.output(z=ops.TopK(k=99)(y).scores)
""",
    "what follows a cycle": """
x = pipeline.input("x", VECTOR)
a = ops.Similarity()(x, Edge(pipeline, 2), name="a")  # G04
b = ops.Softmax()(a, name="b")
pipeline.output(y=ops.TopK(k=99)(b).scores)
""",
    "what an unknown input would have fed": """
x = pipeline.input("x", VECTOR)
pipeline.output(y=dense(z=x))  # G02
""",
    "the second model behind a first that is missing": """
x = pipeline.input("x", VECTOR)
pipeline.output(y=dense(Model("nowhere.onnx")(x)))  # G14
""",
    "an attribute that may have been meant for the right spec": """
x = pipeline.input("x", VECTOR)
s = ops.TopK(k=0)(x)  # G13
pipeline.output(y=ops.TopK(k=5)(s.scores).scores)
""",
    "the dims of an input with a wrong dtype": """
x = pipeline.input("x", TensorSpec("float64", (224, 224, 1)))
pipeline.output(y=ops.Normalize(mean=(0,) * 3, std=(1,) * 3)(x))  # G10
""",
    "a model behind a wrong attribute, which gets what it wants": """
image = pipeline.input("image", IMAGE)
x = ops.Normalize(mean=(0.5,), std=(0.5,))(image)  # G12
pipeline.output(y=Model("weights/square.onnx")(x))
""",
    "an op that would not take what a model behind a wrong attribute makes": """
image = pipeline.input("image", IMAGE)
x = ops.Normalize(mean=(0.5,), std=(0.5,))(image)  # G12
y = Model("weights/square.onnx")(x)
pipeline.output(y=ops.TopK(k=99)(y).scores)
""",
    "settings of a model that is missing": """
x = pipeline.input("x", VECTOR)
pipeline.output(y=Model("nowhere.onnx")(x))  # G14
""",
}
