"""What pip installs for the server: folders in the user's cache, each made once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ge_engine.lock import locked
from ops.errors import ServerError

_DONE = ".made"  # is in a folder that is whole


def is_made(folder: Path) -> bool:
    """Whether the folder is there, and whole."""
    return (folder / _DONE).exists()


def made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, made if it is not there; half of one is never taken for a whole one."""
    if is_made(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f"{folder.name}.lock")):
        if not is_made(folder):
            shutil.rmtree(folder, ignore_errors=True)
            try:
                make(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            (folder / _DONE).touch()
    return folder


def pip_install(requirements: Sequence[str], options: Sequence[str] = (), *, python: Path | None = None) -> None:
    """Install with this process's pip, into the environment of `python` or where the options say.

    Errors: ServerError with pip's own last words.
    """
    into = ["--python", str(python)] if python else []
    command = [sys.executable, "-m", "pip", *into, "install", "--quiet", *options, *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        wanted = " ".join(requirements)
        words = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("WARNING")]
        reason = "\n  ".join(words[-4:])
        raise ServerError(
            f"pip cannot install {wanted}:\n  {reason}",
            fix="see that pip reaches a package index, or name an environment that has them: --environment",
        )
