"""Whole file: written so that nobody ever finds half of it."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, or replace it, in one step. Errors: OSError; then what was there is still there.

    Of a symbolic link it is the file that is replaced; what is no file, as /dev/null, is refused: root could do it.
    """
    path = replaceable(path)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    try:
        fresh.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def replaceable(path: Path) -> Path:
    """The file that a path stands for, or the place where it will be. Errors: OSError where that is no file."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return path
