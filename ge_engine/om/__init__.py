"""A built stage as .om files, which cards run.

atc.py (CANN's compiler: its command line)  cann.py (which CANN there is)  compiled.py (from the compile cache, or made)
"""

from .compiled import Compiled, compile_stage

__all__ = ["Compiled", "compile_stage"]
