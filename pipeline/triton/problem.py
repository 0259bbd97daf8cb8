"""A problem that a check found, before it becomes a Finding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ops import Finding
from ops.where import Where

# The server refuses what E and M say; what V and R say loads and fails; L is mostly good to know.
_SEVERITIES = {"E": "refused", "M": "refused", "V": "fails", "R": "fails", "L": "advice"}


class Place(NamedTuple):
    """A file or folder, and a line of it (0: all of it)."""

    path: str
    line: int = 0


@dataclass(frozen=True)
class Problem:
    """What a check found; without a severity of its own it has that of the rule's family."""

    rule: str
    place: Place
    message: str
    fix: str
    own_severity: str = ""

    @property
    def severity(self) -> str:
        return self.own_severity or _SEVERITIES[self.rule[0]]

    @property
    def refused(self) -> bool:
        return self.severity == "refused"

    def finding(self) -> Finding:
        return Finding(self.rule, self.severity, str(Where(*self.place)), self.message, self.fix)
