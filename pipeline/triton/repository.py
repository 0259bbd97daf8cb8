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
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ge_engine.build import BuiltStage
from ge_engine.gears import Gear
from ge_engine.single_file import any_size_graph, read_graph, write_single_file
from ops import ExportError, Graded

from ..plan import Plan
from . import verify_client
from .bundle import NEEDS, unpack_wheels
from .config import parse, to_text
from .differences import differences
from .ensemble import Composing, Ensemble, ensemble_of
from .golden import golden_requests
from .host_folder import write_host_folder
from .model_configs import device_config, ensemble_config, host_config
from .sizes import size_expression, sizes_of

__all__ = ["NEEDS", "activate", "export", "versions"]

CONFIG = "config.pbtxt"
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
    Errors: ExportError for a plan that no repository can express, a version that is there already, or one that would
    break clients (other names, dtypes or dims) unless allow_breaking.
    """
    ensemble = ensemble_of(plan)
    root = Path(directory)
    root.mkdir(parents=True, exist_ok=True)
    there = versions(root, ensemble.name)
    number = version if version is not None else max(there, default=0) + 1
    if number in there:
        raise ExportError(f"{root} has version {number} of {ensemble.name}", fix="give another version, or none")
    names = {model.stage.name: f"{ensemble.name}_{number}_{model.stage.name}" for model in ensemble.models}
    pinned, current = f"{ensemble.name}_v{number}", ensemble.name
    config = ensemble_config(ensemble, current, names, plan.deployment)
    if activate and not allow_breaking:
        _check_clients(root / current / CONFIG, config, plan.deployment.target)
    with _beside(root) as workshop:
        for model in ensemble.models:
            _write_model(model, names[model.stage.name], ensemble, plan, workshop, environment)
            if bundle and not model.stage.on_device:
                unpack_wheels(bundle, workshop / names[model.stage.name] / "1" / "site")
        _write_ensemble(ensemble_config(ensemble, pinned, names, plan.deployment), workshop / pinned)
        _write_golden(replace(ensemble, name=pinned), plan, samples, workshop / pinned / "1")
        for name in (*names.values(), pinned):
            os.rename(workshop / name, root / name)
        if activate:
            _point(root, config, workshop)
    return (*names.values(), pinned, *((current,) if activate else ()))


def activate(directory: str | os.PathLike[str], name: str, version: int, target: str) -> None:
    """Point an ensemble at a version that is there: a roll-out, or a roll-back.

    Errors: ExportError when there is no such version.
    """
    root = Path(directory)
    there = versions(root, name)
    if version not in there:
        raise ExportError(
            f"{root} has no version {version} of {name}", fix=f"it has {', '.join(map(str, there)) or 'none'}"
        )
    config = parse((root / f"{name}_v{version}" / CONFIG).read_text(encoding="utf-8"), target)
    config.name = name
    with _beside(root) as workshop:
        _point(root, config, workshop)


def versions(root: Path, name: str) -> list[int]:
    """The versions of an ensemble in a repository."""
    pattern = re.compile(rf"{re.escape(name)}_v(\d+)")
    found = (pattern.fullmatch(entry.name) for entry in root.iterdir()) if root.is_dir() else ()
    return sorted(int(match[1]) for match in found if match)


@contextmanager
def _beside(root: Path) -> Iterator[Path]:
    """A folder on the same disk that a polling server does not look into."""
    workshop = Path(tempfile.mkdtemp(prefix=f".{root.name}-", dir=root.resolve().parent))
    try:
        yield workshop
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _check_clients(path: Path, config: Any, target: str) -> None:
    if not path.exists():
        return
    found = differences(parse(path.read_text(encoding="utf-8"), target), config)
    if found:
        raise ExportError(
            f"clients of {config.name} would break: {'; '.join(found)}",
            fix="allow_breaking=True if that is meant, or activate=False and let them move to the new version",
        )


def _point(root: Path, config: Any, workshop: Path) -> None:
    """Make or replace the ensemble that clients call, in one step."""
    folder = root / config.name
    if not folder.exists():
        _write_ensemble(config, workshop / config.name)
        os.rename(workshop / config.name, folder)
        return
    new = workshop / CONFIG
    new.write_text(to_text(config), encoding="utf-8")
    os.replace(new, folder / CONFIG)


def _write_ensemble(config: Any, folder: Path) -> None:
    (folder / "1").mkdir(parents=True)
    (folder / "1" / PLACEHOLDER).write_text("An ensemble has no files of its own.\n", encoding="utf-8")
    (folder / CONFIG).write_text(to_text(config), encoding="utf-8")


def _write_golden(ensemble: Ensemble, plan: Plan, samples: Sequence[Mapping[str, Any]] | None, folder: Path) -> None:
    """Golden requests, and the script that sends them from any machine."""
    text = json.dumps(golden_requests(plan, ensemble, samples), indent=1)
    (folder / "golden.json").write_text(text + "\n", encoding="utf-8")
    shutil.copyfile(verify_client.__file__, folder / "verify.py")


def _write_model(model: Composing, name: str, ensemble: Ensemble, plan: Plan, workshop: Path, environment: str) -> None:
    folder = workshop / name
    if model.stage.on_device:
        (folder / "1").mkdir(parents=True)
        _write_graph(model, ensemble, plan.built[model.stage.name], folder / "1" / "model.onnx")
        config = device_config(model, name, ensemble, plan)
    else:
        write_host_folder(model, ensemble, plan, folder / "1")
        config = host_config(model, name, ensemble, plan.deployment, environment)
    (folder / CONFIG).write_text(to_text(config), encoding="utf-8")


def _write_graph(model: Composing, ensemble: Ensemble, built: BuiltStage, path: Path) -> None:
    outputs = [(tensor.name, tensor.key) for tensor in model.outputs]
    if len(built.gears.sizes) > 1:
        sizes = sizes_of(built.gears)
        shapes = {
            key: (1, *(size_expression(dim, sizes) if isinstance(dim, Graded) else int(str(dim)) for dim in spec.shape))
            for key, spec in built.graph.outputs
        }
        graph = any_size_graph(built.graph, shapes)
    elif ensemble.max_batch_size:
        if not built.shared:
            raise ExportError(
                f"stage '{model.stage.name}' has no graph for every batch size", fix="compile it with one gear"
            )
        graph = read_graph(built.shared[()])
    else:
        dims = next(iter(built.gears.sizes), ())
        graph = read_graph(built.static[Gear(ensemble.rows, dims)].path)
    write_single_file(graph, outputs, path)
