"""The folder of a host stage: a short model.py, the ops as JSON, and every source and file that they need."""

from __future__ import annotations

import ast
import json
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ops
from ops import ExportError, Op, Where
from ops.host_model import FORMAT
from ops.serial import op_to_json
from ops.spec_json import array_to_json, spec_to_json

from ..plan import Plan
from .ensemble import Composing, Ensemble, Tensor

MODEL_PY = '''"""The host stage '{name}'. stage.json says what it does."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "site")]  # before whatever else is called ops on this machine
sys.dont_write_bytecode = True  # a polling server takes new files for a new model, and loads it again

from ops.host_model import TritonPythonModel  # noqa: E402, F401
'''
NO_CACHE = "__pycache__"  # a file of this name keeps Python from making the folder for model.py itself
TRAVELS = frozenset({"numpy", "cv2", "ops"})
DECLARES = frozenset({"pipeline", "ge_engine"})
OURS = frozenset({"ops", "ge_engine"})
ONLY = "a module of ops imports only the standard library, numpy, cv2, ops and modules beside it"


def write_host_folder(model: Composing, ensemble: Ensemble, plan: Plan, folder: Path) -> None:
    """Write the version folder of a host stage.

    Errors: ExportError for an op whose source cannot travel, with the offending line.
    """
    folder.mkdir(parents=True)
    modules = _copy_modules((step.op for step in model.steps), folder)
    steps = []
    for step in model.steps:
        document = op_to_json(step.op, "/")
        steps.append(
            {
                **document,
                "attributes": _copy_assets(document["attributes"], folder),
                "name": step.name,
                "inputs": list(step.inputs),
                "outputs": [[key, name, spec_to_json(spec)] for key, name, spec in step.outputs],
                "where": step.where,
            }
        )
    read = {key for step in model.steps for key in step.inputs}
    stage = {
        "format": FORMAT,
        "pipeline": plan.graph.name,
        "rows": ensemble.rows,
        "inputs": [_port(tensor) for tensor in model.inputs],
        "outputs": [_port(tensor) for tensor in model.outputs],
        "constants": {key: array_to_json(array) for key, array in plan.graph.constants.items() if key in read},
        "modules": modules,
        "steps": steps,
    }
    text = json.dumps(stage, ensure_ascii=False, indent=1)
    (folder / "stage.json").write_text(text + "\n", encoding="utf-8")
    (folder / "model.py").write_text(MODEL_PY.format(name=model.stage.name), encoding="utf-8")
    (folder / NO_CACHE).write_text("Not a folder, on purpose: model.py says why.\n", encoding="utf-8")
    home = Path(ops.__file__).parent
    for source in home.rglob("*.py"):  # one by one: copytree goes on when the disk is full, and names every file
        _copy(source, folder / "ops" / source.relative_to(home))


def _port(tensor: Tensor) -> dict[str, Any]:
    return {"tensor": tensor.name, "key": tensor.key, "spec": spec_to_json(tensor.spec), "count": tensor.count}


def _copy_assets(value: Any, folder: Path) -> Any:
    """The attributes with each file copied beside the stage, and named by its place there."""
    if isinstance(value, list):
        return [_copy_assets(item, folder) for item in value]
    if isinstance(value, dict) and set(value) == {"asset"}:
        source = Path("/", value["asset"])
        names = (source.name, *(f"{source.stem}_{count}{source.suffix}" for count in range(2, 100)))
        for name in names:
            target = folder / name
            if not target.exists():
                shutil.copyfile(source, target)
            if target.read_bytes() == source.read_bytes():
                return {"asset": name}
    if isinstance(value, dict):
        return {key: _copy_assets(item, folder) for key, item in value.items()}
    return value


def _copy_modules(used: Iterable[Op[Any]], folder: Path) -> list[str]:
    """Copy the modules of the user's ops, and what they import of the user's; their names, to be imported there."""
    classes = (type(op) for op in used)
    names = {cls.__module__: cls.__name__ for cls in classes if cls.__module__.partition(".")[0] not in OURS}
    done: set[str] = set()
    for name, op in names.items():
        _copy_module(name, op, folder, done)
    return list(names)


def _copy_module(name: str, op: str, folder: Path, done: set[str]) -> None:
    """op: the class for whose sake it travels."""
    if name in done:
        return
    done.add(name)
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if name == "__main__" or not file or not file.endswith(".py"):
        raise ExportError(
            f"{op} is defined in {name}, which has no module file of its own", fix=f"move {op} into one: {ONLY}"
        )
    source = Path(file)
    for imported, line in _imports(source):
        top = imported.partition(".")[0]
        if top in sys.stdlib_module_names or top in TRAVELS:
            continue
        sibling = sys.modules.get(imported)
        beside = os.path.dirname(getattr(sibling, "__file__", None) or "") == str(source.parent)
        if not beside or top in DECLARES:
            fix = ONLY if top not in DECLARES else f"move {op} into a module of its own, beside that one: {ONLY}"
            where = str(Where(str(source), line))
            raise ExportError(f"imports {imported}, which is not on the server, where {op} runs", fix=fix, where=where)
        _copy_module(imported, op, folder, done)
    target = folder / Path(*name.split(".")).with_suffix(".py")
    _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _imports(source: Path) -> list[tuple[str, int]]:
    """Every module that a file imports, with the line."""
    found = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), str(source))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(("." * node.level + (node.module or ""), node.lineno))
    return found
