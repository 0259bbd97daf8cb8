"""Item: a sample on its way through a plan."""

from __future__ import annotations

from typing import Any

from ops import GepipeError


class Item:
    """A sample on its way: its values so far, or the error that stopped it."""

    __slots__ = ("answer", "copied_in", "copied_out", "error", "given", "made", "number", "sizes", "times", "values")

    def __init__(self, values: dict[str, Any], copied_in: int = 0) -> None:
        self.values = values
        self.given = tuple(values.values())  # the caller's own, which no answer may hand back
        self.sizes: dict[str, int] = {}  # for each Graded dim, the index of its value
        self.error: GepipeError | None = None
        self.answer: dict[str, Any] = {}
        self.copied_in = copied_in
        self.copied_out = 0
        self.number = 0
        self.times = [1.0]  # for Recorder.samples
        self.made: list[int] | None = None  # the bytes that each part makes, while there is a trace
