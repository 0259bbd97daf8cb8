"""Times: what was measured, by node and by stage."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ops import WrongUse

if TYPE_CHECKING:
    from ..profile import Stats

_FIX = "give a file that `gepipe run --trace` or session.trace wrote"


class Mean(NamedTuple):
    """The mean of so many times, in microseconds."""

    us: float
    calls: int

    def __str__(self) -> str:
        value, unit = (self.us / 1e3, "ms") if self.us >= 1000 else (self.us, "µs")
        return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


@dataclass(frozen=True)
class Times:
    """nodes: the time of one sample, of each node of a host stage. stages: of one run, of each device stage."""

    nodes: Mapping[str, Mean]
    stages: Mapping[str, Mean]


def read_trace(file: str | os.PathLike[str]) -> dict[str, Any]:
    """The document, with a name, a lane and times at every slice. Errors: WrongUse for a file that is no trace."""
    try:
        document: Any = json.loads(Path(file).read_bytes())
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror}", fix=_FIX) from error
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{file} is no trace: {error}", fix=_FIX) from error
    if not isinstance(document, dict) or not isinstance(events := document.get("traceEvents"), list):
        raise WrongUse(f"{file} is no trace: it has no traceEvents", fix=_FIX)
    for event in events:
        if not isinstance(event, dict) or not _is_whole(event):
            raise WrongUse(f"{file} is no trace of gepipe's: it has the event {json.dumps(event):.100}", fix=_FIX)
    return document


def _is_whole(event: Mapping[str, Any]) -> bool:
    """Whether an event has what is read of it; of kinds that are not read anything may be so."""
    if event.get("ph") not in ("X", "M"):
        return True
    args = event.get("args", {})
    if not isinstance(event.get("name"), str) or not isinstance(event.get("tid", 0), int) or not isinstance(args, dict):
        return False
    if event["ph"] == "M":
        return event["name"] != "thread_name" or isinstance(args.get("name"), str)
    times = (event.get("ts"), event.get("dur"))
    return "tid" in event and all(isinstance(time, (int, float)) and 0 <= time < math.inf for time in times)


def read_times(file: str | os.PathLike[str], nodes: Iterable[str], stages: Iterable[str]) -> Times:
    """What a trace says of these nodes and stages.

    Errors: WrongUse for a file that is no trace, or one of another pipeline.
    """
    return read_trace_of(file, nodes, stages)[1]


def read_trace_of(
    file: str | os.PathLike[str], nodes: Iterable[str], stages: Iterable[str]
) -> tuple[dict[str, Any], Times]:
    """The document too. Errors: as read_times."""
    document = read_trace(file)
    times = times_of(document, nodes, stages)
    if not times.nodes and not times.stages:
        raise WrongUse(f"{file} has no times of this pipeline", fix=_FIX)
    return document, times


def times_of(document: Mapping[str, Any], nodes: Iterable[str], stages: Iterable[str]) -> Times:
    """The same of a trace that has been read; empty where it says nothing of them."""
    by_node: dict[str, list[float]] = {name: [] for name in nodes}
    by_stage: dict[str, list[float]] = {name: [] for name in stages}
    for event in document["traceEvents"]:
        args = event.get("args")
        if event.get("ph") != "X" or not args or "error" in args:
            continue
        for found, name in ((by_node, args.get("node")), (by_stage, args.get("stage"))):
            if isinstance(name, str) and name in found:
                found[name].append(float(event["dur"]))
    return Times(_means(by_node), _means(by_stage))


def times_of_stats(stats: Stats) -> Times:
    """The means that a session has counted itself."""
    means = {(row.stage, row.node): Mean(row.mean_ms * 1e3, row.calls) for row in stats.rows if row.calls}
    ops = {(row.stage, row.node) for row in stats.rows if row.op}
    return Times(
        {node: mean for (stage, node), mean in means.items() if (stage, node) in ops},
        {stage: mean for (stage, node), mean in means.items() if node == "run" and (stage, node) not in ops},
    )


def _means(found: Mapping[str, list[float]]) -> dict[str, Mean]:
    return {name: Mean(sum(times) / len(times), len(times)) for name, times in found.items() if times}
