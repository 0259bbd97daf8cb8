"""CardStream: a stream of a card, and another one in its place where it does not come to rest."""

from __future__ import annotations

from contextlib import suppress

from ops import DeviceError

from .card import Card

_UNDO = "rt.destroy_stream"


class CardStream:
    """A stream. stuck: something may be on it for ever, so it is not to be used.

    All but `settle` is for one thread at a time. Errors: DeviceError where there are no streams left.
    """

    def __init__(self, card: Card) -> None:
        self._library = card.library
        self._owned = card.own
        self.stuck = False
        self.handle = self._made()
        card.streams.append(self)

    def ready(self) -> int:
        """The stream; a new one, where the old one is stuck. Errors: DeviceError, and the next call tries again."""
        if self.stuck:
            self.drop()
            self.handle, self.stuck = self._made(), False
        return self.handle

    def synchronize(self) -> None:
        """Wait for all that is on it now. Errors: DeviceError."""
        self._library.do("rt.synchronize_stream", self.handle)

    def settle(self) -> bool:
        """Wait until nothing is on it; whether all that was on it is done. What does not come to rest is stuck."""
        for attempt in range(2):  # it tells of a failure once
            if not self.stuck:
                with suppress(DeviceError):
                    self.synchronize()
                    return attempt == 0
        self.stuck = True
        return False

    def drop(self) -> None:
        """End one that is stuck, with what is on it: from then on nothing uses its memory. Errors: DeviceError."""
        if self.stuck and self.handle:
            self._owned.end(self.handle, _UNDO, by="rt.destroy_stream_force")
            self.handle = 0

    def _made(self) -> int:
        handle: int = self._owned.get("rt.create_stream", undo=_UNDO)
        return handle
