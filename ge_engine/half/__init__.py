"""Half: what GE's reduced precisions do to a graph, in an ONNX graph that a CPU runs.

Values that GE keeps in fp16 are rounded to fp16 where they are made and where they enter; the arithmetic between is
fp32, as in the accumulators of the cube. So it is the same on every CPU, and close to the NPU, not equal to it: an
NPU's vector kernels may round within an op, and a 310P saturates at 65504 where here, as on A2 and A3, there is an inf.
"""
