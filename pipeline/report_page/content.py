"""Content: what a page is about: a plan, and what was measured and found of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ops import Finding

if TYPE_CHECKING:
    from ..bench import Report
    from ..plan import Plan
    from ..profile import Stats


@dataclass(frozen=True)
class Content:
    """bench, stats: of one session. trace: the document of a Chrome trace. findings: by who has them to say, as "lint";
    an empty list says that there are none. machine: what it was measured on.
    """

    plan: Plan
    bench: Report | None = None
    stats: Stats | None = None
    trace: Mapping[str, Any] | None = None
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    machine: str = ""
