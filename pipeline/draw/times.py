"""Times: what a trace has measured, by node and by stage."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ops import WrongUse

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
    """The document. Errors: WrongUse for a file that is no trace."""
    try:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"{file} cannot be read: {error.strerror}", fix=_FIX) from error
    except ValueError as error:
        raise WrongUse(f"{file} is no trace: {error}", fix=_FIX) from error
    if isinstance(document, dict):
        events = document.get("traceEvents")
        if isinstance(events, list) and all(isinstance(event, dict) for event in events):
            return document
    raise WrongUse(f"{file} is no trace: it has no traceEvents", fix=_FIX)


def read_times(file: str | os.PathLike[str], nodes: Iterable[str], stages: Iterable[str]) -> Times:
    """What a trace says of these nodes and stages.

    Errors: WrongUse for a file that is no trace, or one of another pipeline.
    """
    times = times_of(read_trace(file), nodes, stages)
    if not times.nodes and not times.stages:
        raise WrongUse(f"{file} has no times of this pipeline", fix=_FIX)
    return times


def times_of(document: Mapping[str, Any], nodes: Iterable[str], stages: Iterable[str]) -> Times:
    """The same of a trace that has been read; empty where it says nothing of them."""
    by_node: dict[str, list[float]] = {name: [] for name in nodes}
    by_stage: dict[str, list[float]] = {name: [] for name in stages}
    for event in document["traceEvents"]:
        args = event.get("args")
        if event.get("ph") != "X" or not isinstance(args, dict) or "error" in args:
            continue
        for found, name in ((by_node, args.get("node")), (by_stage, args.get("stage"))):
            if name in found:
                found[name].append(float(event.get("dur", 0)))
    return Times(_means(by_node), _means(by_stage))


def _means(found: Mapping[str, list[float]]) -> dict[str, Mean]:
    return {name: Mean(sum(times) / len(times), len(times)) for name, times in found.items() if times}
