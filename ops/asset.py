"""Asset: a file that an op needs beside it (a vocabulary, labels)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .errors import SpecError
from .where import caller


@dataclass(frozen=True)
class Asset:
    """A file, by absolute path. In JSON it is its file name, and the file stands beside the JSON."""

    path: str

    @classmethod
    def of(cls, path: str | os.PathLike[str] | Asset) -> Asset:
        """A path as the user wrote it, relative to the file that declares it."""
        if isinstance(path, Asset):
            return path
        return cls(os.path.normpath(os.path.join(caller().folder, os.fspath(path))))

    def check(self) -> None:
        """Errors: SpecError when there is no such file."""
        if not os.path.isfile(self.path):
            raise SpecError(f"there is no file {self.path}", fix="give a path relative to the file that declares it")

    def text(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()
