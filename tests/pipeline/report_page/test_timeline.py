from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tiny

from pipeline.report_page.timeline import Lane, Slice, first_slices, lanes_of, timeline


def event(name: str, lane: int, begin: float, length: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "tid": lane, "ts": begin, "dur": length, "args": args}


def name(lane: int, text: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "tid": lane, "args": {"name": text}}


DOCUMENT = {
    "traceEvents": [
        name(2, "worker"),
        name(1, "stream <0>"),
        {"ph": "C", "name": "pending", "ts": 0, "args": {"samples": 1}},
        event("request", 2, 0, 100, samples=1),
        event("scale", 2, 10, 20, node="scale", sample=1),
        event("scale", 2, 30, 20, node="scale", sample=2),
        event("dense", 1, 60, 30, rows=2),
    ]
}


def test_lanes_are_those_of_the_trace_and_slices_stand_in_what_holds_them() -> None:
    lanes = lanes_of(DOCUMENT)
    assert [lane.name for lane in lanes] == ["stream <0>", "worker"]
    assert [(one.name, one.depth) for one in lanes[1].slices] == [("request", 0), ("scale", 1), ("scale", 1)]
    assert lanes[1].slices[1].hint == "sample 1"


def test_a_slice_is_as_long_as_it_took() -> None:
    picture = ElementTree.fromstring(timeline(lanes_of(DOCUMENT), "t"))
    places = {}
    for group in picture.iter("g"):
        rect = group.find("rect")
        assert rect is not None
        places[group.findtext("title")] = (float(rect.get("x", "")), float(rect.get("width", "")))
    request, dense = places["request: 100 µs; samples 1"], places["dense: 30 µs; rows 2"]
    assert dense[1] / request[1] == pytest.approx(0.3, abs=0.001)
    assert (dense[0] - request[0]) / request[1] == pytest.approx(0.6, abs=0.001)


def test_of_a_long_trace_the_begin_is_shown() -> None:
    lanes = [
        Lane("a", tuple(Slice("s", at, at + 1, 0, "") for at in range(100))),
        Lane("b", (Slice("t", 99, 100, 0, ""),)),
    ]
    shown, is_part = first_slices(lanes, most=10)
    assert is_part
    assert [(lane.name, len(lane.slices)) for lane in shown] == [("a", 10)]
    assert first_slices(lanes, most=1000) == (lanes, False)


def test_a_real_trace_has_its_stream_and_threads(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    with tiny.vector_pipeline(tmp_path).compile(gears=(1, 2)).session() as session, session.trace(file):
        list(session.map(tiny.vectors(4)))
    lanes = lanes_of(json.loads(file.read_text(encoding="utf-8")))
    assert lanes[0].name == "stream 0 of cpu"
    assert {one.name for lane in lanes for one in lane.slices} >= {"scale", "dense", "copy out"}
    ElementTree.fromstring(timeline(lanes, "t"))
