"""A stand-in for the npu_ge backend: what Triton loads where there is no NPU.

It reads the same configuration, refuses what the real one would hang, truncate or abort on, and runs the graph on the
CPU. It runs in the server's own Python, beside numpy and onnxruntime; where a precision is emulated, or the inside of a
graph dumped, it needs onnx.
"""
