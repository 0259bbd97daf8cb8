"""Find a pipeline by how it is named on the command line: graph.py, graph.py:name or module:name."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ops import Finding, GepipeError, ValidationError, Where, WrongUse
from ops.near import near, nearest
from ops.unique import unique
from ops.where import current_folder

from .pipeline import Pipeline

_FORMS = "give graph.py, graph.py:name or module:name"
_OURS = tuple(str(Path(__file__).resolve().parents[1] / name) + os.sep for name in ("ops", "ge_engine", "pipeline"))
_INSTALLED = tuple(os.path.abspath(path) + os.sep for path in sysconfig.get_paths().values())


def load(target: str) -> Pipeline:
    """The only Pipeline of a file or module, the one called `pipeline`, or the one named. Errors: as _declared."""
    source, name, found = _declared(target)
    return _one(source, name, found)


def load_all(target: str) -> list[Pipeline]:
    """All pipelines of a file or module, or the one named. Errors: as load, but for several."""
    source, name, found = _declared(target)
    distinct = {id(value): value for value in found.values()}
    return [_one(source, name, found)] if name or not found else list(distinct.values())


def _declared(target: str) -> tuple[str, str, dict[str, Pipeline]]:
    """Run the file or import the module: its name, the name behind the colon, and its pipelines by their names.

    What the file prints goes to stderr: stdout is for answers.
    Errors: WrongUse when there is no such file or module; ValidationError (G24) when the user's own code
    does not run to its end.
    """
    source, name = _split(target)
    is_file = source.endswith(".py") or os.path.exists(source) or "/" in source or os.sep in source
    try:
        with contextlib.redirect_stdout(sys.stderr):
            module = _run_file(source) if is_file else _import(source)
    except WrongUse:
        raise
    except (Exception, SystemExit) as error:
        raise ValidationError(source, [_broken(error, source)]) from error
    found = {key: value for key, value in vars(module).items() if isinstance(value, Pipeline)}
    return source, name, found


def _one(source: str, name: str, found: Mapping[str, Pipeline]) -> Pipeline:
    """Errors: WrongUse when there is no such pipeline, or several could be meant."""
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
    name = unique(stem, sys.modules)
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
    if current_folder() not in sys.path:
        sys.path.insert(0, current_folder())  # as `python -m` does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise WrongUse(f"there is no file or module {name}", fix=_FORMS) from error
        raise


def _broken(error: BaseException, source: str) -> Finding:
    """Why the user's code did not run to its end."""
    where = _where(error) or source
    if isinstance(error, GepipeError):
        return Finding("G24", "refused", error.where or where, f"{type(error).__name__}: {error.message}", error.fix)
    reason, fix = str(error), "mend the file until `python` runs it; --debug shows the traceback"
    if isinstance(error, SyntaxError):
        reason = error.msg
    elif isinstance(error, SystemExit):
        reason, fix = f"the file exits ({error.code})", "put what exits behind: if __name__ == '__main__'"
    elif isinstance(error, ModuleNotFoundError):
        fix = f"install {error.name}, or mend its name"
    else:
        meant = _meant(error)
        fix = f"did you mean '{meant}'?" if meant else fix
        fields = getattr(getattr(error, "obj", None), "_fields", ())
        if fields:  # what an op with several outputs gives
            reason += f"; it holds {', '.join(fields)}"
    return Finding("G24", "refused", where, f"{type(error).__name__}: {reason}", fix)


_KEYWORD = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")


def _meant(error: BaseException) -> str | None:
    """The name that was probably meant by one that is not there: Python itself tells it only to a terminal."""
    if isinstance(error, AttributeError) and error.name:
        offered = getattr(error.obj, "__all__", None) or dir(error.obj)  # a package has modules of the same names, too
        return nearest(error.name, (name for name in offered if not name.startswith("_")))
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not frames:
        return None
    names = {**vars(builtins), **frames[-1].f_globals, **frames[-1].f_locals}
    if isinstance(error, NameError) and error.name:
        return nearest(error.name, names)
    keyword = _KEYWORD.match(str(error)) if isinstance(error, TypeError) else None
    return nearest(keyword[2], _parameters(keyword[1], names)) if keyword else None


def _parameters(function: str, names: Mapping[str, Any]) -> Iterable[str]:
    """The parameters of what is called so, as `Normalize.__init__`, among these names and in the modules among them."""
    for space in (names, *(vars(value) for value in names.values() if isinstance(value, ModuleType))):
        head, *rest = function.split(".")
        found = space.get(head)
        for part in rest:
            found = getattr(found, part, None)
        if inspect.isfunction(found):
            return inspect.signature(found).parameters
    return ()


def _where(error: BaseException) -> str:
    """The innermost line of the user's own code; "" if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return str(Where(os.path.abspath(error.filename), error.lineno or 0))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.exists(frame.filename)]
    for others in ((*_OURS, *_INSTALLED), _OURS):  # the user's own module may be an installed one
        mine = [frame for frame in frames if not os.path.abspath(frame.filename).startswith(others)]
        if mine:
            return str(Where(os.path.abspath(mine[-1].filename), mine[-1].lineno or 0))
    return ""
