"""Check: one thing that doctor looks at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing looked at: whether it is well, what was seen, and what to do if it is not."""

    name: str
    ok: bool
    seen: str
    fix: str = ""

    def __str__(self) -> str:
        """A line; where it is not well, another with what to do."""
        text = f"{'PASS' if self.ok else 'FAIL'}  {self.name}: {self.seen}"
        return text if self.ok else f"{text}\n      fix: {self.fix}"
