"""Child: a step that needs TensorFlow or PyTorch, as a process of its own, perhaps of another environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ops import ModelError, WrongUse

SIDES = Path(__file__).with_name("sides")
_EXTRA = {"tensorflow": "tensorflow", "tf2onnx": "tensorflow", "tf_keras": "tensorflow"}
_NOISE = re.compile(r"^\s*(WARNING|INFO|I0|W0|E0|\d{4}-\d\d-\d\d .*(INFO|WARNING|: [IW] )|To enable|warnings?\.warn)")
_LINES = 6  # of an output, in a message


def run_side(python: str, side: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Do a job there; what it reports. Errors: as run."""
    with tempfile.TemporaryDirectory(prefix="gepipe") as folder:
        report, written = Path(folder, "report.json"), Path(folder, "job.json")
        written.write_text(json.dumps({**job, "report": str(report)}), encoding="utf-8")
        run(python, [str(SIDES / f"{side}.py"), str(written)])
        if not report.is_file():
            fix = "let the model be made without ending the program: no exit() in it"
            raise ModelError("the conversion ended before it was done, without an error", fix=fix)
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


def run(python: str, arguments: Sequence[str]) -> str:
    """Run a Python program; what it printed.

    Errors: WrongUse where the interpreter, or what it needs, is not there; ModelError with the program's own reason.
    """
    variables = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [python, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False, env=variables,
        )  # fmt: skip
    except OSError as error:
        raise WrongUse(f"{python} does not run: {error.strerror}", fix="name a Python interpreter: --python") from error
    if done.returncode:
        raise _explained(python, done.returncode, done.stdout + done.stderr)
    return done.stdout + done.stderr


def _explained(python: str, code: int, output: str) -> ModelError | WrongUse:
    """Why a program failed, from its exit code and what it printed."""
    lines = [line for line in output.splitlines() if line.strip() and not _NOISE.match(line)]
    last = lines[-1] if lines else ""  # what is missing before it was done without
    missing = re.findall(r"No module named '?([\w.]+)'?", last)
    if missing:
        name = missing[-1].partition(".")[0]
        install = f'pip install "gepipe[{_EXTRA[name]}]"' if name in _EXTRA else f"pip install {name}"
        fix = f"{install}; or name an interpreter that has it: --python"
        return WrongUse(f"{python} has no module {name}", fix=fix)
    said = re.findall(r"^gepipe: (.+)(?:\nfix: (.+))?$", output, re.MULTILINE)
    if said:
        message, fix = said[-1]
        return ModelError(message, fix=fix or "see gepipe convert --help")
    unknown = re.findall(r"(?:Unsupported ops: Counter\((.+?)\)|Tensorflow op \[.+?: (\w+)\] is not supported)", output)
    if unknown:
        names = ", ".join(dict.fromkeys(part for pair in unknown for part in pair if part))
        return ModelError(
            f"tf2onnx has no ONNX for {names}", fix="cut the graph before it: --outputs; or another --opset"
        )
    ended = f"it was ended by signal {-code}" if code < 0 else f"it ended with {code}"
    told = "\n  ".join(lines[-_LINES:]) or f"{ended}, and printed nothing"
    return ModelError(
        f"the conversion failed:\n  {told}", fix="look at its text; the model, or its framework, is at fault"
    )
