"""Other libraries with the same aim, one a script; each runs in an environment of its own, with what it needs.

openvino_ppp.py      openvino's PrePostProcessor: an array to a small model, preprocessing compiled into the graph
mmdeploy_sdk.py      mmdeploy-runtime: the same, through the transforms and the classifier of its SDK
ort_extensions.py    onnxruntime-extensions: a JPEG to a light classifier, preprocessing as nodes of the ONNX file
dali_cpu.py          NVIDIA DALI's CPU operators before ONNX Runtime: the same, in batches
litserve_server.py   LitServe: the same behind HTTP
"""
