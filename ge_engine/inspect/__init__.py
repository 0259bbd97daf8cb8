"""Inspect: what an ONNX model is, what it will cost and what hurts on an NPU; and mending what can be mended.

operators.py (what GE registers)  file_facts.py (what the file says)  layout.py  cost.py (FLOPs and memory)
made_constant.py  axis_names.py  gear_facts.py (one gear's graph)  free_axes.py (declared sizes that need not hold)
dead.py  facts.py (all of it)
fixes/ (each mends one thing)  proof.py (a mended model against the original)  points.py (at which shapes)
repair.py (the fixes, each proven)  mended_file.py (written)
"""

from .facts import Facts, facts_of

__all__ = ["Facts", "facts_of"]
