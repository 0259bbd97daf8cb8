"""What lies in a model's folder: M20-M22, L12, L13, L17, L20."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..config import CONFIG
from ..folder import INT64, NOT_VERSIONS, Folder, link_out, version_of
from ..model import Model
from ..problem import Place, Problem

_GIT = "git and object stores drop an empty folder, so put a file into it"


def check_folder(model: Model) -> Iterator[Problem]:
    """Versions, files and links of one model."""
    folder = model.folder
    if folder.name.startswith("."):
        yield hidden(folder, "fails")
    list(folder.files)  # walks, which finds the links
    for path in folder.links_out:
        if os.path.basename(path) != CONFIG:
            yield link_out(path)
    for name in folder.folders:
        yield from _version_name(model, name)
    if model.config is None:
        return
    if not model.versions:
        message = f"at least one version must be available under the version policy of model '{model.name}'"
        yield Problem("M20", _version_place(model), message, _version_fix(model))
    if model.backend == "python" and not model.ensemble:
        yield from _python_file(model)


def hidden(folder: Folder, severity: str) -> Problem:
    """A folder that is not meant to be a model, and is polled as one."""
    message = f"the server polls '{folder.name}' as a model, too"
    fix = "keep it beside the repository; what is written there can be renamed into it"
    return Problem("L12", Place(folder.path), message, fix, severity)


def _version_name(model: Model, name: str) -> Iterator[Problem]:
    place, number = Place(os.path.join(model.folder.path, name)), version_of(name)
    if number is not None and number not in INT64:
        message = f"version '{name}' does not fit int64: polling it ends the whole server"
        yield Problem("M21", place, message, "remove the folder, or name it 1")
    elif number is not None and name != str(number):
        message = f"'{name}' counts as version {number}, and its files are looked for in {number}/"
        yield Problem("L13", place, message, f"name it {number}, or a word without a digit in front", "fails")
    elif number is not None and number < 0:
        message = f"version {number}: what a backend does with a negative version is not tried by anybody"
        yield Problem("L13", place, message, "name it 1", "fails")
    elif number is None and name.isdecimal():
        message = f"'{name}' is ignored: a version does not begin with 0"
        yield Problem("L13", place, message, f"name it {int(name) if len(name) < 4000 else 1}")
    elif name in NOT_VERSIONS and any(
        file.startswith(f"{name}{os.sep}") and file.endswith((".onnx", "model.py")) for file in model.folder.files
    ):
        yield Problem("M22", place, f"'{name}' is never a version", "put the model into 1/", "advice")


def _version_place(model: Model) -> Place:
    return model.at("version_policy") if model.config.HasField("version_policy") else Place(model.folder.path)


def _version_fix(model: Model) -> str:
    present = sorted(model.folder.versions)
    if not present:
        return f"make the folder 1/ ({_GIT})"
    return f"let version_policy name one of {', '.join(map(str, present))}"


def _python_file(model: Model) -> Iterator[Problem]:
    for version in model.versions:
        name = str(version)  # the server looks there, whatever the folder is called
        if not model.folder.has(name, model.file_name):
            message = f"{name}/{model.file_name} is not there: loading does not return"
            fix = f"put {model.file_name} into {name}/"
            yield Problem("L17", Place(os.path.join(model.folder.path, name)), message, fix, "refused")
