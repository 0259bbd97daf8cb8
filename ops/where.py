"""Where in the user's own files something was declared."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

_LIBRARY = frozenset({"ops", "ge_engine", "pipeline"})


@dataclass(frozen=True)
class Where:
    """A file and a line (0: the file as a whole)."""

    file: str
    line: int

    @property
    def folder(self) -> str:
        """The folder that relative paths in that file start from."""
        return os.path.dirname(self.file) if os.path.isabs(self.file) else current_folder()

    def __str__(self) -> str:
        here = current_folder() + os.sep
        name = self.file[len(here) :] if self.file.startswith(here) else self.file
        return f"{name}:{self.line}" if self.line else name


def caller() -> Where:
    """The innermost line on the stack that is not the library's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        code = frame.f_code
        library = str(frame.f_globals.get("__name__", "")).partition(".")[0] in _LIBRARY
        generated = code.co_filename == "<string>" and code.co_name == "__init__"  # a dataclass's own
        if not library and not generated:
            break
        frame = frame.f_back
    file = frame.f_code.co_filename
    return Where(file if file.startswith("<") else absolute(file), frame.f_lineno)


def absolute(path: str) -> str:
    """The path from the root; as it is where there is no current folder."""
    return os.path.normpath(os.path.join(current_folder(), path))


def current_folder() -> str:
    """The working directory; the root where it has been deleted, which is no reason to fail."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep
