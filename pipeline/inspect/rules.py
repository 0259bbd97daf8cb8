"""Rules of model files (I): what `gepipe inspect` finds beside the rules of pipelines (G) and of npu_ge (V)."""

from __future__ import annotations

from ..rules import Rule

INSPECT_RULES = (
    Rule(
        "I01",
        "a graph has no control flow",
        "A static graph runs from its inputs to its outputs; what an If, Loop or Scan runs is decided by data, on the "
        "host.",
        "a loop over time steps, traced as Loop",
        "an LSTM, or the loop unrolled by tracing it at its length",
    ),
    Rule(
        "I02",
        "a declared shape is what the graph has",
        "Servers and compilers believe the file: a wrong output size cuts answers off, and an example's input shape "
        "refuses all others.",
        "an input [10, 3, 32, 32] of a network of convolutions that takes any size",
        "the input [batch, 3, height, width]",
    ),
    Rule(
        "I03",
        "every output is made from the inputs",
        "An output that is an input, a weight or the same each time is computed and sent for nothing; npu_ge wants "
        "every output of the file listed and fetched.",
        "an output logit_scale that is a weight",
        "the weight, read once, in the program that needs it",
    ),
    Rule(
        "I04",
        "an axis that varies has a name that can be used",
        "Sizes are given by name, and npu_ge computes output sizes from the names of input axes: letters, digits, _.",
        'x float32[?, 3, ?, ?]; dynamic_axes={"x": [0, 2]}',
        'x float32[batch, 3, height, width]; dynamic_axes={"x": {0: "batch", 2: "height"}}',
    ),
    Rule(
        "I05",
        "what static shapes make constant is constant",
        "Shape arithmetic in a graph (Shape, Gather, Mod, ...) runs at every request, on the host, though each gear "
        "knows its answer. gepipe folds it for each gear when it compiles; another way of serving does not.",
        "Reshape(x, Concat(Div(Gather(Shape(x), 1), 2), -1))",
        "Reshape(x, [0, 256, -1])",
    ),
    Rule(
        "I06",
        "the graph takes every gear",
        "A gear that the graph refuses cannot be compiled.",
        "--gears 1,4 of a model whose batch is fixed to 1",
        "--gears 1, or an export with a dynamic batch",
    ),
    Rule(
        "I07",
        "every node and weight leads to an output",
        "What nobody reads costs memory on each stream, and time where the compiler does not see it.",
        "the second head of a network whose output was cut off, still in the file",
        "a file that was exported with the outputs that are used",
    ),
)
