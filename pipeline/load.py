"""Find a pipeline by how it is named on the command line: graph.py, graph.py:name or module:name."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import itertools
import os
import sys
from types import ModuleType

from ops import DeclarationError

from .near import near
from .pipeline import Pipeline

_FORMS = "give graph.py, graph.py:name or module:name"


class WrongUse(DeclarationError):
    """What was typed cannot be done."""


def load(target: str) -> Pipeline:
    """Run the file or import the module, and return its only Pipeline, the one called `pipeline`, or the one named.

    What the file prints goes to stderr: stdout is for answers.
    Errors: WrongUse when there is no such file, module or pipeline. An error in the user's own code passes as it is.
    """
    source, name = _split(target)
    with contextlib.redirect_stdout(sys.stderr):
        is_file = source.endswith(".py") or os.path.exists(source) or "/" in source or os.sep in source
        module = _run_file(source) if is_file else _import(source)
    found = {key: value for key, value in vars(module).items() if isinstance(value, Pipeline)}
    if name:
        if name not in found:
            raise WrongUse(f"{source} has no pipeline {name!r}", fix=near(name, found))
        return found[name]
    distinct = {id(value): value for value in found.values()}
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    if "pipeline" in found:
        return found["pipeline"]
    if not found:
        raise WrongUse(f"{source} declares no pipeline", fix='write pipeline = Pipeline("name") in it')
    choices = ", ".join(f"{source}:{key}" for key in sorted(found))
    raise WrongUse(f"{source} has {len(distinct)} pipelines, none called 'pipeline'", fix=f"name one: {choices}")


def _split(target: str) -> tuple[str, str]:
    """The file or module, and the name behind the colon; the colon of a Windows drive is none."""
    head, colon, name = target.rpartition(":")
    if not colon or os.path.exists(target) or (len(head) == 1 and name[:1] in ("/", "\\")):
        return target, ""
    return head, name


def _run_file(path: str) -> ModuleType:
    if not os.path.isfile(path):
        raise _no_file(path)
    path = os.path.abspath(path)
    if os.path.dirname(path) not in sys.path:
        sys.path.insert(0, os.path.dirname(path))  # as `python graph.py` does: the user's own modules are found
    stem = os.path.splitext(os.path.basename(path))[0]
    names = itertools.chain((stem,), (f"{stem}_{i}" for i in itertools.count(2)))
    name = next(name for name in names if name not in sys.modules)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise WrongUse(f"{path} is not a Python file", fix="give the graph.py that declares the pipeline")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _no_file(path: str) -> WrongUse:
    folder, name = os.path.split(path)
    folder = folder or "."
    if not os.path.isdir(folder):
        return WrongUse(f"there is no file {path}, nor a folder {folder}", fix=_FORMS)
    inside = path if os.path.isdir(path) else folder
    files = [file for file in os.listdir(inside) if file.endswith(".py")]
    wrong = f"{path} is a folder" if inside == path else f"there is no file {path}"
    return WrongUse(wrong, fix=near(name, files) if files else _FORMS)


def _import(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise WrongUse(f"{name} is neither a file nor a module", fix=_FORMS)
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise WrongUse(f"there is no file or module {name}", fix=_FORMS) from error
        raise
