"""Repository: a plan written as a Triton model repository.

A version, for npu_ge, is a set of composing models with the version in their names: it ignores version folders and
takes whatever .onnx it finds. The ensemble `name` is re-pointed by replacing its config; `name_v1`, `name_v2` stay.
Everything is written beside the repository and renamed into it, so that a polling server never sees half a model.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ge_engine.build import BuiltStage
from ge_engine.gears import Gear
from ge_engine.single_file import any_size_graph, read_graph, write_single_file
from ge_engine.tensorflow.graph_def import read_graph_def
from ge_engine.tensorflow.rewrite import Output, write_graph
from ops import ExportError
from ops.spec import is_whole

from ..plan import Plan
from . import verify_client
from .bundle import NEEDS, unpack_wheels
from .config import CONFIG, ConfigError, parse, to_text
from .differences import differences
from .ensemble import Composing, Ensemble, ensemble_of
from .golden import GOLDEN, Reference, golden_requests
from .host_folder import write_host_folder
from .model_configs import class_names, device_config, ensemble_config, host_config, label_file
from .sizes import named_shapes
from .workshop import move_in, workshop

__all__ = ["NEEDS", "activate", "export", "export_model", "versions"]

LONGEST = 255  # letters of a folder's name, on every usual disk
SOMEBODYS = (
    "give the pipeline another name or a name_prefix, leave its ensemble alone (--no-point), or remove the folder"
)
PLACEHOLDER = "ensemble"  # keeps the version folder of an ensemble, which git and object stores would drop


def export(
    plan: Plan,
    directory: str | os.PathLike[str],
    *,
    version: int | None = None,
    activate: bool = True,
    allow_breaking: bool = False,
    environment: str = "",
    bundle: str = "",
    samples: Sequence[Mapping[str, Any]] | None = None,
) -> tuple[str, ...]:
    """Write a plan into a model repository, made or extended; the names of the models that are new or re-pointed.

    version: the next free one by default. activate: point the ensemble at it. environment: a packed Python environment
    for the host stages. bundle: put the wheels for this platform ("linux-aarch64-cp310") into them. samples: of the
    golden requests; made up by default.
    Errors: ExportError for a plan that no repository can express, a version that is there already, a model of that name
    that is somebody's, or a version that would break clients (other names, dtypes or dims) unless allow_breaking.
    """
    ensemble = ensemble_of(plan)
    if version is not None and not is_whole(version, 1):
        raise ExportError(f"version is {version!r}", fix="give a whole number of at least 1, or none")
    root = Path(directory)
    with _folder(root), workshop(root) as here:
        number = version if version is not None else _next(root, ensemble)
        names = _names(ensemble, number)
        pinned, current = f"{ensemble.name}_v{number}", ensemble.name
        _check_free(root, ensemble.name, number, (*names.values(), pinned))
        config = ensemble_config(ensemble, current, names, plan.deployment)
        if activate:
            _check_clients(root, config, plan.deployment.target, allow_breaking)
        for model in ensemble.models:
            _write_model(model, names[model.stage.name], ensemble, plan, here, environment)
            if bundle and not model.stage.on_device:
                unpack_wheels(bundle, here / names[model.stage.name] / "1" / "site")
        _write_ensemble(ensemble_config(ensemble, pinned, names, plan.deployment), here / pinned)
        _write_golden(golden_requests(plan, replace(ensemble, name=pinned), samples), here / pinned)
        if activate:
            _write_ensemble(config, here / current)
        move_in(here, root, (*names.values(), pinned))  # the version is there when its ensemble is
        if activate:
            _point(here, root, current)
    return (*names.values(), pinned, *((current,) if activate else ()))


def export_model(
    plan: Plan,
    folder: str | os.PathLike[str],
    samples: Sequence[Mapping[str, Any]] | None = None,
    reference: Reference | None = None,
) -> None:
    """Write the only stage of a plan as one model, without an ensemble: its config, its graph and golden requests.

    samples, reference: of the golden requests, as golden_requests takes them.
    Errors: ExportError for a plan that no repository can express, or where the folder is there already.
    """
    place = Path(folder)
    ensemble = ensemble_of(plan)
    (model,) = ensemble.models
    if os.path.lexists(place):
        raise ExportError(f"{place} is there already", fix="remove it, or give another name")
    root = place.absolute().parent
    with _folder(root), workshop(root) as here:
        _write_model(model, place.name, ensemble, plan, here, "")
        _write_golden(golden_requests(plan, replace(ensemble, name=place.name), samples, reference), here / place.name)
        move_in(here, root, (place.name,))


def activate(directory: str | os.PathLike[str], name: str, version: int, target: str) -> None:
    """Point an ensemble at a version that is there: a roll-out, or a roll-back.

    Errors: ExportError when there is no such version, or what is called `name` is something else.
    """
    root = Path(directory)
    there = versions(root, name)
    if version not in there:
        raise ExportError(
            f"{root} has no version {version} of {name}", fix=f"it has {', '.join(map(str, there)) or 'none'}"
        )
    pinned = root / f"{name}_v{version}"
    with workshop(root) as here:
        config = _ensemble_there(pinned, name, target, fix="export that version anew, under another number")
        for step in config.ensemble_scheduling.step:
            if not (root / step.model_name / CONFIG).is_file():
                raise ExportError(
                    f"{pinned} needs {step.model_name}, which is not there", fix="point at another version"
                )
        _ensemble_there(root / name, name, target)
        config.name = name
        _write_ensemble(config, here / name)
        _point(here, root, name)


def versions(root: Path, name: str) -> list[int]:
    """The versions of an ensemble in a repository."""
    pattern = re.compile(rf"{re.escape(name)}_v(\d+)")
    found = (pattern.fullmatch(entry.name) for entry in root.iterdir()) if root.is_dir() else ()
    return sorted(int(match[1]) for match in found if match)


@contextmanager
def _folder(root: Path) -> Iterator[None]:
    """A folder, and those above it; what was made for it goes again if it comes to nothing."""
    made = [folder for folder in (root, *root.parents) if not os.path.lexists(folder)]  # the innermost first
    try:
        root.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ExportError(
            f"{root} cannot be a folder: {error.strerror}", fix="name a folder, or one to be made"
        ) from error
    try:
        yield
    except BaseException:
        with suppress(OSError):  # somebody else has put something there meanwhile
            for folder in made:
                folder.rmdir()
        raise


def _names(ensemble: Ensemble, number: int) -> dict[str, str]:
    """For each stage, the name of its model in a version."""
    return {model.stage.name: f"{ensemble.name}_{number}_{model.stage.name}" for model in ensemble.models}


def _next(root: Path, ensemble: Ensemble) -> int:
    """The number after the newest version; further on where an export that was cut off has left something."""
    number = max(versions(root, ensemble.name), default=0) + 1
    while any(os.path.lexists(root / name) for name in _names(ensemble, number).values()):
        number += 1
    return number


def _check_free(root: Path, name: str, number: int, names: Sequence[str]) -> None:
    if number in versions(root, name):
        raise ExportError(f"{root} has version {number} of {name}", fix="give another version, or none")
    for model in names:
        if os.path.lexists(root / model):
            raise ExportError(
                f"{root / model} is there, and no version {number} of {name}",
                fix="remove it if an export that was cut off has left it; else give another version, or none",
            )
        if len(model) > LONGEST:
            raise ExportError(
                f"a model would be called {model}: {len(model)} letters, a folder's name has {LONGEST} at most",
                fix="shorten name_prefix, or the names of the pipeline and its models",
            )


def _check_clients(root: Path, config: Any, target: str, allow_breaking: bool) -> None:
    before = _ensemble_there(root / config.name, config.name, target)
    found = differences(before, config) if before is not None and not allow_breaking else ()
    if found:
        raise ExportError(
            f"clients of {config.name} would break: {'; '.join(found)}",
            fix="allow_breaking=True (--allow-breaking) if that is meant; or activate=False (--no-point), and let them "
            "move to the new version",
        )


def _ensemble_there(folder: Path, name: str, target: str, fix: str = SOMEBODYS) -> Any:
    """The config of an ensemble of some version of `name`; None where no such folder is.

    Errors: ExportError for anything else, which may be somebody's.
    """
    if not os.path.lexists(folder):
        return None
    try:
        config = parse((folder / CONFIG).read_text(encoding="utf-8"), target)
    except (OSError, UnicodeError, ConfigError) as error:
        reason = error.message if isinstance(error, ConfigError) else str(error)
        raise ExportError(f"{folder} is there, and its config cannot be read: {reason}", fix=fix) from error
    own = re.compile(rf"{re.escape(name)}_\d+_.+")
    steps = [step.model_name for step in config.ensemble_scheduling.step]
    if not steps or not all(map(own.fullmatch, steps)):
        raise ExportError(f"{folder} is there, and no ensemble of versions of {name}", fix=fix)
    return config


def _point(here: Path, root: Path, name: str) -> None:
    """Make or replace the ensemble that clients call, in one step."""
    if (root / name).exists():
        os.replace(here / name / CONFIG, root / name / CONFIG)
    else:
        move_in(here, root, (name,))


def _write_ensemble(config: Any, folder: Path) -> None:
    (folder / "1").mkdir(parents=True)
    (folder / "1" / PLACEHOLDER).write_text("An ensemble has no files of its own.\n", encoding="utf-8")
    (folder / CONFIG).write_text(to_text(config), encoding="utf-8")


def _write_golden(requests: Mapping[str, Any], model: Path) -> None:
    """Golden requests, and the script that sends them from any machine."""
    (model / "1" / GOLDEN).write_text(json.dumps(requests, indent=1) + "\n", encoding="utf-8")
    shutil.copyfile(verify_client.__file__, model / "1" / "verify.py")


def _write_model(model: Composing, name: str, ensemble: Ensemble, plan: Plan, here: Path, environment: str) -> None:
    folder = here / name
    if model.stage.on_device:
        (folder / "1").mkdir(parents=True)
        built = plan.built[model.stage.name]
        if built.frozen:
            _write_frozen(model, built, plan.deployment.model_backend, folder / "1" / "model.pb")
        else:
            _write_graph(model, ensemble, built, folder / "1" / "model.onnx")
        config = device_config(model, name, ensemble, plan)
    else:
        write_host_folder(model, ensemble, plan, folder / "1")
        config = host_config(model, name, ensemble, plan.deployment, environment)
    for output, names in class_names(model, ensemble).items():
        (folder / label_file(output)).write_text("\n".join(names) + "\n", encoding="utf-8")
    (folder / CONFIG).write_text(to_text(config), encoding="utf-8")


def _write_graph(model: Composing, ensemble: Ensemble, built: BuiltStage, path: Path) -> None:
    outputs = [(tensor.name, tensor.key) for tensor in model.outputs]
    if len(built.gears.sizes) > 1:
        inputs, shapes = named_shapes(built.graph, [dict(size) for size in built.gears.sizes])
        graph = any_size_graph(built.graph, inputs, shapes)
    elif ensemble.max_batch_size:
        if not built.shared:
            raise ExportError(
                f"stage '{model.stage.name}' has no graph for every batch size", fix="compile it with one gear"
            )
        graph = read_graph(built.shared[()])
    else:
        dims = next(iter(built.gears.sizes), ())
        graph = read_graph(built.static[Gear(ensemble.rows, dims)].path)
    write_single_file(graph, [(tensor.name, tensor.key) for tensor in model.inputs], outputs, path)


def _write_frozen(model: Composing, built: BuiltStage, backend: str, path: Path) -> None:
    """Errors: ExportError for what npu_ge cannot take as a TensorFlow graph, or another backend at all."""
    place = model.steps[0].place
    if backend != "npu_ge":
        raise ExportError(
            f"stage '{model.stage.name}' is a TensorFlow graph, which {backend} does not run",
            fix="export it for npu_ge, or make an ONNX file of it: gepipe convert",
            where=place,
        )
    varies = next((tensor for tensor in model.outputs if tensor.spec.graded), None)
    if len(built.gears.sizes) > 1 and varies is not None:
        raise ExportError(
            f"stage '{model.stage.name}': the size of '{varies.name}' ({varies.spec}) follows that of the input, and "
            "npu_ge reads no names of dims from a TensorFlow graph, by which it could tell",
            fix="use one size, or make an ONNX file of it: gepipe convert",
            where=place,
        )
    source = read_graph_def(next(iter(built.static.values())).path)
    outputs = [Output(tensor.name, tensor.key, tensor.spec.dtype) for tensor in model.outputs]
    write_graph(source, {tensor.key: tensor.name for tensor in model.inputs}, outputs, path)
