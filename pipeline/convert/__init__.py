"""convert: a trained model to what gepipe and an NPU take, compared with what it was made from.

options.py  source.py (what is to be converted)  conversion.py (the whole of it), by way of routes.py (what makes what),
child.py with sides/ (programs where the framework is)  samples.py (inputs to compare on)  answers.py (what a model
gives)  comparison.py (how far two are apart)  trial.py (at which sizes)  why_not.py (why they are apart)  entry.py (a
model in a repository)  convert_command.py
"""

from .conversion import Converted, convert
from .options import Options

__all__ = ["Converted", "Options", "convert"]
