"""inspect: what an ONNX model is and costs, what in it hurts on an NPU, and a mended copy of it.

judge.py (facts to findings)  remedy.py (what to do about one)  rules.py  table.py (for people)
document.py (for programs)  mend.py  inspect_command.py
"""
