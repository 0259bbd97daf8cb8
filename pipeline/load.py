"""Find a pipeline by how it is named on the command line: graph.py, graph.py:name or module:name."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import sys
from types import ModuleType

from ops import DeclarationError

from .near import near
from .pipeline import Pipeline


def load(target: str) -> Pipeline:
    """Run the file or import the module, and return its only Pipeline, the one called `pipeline`, or the one named.

    Errors: DeclarationError when there is no such file, module or pipeline. An error in the user's own code passes as
    it is.
    """
    head, colon, name = target.rpartition(":")
    source, name = (head, name) if colon and not _is_drive(head) else (target, "")
    module = _run_file(source) if source.endswith(".py") or os.path.exists(source) else _import(source)
    found = {key: value for key, value in vars(module).items() if isinstance(value, Pipeline)}
    if name:
        if name not in found:
            raise DeclarationError(f"{source} has no pipeline {name!r}", fix=near(name, found))
        return found[name]
    distinct = {id(value): value for value in found.values()}
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    if "pipeline" in found:
        return found["pipeline"]
    if not found:
        raise DeclarationError(f"{source} declares no pipeline", fix='write pipeline = Pipeline("name") in it')
    raise DeclarationError(f"{source} has {len(distinct)} pipelines", fix=f"name one: {source}:{sorted(found)[0]}")


def _is_drive(head: str) -> bool:
    return len(head) == 1 and os.name == "nt"


def _run_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        folder = os.path.dirname(path) or "."
        known = [name for name in os.listdir(folder) if name.endswith(".py")] if os.path.isdir(folder) else []
        raise DeclarationError(f"there is no file {path}", fix=near(os.path.basename(path), known))
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python graph.py` does, so that the user's own modules are found
    stem = os.path.splitext(os.path.basename(path))[0]
    names = itertools.chain((stem,), (f"{stem}_{i}" for i in itertools.count(2)))
    name = next(name for name in names if name not in sys.modules)
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(path))
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{path} is not a Python file", fix="give the graph.py that declares the pipeline")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _import(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise DeclarationError(
            f"{name} is neither a file nor a module", fix="give graph.py, graph.py:name or module:name"
        )
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            fix = "give graph.py, graph.py:name or module:name"
            raise DeclarationError(f"there is no file or module {name}", fix=fix) from error
        raise
