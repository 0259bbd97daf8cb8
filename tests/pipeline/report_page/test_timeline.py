from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import tiny

from pipeline.report_page.timeline import Lane, Slice, first_slices, lanes_of, legend, timeline


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
        event("dense", 1, 60, 30, stage="dense", rows=2),
    ]
}


def test_lanes_are_those_of_the_trace_and_slices_stand_in_what_holds_them() -> None:
    lanes = lanes_of(DOCUMENT)
    assert [lane.name for lane in lanes] == ["stream <0>", "worker"]
    assert [(one.name, one.depth) for one in lanes[1].slices] == [("request", 0), ("scale", 1), ("scale", 1)]
    assert lanes[1].slices[1].hint == "sample 1"


def test_a_slice_is_as_long_as_it_took() -> None:
    picture = ElementTree.fromstring(timeline(lanes_of(DOCUMENT)))
    places = {}
    for slice in picture.iter("div"):
        if title := slice.get("title"):
            places[title] = tuple(map(float, re.findall(r"(?:left|width):([\d.]+)%", slice.get("style", ""))))
    assert places["request: 100 µs; samples 1"] == (0, 100)
    assert places["dense: 30 µs; stage dense, rows 2"] == (60, 30)


def test_a_colour_is_a_kind_of_work() -> None:
    events = [
        event("request", 2, 0, 100, samples=1),
        event("queue", 2, 0, 1),
        event("check", 2, 1, 1),
        event("request", 2, 2, 1, node="request", op="Scale"),  # a step may be called anything
        event("scale", 2, 3, 1, node="scale", error="oh"),
        event("copy in", 2, 4, 1, bytes=8),
        event("wait for a stream", 2, 5, 1, rows=1),
        event("dense", 1, 6, 1, stage="dense"),
        event("transfer in", 1, 7, 1),
        event("compute", 1, 8, 1),
    ]
    lanes = lanes_of({"traceEvents": events})
    assert [one.kind for one in lanes[1].slices] == ["request", "wait", "copy", "host", "failed", "copy", "wait"]
    assert [one.kind for one in lanes[0].slices] == ["device", "copy", "device"]
    meanings = "step on the host", "run on the device", "copy or check", "wait", "whole request", "failed"
    assert re.findall(r"</span>([^<]+)</span>", legend(lanes)) == list(meanings)
    assert "failed" not in legend(lanes[:1])


def test_of_a_long_trace_the_begin_is_shown() -> None:
    lanes = [
        Lane("a", tuple(Slice("s", "host", at, at + 1) for at in range(100))),
        Lane("b", (Slice("t", "host", 99, 100),)),
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
    assert {one.name: one.kind for lane in lanes for one in lane.slices} == {
        "scale": "host", "dense": "device", "copy out": "copy", "wait for a stream": "wait",
    } | {one.name: one.kind for lane in lanes for one in lane.slices if one.name == "copy in"}  # fmt: skip
    ElementTree.fromstring(timeline(lanes))
