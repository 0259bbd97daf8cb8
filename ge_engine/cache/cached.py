"""A stage from the cache, or built, and kept there for the next time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import onnx

from ops import BuildError, Finding

from ..build import Progress, assembled, make
from ..gears import Gears
from ..model import Model
from ..stage import BuiltStage, Made, StageGraph
from .folders import Held, new_folder
from .key import key_of
from .manifest import About
from .store import FOLDER, OFF, Cache, said


def build_cached(
    stage: StageGraph, gears: Gears, cache: Cache | None, progress: Progress | None = None
) -> tuple[BuiltStage, Held]:
    """What `build` makes, and the folder that its graphs lie in: they are there until it is closed.

    Where the cache cannot be used, the stage is built without it, and a finding says so.
    Errors: as build; BuildError for a model that is replaced meanwhile, since its graph and its weights are read one
    after the other; OSError where there is no room for the graphs in the folder for temporary files either.
    """
    before = _versions(stage)
    built, held = _built(stage, gears, cache, progress)
    if _versions(stage) != before:
        held.close()
        raise _replaced(stage)
    return built, held


def _built(stage: StageGraph, gears: Gears, cache: Cache | None, progress: Progress | None) -> tuple[BuiltStage, Held]:
    progress = progress or (lambda what, done, total: None)
    model, notes = assembled(stage, gears)
    if cache is not None:
        try:
            made, held = _from(cache, stage, gears, model, progress)
        except OSError as error:
            notes.append(_unusable(stage, error))
        else:
            return made.built(stage, gears, notes), held
    held = new_folder(Path(tempfile.gettempdir()))
    try:
        return make(stage, gears, model, held.path, progress).built(stage, gears, notes), held
    except BaseException as error:
        vanished = isinstance(error, Exception) and not held.path.exists()
        held.close()
        if vanished:
            raise BuildError(
                f"{held.path} vanished while stage '{stage.name}' was built in it",
                fix="let nobody clear the folder for temporary files meanwhile; TMPDIR names another",
                where=stage.steps[0].where,
            ) from error
        raise


def _from(
    cache: Cache, stage: StageGraph, gears: Gears, model: onnx.ModelProto, progress: Progress
) -> tuple[Made, Held]:
    total = len(gears) + 1
    digests = cache.digests()
    key = key_of(stage, gears, model, digests.of)
    taken = cache.take(key)
    if taken is None:
        waiting = f"{stage.name}: another process builds it"
        with cache.building(key, lambda: progress(waiting, 0, total)):
            taken = cache.take(key)  # by now somebody else may have built it
            if taken is None:
                return _into(cache, key, stage, gears, model, progress, digests.hold)
    held, made = taken
    progress(f"{stage.name}: from the cache", total, total)
    return made, held


def _into(
    cache: Cache,
    key: str,
    stage: StageGraph,
    gears: Gears,
    model: onnx.ModelProto,
    progress: Progress,
    unchanged: Callable[[], bool],
) -> tuple[Made, Held]:
    """Build an entry. Errors: BuildError where its files of weights have changed meanwhile."""
    held = cache.new()
    try:
        made = make(stage, gears, model, held.path, progress)
        if not unchanged():
            raise _replaced(stage)
        about = About(stage.name, tuple(map(str, gears)), tuple(_models(stage)))
        return cache.keep(key, held, about, made), held
    except BaseException:
        held.close()
        raise


def _models(stage: StageGraph) -> dict[str, None]:
    """The files of its models, each once."""
    return dict.fromkeys(step.op.file for step in stage.steps if isinstance(step.op, Model))


def _versions(stage: StageGraph) -> list[tuple[int, ...]]:
    """Of the files of its models, as far as they are there."""
    found: list[tuple[int, ...]] = []
    for file in _models(stage):
        with suppress(OSError, ValueError):  # a path with a NUL is a ValueError
            status = os.stat(file)
            found.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def _replaced(stage: StageGraph) -> BuildError:
    return BuildError(
        f"a model of stage '{stage.name}' was replaced while it was built: {', '.join(_models(stage))}",
        fix="compile again, when nobody writes to it",
        where=stage.steps[0].where,
    )


def _unusable(stage: StageGraph, error: OSError) -> Finding:
    return Finding(
        "G58",
        "advice",
        stage.steps[0].where,
        f"stage '{stage.name}' was built without the compile cache: {said(error)}",
        f"give {FOLDER} a folder that can be written and has room, or set it to {OFF}",
    )
