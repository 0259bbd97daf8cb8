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
    """What a check found; `severity` "" is what the rule's family says."""

    rule: str
    place: Place
    message: str
    fix: str
    severity: str = ""

    @property
    def refused(self) -> bool:
        return self.finding().severity == "refused"

    def finding(self) -> Finding:
        severity = self.severity or _SEVERITIES[self.rule[0]]
        return Finding(self.rule, severity, str(Where(*self.place)), self.message, self.fix)
