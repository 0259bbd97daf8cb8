"""Stats: where the time of a session goes, one row a node, in the form of MMDeploy's profiler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import NamedTuple

from .recorder import Recorder
from .series import WINDOW

FORMAT = 1
_LEGEND = "queue: until a sample is started; map reads ahead, and its samples wait here"
_HEADINGS = ("calls", "mean ms", "p50 ms", "p90 ms", "share %")


class Row(NamedTuple):
    """One part: all its calls, and the time of one in milliseconds.

    A node of a host stage is called once a sample, a device stage once a batch. p50, p90: of the last calls.
    share: of all the time that was worked, in percent; None for what only waits or is made of other rows.
    """

    stage: str
    node: str
    op: str
    calls: int
    mean_ms: float
    p50_ms: float
    p90_ms: float
    share: float | None


@dataclass(frozen=True)
class Stats:
    """Rows in the order of a request, since the session was opened. Calls that failed are not in them.

    requests: calls of run, run_batch and submit that were answered. failed: those with a sample that failed.
    samples: all that were answered. window: the calls of which percentiles are taken.
    """

    pipeline: str
    device: str
    requests: int
    failed: int
    samples: int
    window: int
    rows: tuple[Row, ...]

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self), "rows": [row._asdict() for row in self.rows]}, indent=1)

    def __str__(self) -> str:
        lines = [(row.stage, f"{'  ' if row.stage else ''}{row.node}", *_cells(row)) for row in self.rows]
        left = max(len(text) for stage, node, *_ in lines for text in (stage, node))
        widths = [max(len(heading), 9) for heading in _HEADINGS]
        all_ = self.requests + self.failed
        counts = f"{all_:,} request{'s' if all_ != 1 else ''}: {self.requests:,} answered, {self.failed:,} failed"
        samples = f"{self.samples:,} sample{'s' if self.samples != 1 else ''} answered"
        text = [f"{self.pipeline} on {self.device}: {counts}; {samples}; p50 and p90 of the last {self.window:,} calls"]
        text.append(" ".join(["node".ljust(left), *map(str.rjust, _HEADINGS, widths)]))
        stage = ""
        for of, node, *cells in lines:
            if of != stage:
                stage = of
                text += [of] if of else []
            text.append(" ".join([node.ljust(left), *map(str.rjust, cells, widths)]).rstrip())
        text.append(_LEGEND)
        return "\n".join(text)


def stats(recorder: Recorder) -> Stats:
    """What a recorder has counted so far."""
    sums = list(recorder.sums())
    worked = sum(counted.total[place] for part, counted, place in sums if part.works)
    rows = []
    for part, counted, place in sums:
        total = counted.total[place]
        mean = total / counted.passes if counted.passes else 0.0
        mean_ms, p50_ms, p90_ms = (1e3 * time for time in (mean, counted.p50[place], counted.p90[place]))
        share = 100 * total / worked if part.works and worked else None
        rows.append(Row(part.stage, part.node, part.op, counted.passes, mean_ms, p50_ms, p90_ms, share))
    requests, samples = sums[0][1], sums[-1][1]
    name = recorder.plan.graph.name
    return Stats(name, recorder.device, requests.passes, requests.failed, samples.passes, WINDOW, tuple(rows))


def _cells(row: Row) -> Iterator[str]:
    yield f"{row.calls:,}"
    yield from (f"{time:.3f}" for time in (row.mean_ms, row.p50_ms, row.p90_ms))
    yield "" if row.share is None else f"{row.share:.1f}"
