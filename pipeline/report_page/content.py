"""Content: what a page is about: a plan, and what was measured and found of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ops import Finding

from ..draw.times import Times, times_of, times_of_stats

if TYPE_CHECKING:
    from ..bench import Report
    from ..plan import Plan
    from ..profile import Stats


@dataclass(frozen=True)
class Content:
    """bench: of one session; stats: of its first level, so that both tell of the same calls. trace: the document of a
    Chrome trace; traced: which samples it is of. findings: by who has them to say, as "lint"; an empty list says that
    there are none. machine: what it was measured on.
    """

    plan: Plan
    bench: Report | None = None
    stats: Stats | None = None
    trace: Mapping[str, Any] | None = None
    traced: str = ""
    findings: Mapping[str, Sequence[Finding]] = field(default_factory=dict)
    machine: str = ""

    @property
    def counts(self) -> Stats | None:
        """The stats, where there is something in them."""
        return self.stats if self.stats is not None and self.stats.samples else None

    @property
    def times(self) -> Times | None:
        """The means that the whole page shows: what was counted, else those of the trace."""
        if self.counts is not None:
            return times_of_stats(self.counts)
        if self.trace is None:
            return None
        return times_of(self.trace, [step.name for step in self.plan.graph.steps], self.plan.built)

    @property
    def counted(self) -> str:
        """Which calls the means are of."""
        assert self.counts is not None
        samples = f"{self.counts.samples:,} sample{'s' if self.counts.samples > 1 else ''}"
        if self.bench is None or not self.bench.levels:
            return samples
        return f"{samples} with {clients(self.bench.levels[0].concurrency)}"


def clients(count: int) -> str:
    """As "2 clients"."""
    return f"{count} client{'s' if count > 1 else ''}"
