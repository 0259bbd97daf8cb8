"""Lint: every problem of a model repository, found before a server sees it.

Nothing of the repository is run, no link is followed out of it, and no weights are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from ops import Finding, GepipeError

from .checks.backend import check_backend, check_name
from .checks.config_file import read_config
from .checks.dependencies import check_dependencies, check_fallen
from .checks.ensemble import check_ensemble
from .checks.folder import check_folder, hidden
from .checks.instances import check_instances
from .checks.mapping import check_mapping
from .checks.npu_ge import check_environment, check_npu_ge
from .checks.scheduling import check_scheduling
from .checks.tensors import check_tensors
from .checks.warmup import check_warmup
from .config import CONFIG
from .folder import Folder, leads_out, link_out
from .model import Model
from .problem import Problem
from .releases import DEFAULT_TARGET
from .schema import model_config

_CHECKS: tuple[Callable[[Model], Iterator[Problem]], ...] = (
    check_backend,
    check_scheduling,
    check_tensors,
    check_ensemble,
    check_instances,
    check_warmup,
    check_npu_ge,
)


def lint(
    directory: str | Path, target: str = DEFAULT_TARGET, *, environment: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """Every problem of a repository, ordered by file and line.

    target: the Triton release that will read it. environment: the server's environment variables, where they are known.
    Errors: GepipeError for a folder that is not there, SpecError for a release that is not known.
    """
    model_config(target)
    if not os.path.isdir(directory):
        raise GepipeError(f"there is no folder {directory}", fix="name the folder that holds the models")
    root = os.path.realpath(directory)
    loose, models = _read(str(directory), root, target)
    for model in models.values():
        model.problems += check_name(model)
        model.problems += check_folder(model)
        if model.config is not None:
            for check in _CHECKS:
                model.problems += check(model)
    for name, problems in check_dependencies(models).items():
        models[name].problems += problems
        if models[name].config is not None:
            models[name].problems += check_mapping(models[name], models)
    for name, problem in check_fallen(models):
        models[name].problems.append(problem)
    found = [*loose, *chain.from_iterable(model.problems for model in models.values())]
    if environment and any(model.config is not None and model.backend == "npu_ge" for model in models.values()):
        found += check_environment(environment)
    return tuple(dict.fromkeys(problem.finding() for problem in sorted(found, key=lambda problem: problem.place)))


def _read(directory: str, root: str, target: str) -> tuple[list[Problem], dict[str, Model]]:
    """The models of a repository: every folder in it, hidden ones too."""
    loose: list[Problem] = []
    models: dict[str, Model] = {}
    for name in sorted(os.listdir(directory)):
        folder = Folder(os.path.join(directory, name), root)
        if leads_out(folder.path, root):
            loose.append(link_out(folder.path))
        elif os.path.isdir(folder.path) and name.startswith(".") and not folder.has(CONFIG):
            loose.append(hidden(folder, "refused"))
        elif os.path.isdir(folder.path):
            models[name] = read_config(folder, target)
    return loose, models
