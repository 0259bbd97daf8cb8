"""Moments: when the parts of a batch began and ended on the card, by its events; only while somebody watches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter as clock
from typing import NamedTuple

from ops import DeviceError

from ..base import Watch
from .library import Library


class Part(NamedTuple):
    """What was put on a stream between two events."""

    what: str
    stream: int
    begin: int
    end: int


def tell(library: Library, parts: Sequence[Part], put_at: float, watch: Watch) -> None:
    """Tell of parts of one stream by the host's clock. The last of them is over just now; none began before put_at.

    A card measures between events of one stream alone. What it does not say is left out: the answers are there all the
    same.
    """
    now, last = clock(), parts[-1].end

    def at(event: int) -> float:
        ago_ms: float = library.get("rt.event_elapsed_time", event, last)
        return max(put_at, now - ago_ms / 1e3)

    with suppress(DeviceError):
        for part in parts:
            watch(part.what, at(part.begin), at(part.end))
