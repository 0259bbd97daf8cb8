"""inspect: what an ONNX model is and costs, what in it hurts on an NPU, and a mended copy of it.

judge.py (facts to findings)  rules.py  table.py (for people)  document.py (for programs)  inspect_command.py
"""

from .judge import judge

__all__ = ["judge"]
