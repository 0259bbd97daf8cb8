"""atc: its command line, and running it."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ops import DeviceError

from ..cores import Cores
from ..devices.ascend.library import INSTALL
from ..gears import Gear
from ..guard import Guard
from ..model import Model
from ..stage import StageGraph
from .cann import find_atc

MOST_GEARS, LARGEST_BATCH = 100, 2048
_FIXES = {
    "E10001": "a value of the command line is wrong for this CANN; report it",
    "E10016": "the model's input names differ from those given; report it",
    "E10501": "this CANN has no such operator; export the model with another opset, up to 18, or update CANN",
    "E16002": "this CANN has no such operator at this opset; export the model with another opset, up to 18",
    "E16005": "this CANN cannot read the model; export it with an opset up to 18",
    "E19010": "this CANN has no such operator; export the model with another opset, up to 18, or update CANN",
    "E19999": "look at the log; where it says `opp version`, the op package does not fit this CANN: install its own",
}
_KILLED = "something killed it, perhaps for want of memory: use fewer gears, or a TE_PARALLEL_COMPILER of 1"
_LINES = 6
_PATH = re.compile(r"[\u4e00-\u9fa5A-Za-z0-9./_-]+")  # atc's own rule for a path


def setting_flags(stage: StageGraph, cores: Cores) -> list[str]:
    """Precision is always said, for atc's own default is fp16. Errors: DeviceError where models disagree."""
    flags = [f"--precision_mode_v2={stage.precision}"]
    own = _cores_of(stage, cores)
    if own:
        # The cache of operators knows nothing of cores: what it has is for another number of them, and with "force" it
        # would hand on what is compiled here.
        flags += [f"--aicore_num={own}", "--op_compiler_cache_mode=disable"]
    return flags


def _cores_of(stage: StageGraph, cores: Cores) -> str:
    if not isinstance(cores, Mapping):
        return cores or ""
    found = {cores.get(step.op.model_name, "") for step in stage.steps if isinstance(step.op, Model)}
    if len(found) > 1:
        raise DeviceError(
            f"stage '{stage.name}' joins models of the cores {', '.join(map(repr, sorted(found)))}",
            fix="give its models the same cores: they are one graph",
        )
    return found.pop() if found else ""


def gear_flags(stage: StageGraph, names: Mapping[str, str], gears: Sequence[Gear]) -> list[str]:
    """What makes a graph with open dims one of these gears. names: by key, what the inputs are called in the file.

    Errors: DeviceError for more gears, or larger ones, than atc takes.
    """
    if len(gears) > MOST_GEARS or gears[-1].batch > LARGEST_BATCH:
        raise DeviceError(
            f"stage '{stage.name}' has {len(gears)} gears, the largest {gears[-1]}",
            fix=f"use {MOST_GEARS} gears at most, and a batch of {LARGEST_BATCH} at most: 3 or 4 are usual",
        )
    if not gears[0].dims:
        shapes = {key: ["-1", *map(str, spec.at_gear(0))] for key, spec in stage.inputs}
        return [_input_shape(names, shapes), f"--dynamic_batch_size={','.join(str(gear.batch) for gear in gears)}"]
    shapes = {key: ["1", *(str(d) if isinstance(d, int) else "-1" for d in spec.shape)] for key, spec in stage.inputs}
    rows = [
        ",".join(str(value) for _, spec in stage.inputs for value in _open_values(spec, gear.index)) for gear in gears
    ]
    return ["--input_format=ND", _input_shape(names, shapes), f"--dynamic_dims={';'.join(rows)}"]


def _open_values(spec: Any, index: int) -> list[int]:
    return [size for dim, size in zip(spec.shape, spec.at_gear(index)) if not isinstance(dim, int)]


def _input_shape(names: Mapping[str, str], shapes: Mapping[str, Sequence[str]]) -> str:
    return "--input_shape=" + ";".join(f"{names[key]}:{','.join(shape)}" for key, shape in shapes.items())


def run_atc(model: Path, flags: Sequence[str], stage: str) -> Path:
    """Compile an ONNX file; the .om, which lies beside it. Errors: DeviceError with what atc says."""
    # By name alone: atc takes no path with a blank, and it litters the folder where it runs.
    command = [find_atc(), f"--model={model.name}", "--framework=5", f"--output={model.stem}", *flags, "--log=error"]
    if not _PATH.fullmatch(str(model.resolve())):
        raise DeviceError(
            f"stage '{stage}': atc reads no file in {model.resolve().parent}",
            fix="let TMPDIR name a folder whose path has letters, digits and ._-/ alone",
        )
    try:
        returned, said = _ran(command, model.parent)
    except OSError as error:
        raise DeviceError(f"stage '{stage}': {command[0]} cannot be run: {error}", fix=INSTALL) from error
    made = sorted(model.parent.glob(f"{model.stem}*.om"))
    if returned or len(made) != 1:
        code, text = _complaint(said)
        fix = _KILLED if returned < 0 else "look at atc's text, and at the log in ~/ascend/log/plog"
        raise DeviceError(
            f"stage '{stage}': atc ended with {returned}: {text}\n{shlex.join(command)}", fix=_FIXES.get(code, fix)
        )
    return made[0]


def _ran(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """What it returns and says. It ends before this does, with all that it has started, also where this is interrupted
    or killed. Errors: OSError.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, start_new_session=True) as atc:
        try:
            with Guard(atc.pid):
                said = atc.communicate()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(atc.pid, signal.SIGKILL)
            atc.wait()
            raise
    return atc.returncode, "\n".join(text.decode("utf-8", "replace") for text in said)


def _complaint(text: str) -> tuple[str, str]:
    """The code of the first error, and the lines from there on."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        found = re.search(r"\bE[A-Z0-9]\d{4}\b", line)
        if found:
            return found.group(), "\n".join(lines[index : index + _LINES])
    return "", "\n".join(lines[-_LINES:]) or "it said nothing"
