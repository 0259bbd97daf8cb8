"""Balanced: a pool of things that share others, as streams share cards."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from .pool import Pool, T

Shares = Callable[[T], Sequence[Hashable]]


class Balanced(Pool[T]):
    """The one taken next is that which shares with the fewest that are in use.

    shares: what a thing has in common with others, the widest first: a card, and a queue of it.
    """

    def __init__(self, things: Iterable[T], shares: Shares[T]) -> None:
        super().__init__(things)
        self._shares = shares
        self._in_use: Counter[Hashable] = Counter()
        self._choosing = threading.Lock()

    def give(self, thing: T) -> None:
        with self._choosing:
            self._in_use.subtract(self._prefixes(thing))
        super().give(thing)

    def _pop(self) -> T:
        with self._choosing:
            loads = [[self._in_use[share] for share in self._prefixes(thing)] for thing in self._free]
            best = min(reversed(range(len(loads))), key=loads.__getitem__, default=-1)
            thing = self._free.pop(best)
            self._in_use.update(self._prefixes(thing))
        return thing

    def _prefixes(self, thing: T) -> list[Hashable]:
        """A queue of one card is not that of another."""
        shares = tuple(self._shares(thing))
        return [shares[:end] for end in range(1, len(shares) + 1)]
