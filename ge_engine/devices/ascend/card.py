"""Card: one context of one card, and all that was made in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ops import DeviceError

from .library import Library

_HUGE_FIRST = 0  # ACL_MEM_MALLOC_HUGE_FIRST


class Owned:
    """What was made, and how each is undone: in reverse, and all of it, even where one fails."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._undo: list[tuple[str, Any]] = []

    def get(self, make: str, *args: Any, undo: str) -> Any:
        """A handle from a call that answers with a code, too. Errors: DeviceError."""
        return self._own(self._library.get(make, *args), undo)

    def make(self, make: str, *args: Any, undo: str) -> Any:
        """A handle from a call that answers with that alone. Errors: DeviceError."""
        return self._own(self._library.make(make, *args), undo)

    def end(self, handle: Any, undo: str, by: str = "") -> None:
        """Undo one, perhaps by a harder call. Errors: DeviceError; then `close` tries again."""
        self._library.insist(by or undo, handle)
        self._undo.remove((undo, handle))

    def close(self) -> list[DeviceError]:
        """Undo all; what could not be undone."""
        errors = []
        while self._undo:
            try:
                self._library.insist(*self._undo.pop())
            except DeviceError as error:
                errors.append(error)
        return errors

    def _own(self, handle: Any, undo: str) -> Any:
        self._undo.append((undo, handle))
        return handle


class Card:
    """A card that is open. Errors: DeviceError where it is not there, or cannot be opened.

    It makes a context of its own, and neither sets nor resets the device: so nothing that torch_npu or another session
    has on the same card is touched.
    """

    def __init__(self, library: Library, number: int) -> None:
        self.library = library
        self.number = number
        self.name = f"npu:{number}"
        self._parts: list[Owned] = []
        self._emptied = True
        self._outer = Owned(library)
        self.context = 0
        with self._restored():
            self.context = self._outer.get("rt.create_context", number, undo="rt.destroy_context")
        self.own = self.part()

    @contextmanager
    def current(self) -> Iterator[None]:
        """This thread works on the card. In a process that shares ACL it has its own context back afterwards."""
        with self._restored():
            self.library.do("rt.set_context", self.context)
            yield

    def part(self) -> Owned:
        """A list of its own for things that may end before the card does."""
        part = Owned(self.library)
        self._parts.append(part)
        return part

    def end(self, part: Owned) -> list[DeviceError]:
        """Undo what is on a list; what could not be undone."""
        if part not in self._parts:
            return []  # the card is closed, and all that was in it gone
        self._parts.remove(part)
        with self._restored():
            self.library.insist("rt.set_context", self.context)
            errors = part.close()
        self._emptied &= not errors
        return errors

    def malloc(self, part: Owned, nbytes: int) -> int:
        """Zeroed memory of the card: what is no input yet, as after a transfer that failed, is at least no wild index.

        Errors: DeviceError.
        """
        try:
            pointer: int = part.get("rt.malloc", nbytes, _HUGE_FIRST, undo="rt.free")
        except DeviceError as error:
            error.message += f" ({nbytes:,} bytes on {self.name})"
            raise
        self.library.do("rt.memset", pointer, nbytes, 0, nbytes)
        return pointer

    def close(self) -> list[DeviceError]:
        """Undo all; what could not be undone. A context with something left in it stays: it is not safe to end it."""
        errors: list[DeviceError] = []
        with self._restored():
            try:
                self.library.insist("rt.set_context", self.context)
                while self._parts:
                    errors += self._parts.pop().close()
            except DeviceError as error:
                errors.append(error)
            if self._emptied and not errors:
                errors += self._outer.close()
        return errors

    @contextmanager
    def _restored(self) -> Iterator[None]:
        """A context is the thread's; where somebody else uses ACL in this process, the thread may be theirs."""
        before = self._before() if self.library.shared else 0
        try:
            yield
        finally:
            if before not in (0, self.context):  # its own may be gone by now
                self.library.insist("rt.set_context", before)

    def _before(self) -> int:
        try:
            context: int = self.library.get("rt.get_context")
        except DeviceError:
            return 0  # the thread had none
        return context
