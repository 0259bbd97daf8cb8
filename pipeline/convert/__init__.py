"""convert: a trained model to what gepipe and an NPU take, compared with what it was made from.

source.py (what is to be converted)  conversion.py (the whole of it), by way of routes.py (what makes what),
child.py with sides/ (programs where the framework is)  samples.py (inputs to compare on)  answers.py (what a model
gives)  comparison.py (how far two are apart)  entry.py (a model in a repository)  convert_command.py
"""

from .conversion import Converted, Options, convert

__all__ = ["Converted", "Options", "convert"]
