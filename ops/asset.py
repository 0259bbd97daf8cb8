"""Asset: a file that an op needs beside it (a vocabulary, labels)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .errors import SpecError
from .where import caller


@dataclass(frozen=True)
class Asset:
    """A file, by absolute path. In JSON the path is relative to the folder that the JSON stands in."""

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
        """Errors: OSError, also for what is no file: a device or a pipe might never end."""
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise OSError(f"{self.path} is not a file")
        with open(self.path, encoding="utf-8-sig") as file:  # editors on Windows put a mark first
            return file.read()

    def lines(self) -> tuple[str, ...]:
        """The lines of a text, empty ones between others too: the number of a line can mean something.

        Errors: SpecError for what cannot be read as UTF-8.
        """
        try:
            text = self.text()
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"{self.path} cannot be read: {error}", fix="give a UTF-8 file, one item a line") from error
        return tuple(text.removesuffix("\n").split("\n")) if text else ()
