"""Card: one context of one card, and all that was made in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ops import DeviceError

from .library import Library

if TYPE_CHECKING:
    from .stream import CardStream

_HUGE_FIRST = 0  # ACL_MEM_MALLOC_HUGE_FIRST
_KINDS_OF_MEMORY = (1, 0)  # ACL_HBM_MEM; ACL_DDR_MEM of chips that have no HBM


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
        self._undo.remove((undo, handle))  # first: after an interrupt it may be undone, and nothing is undone twice
        try:
            self._library.insist(by or undo, handle)
        except DeviceError:
            self._undo.append((undo, handle))
            raise

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
        self.streams: list[CardStream] = []
        self._parts: list[Owned] = []
        self._emptied = True
        self._outer = Owned(library)
        self.context = 0
        with self._restored():
            self.context = self._outer.get("rt.create_context", number, undo="rt.destroy_context")
        self.own = self.part()

    @contextmanager
    def current(self) -> Iterator[None]:
        """This thread works on the card. It has its own context back afterwards.

        A context is the thread's: it may be that of torch_npu, which may have come later than this, or that of another
        session whose call was interrupted, as by the collection of a session that nobody has closed.
        """
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
        return self._undone([part]) if part in self._parts else []  # else the card is closed, and all of it gone

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

    def memory(self) -> tuple[int, int]:
        """Free and whole memory, in bytes. Errors: DeviceError."""
        failure = DeviceError(f"acl.rt.get_mem_info tells of no memory of {self.name}", fix="look at npu-smi info")
        with self.current():
            for kind in _KINDS_OF_MEMORY:
                try:
                    free, total = self.library.get("rt.get_mem_info", kind)
                except DeviceError as error:
                    failure = error
                    continue
                if total:
                    return int(free), int(total)
        raise failure

    def close(self) -> list[DeviceError]:
        """Undo all; what could not be undone. A context with something left in it stays: it is not safe to end it."""
        errors = self._undone(self._parts[::-1])
        if self._emptied and not self._parts:
            with self._restored():
                errors += self._outer.close()
        return errors

    def _undone(self, parts: Sequence[Owned]) -> list[DeviceError]:
        """What could not be undone of these lists; in a fork nothing is, since all of it is the parent's."""
        if self.library.in_fork:
            return []
        errors: list[DeviceError] = []
        with self._restored():
            try:
                self.library.insist("rt.set_context", self.context)
            except DeviceError as error:
                return [error]
            for stream in self.streams:
                with suppress(DeviceError):  # what is stuck may use what is taken back
                    stream.drop()
            before, self._emptied = self._emptied, False  # so it stays where this is interrupted
            for part in parts:
                errors += part.close()
                self._parts.remove(part)
        self._emptied = before and not errors
        return errors

    @contextmanager
    def _restored(self) -> Iterator[None]:
        before = self._before()
        try:
            yield
        finally:
            if before not in (0, self.context):  # its own may be gone by now
                with suppress(DeviceError):  # as may be that of a session that was closed meanwhile
                    self.library.insist("rt.set_context", before)

    def _before(self) -> int:
        try:
            context: int = self.library.get("rt.get_context")
        except DeviceError:
            return 0  # the thread had none
        return context
