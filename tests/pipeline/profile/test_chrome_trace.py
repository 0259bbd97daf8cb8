from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from ops import WrongUse
from pipeline.profile.chrome_trace import ChromeTrace, stream_lane


def events(file: Path) -> list[dict[str, Any]]:
    document = json.loads(file.read_text(encoding="utf-8"))
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"}
    lines: list[dict[str, Any]] = document["traceEvents"]
    return lines


def test_times_are_microseconds_from_the_start_of_the_trace(tmp_path: Path) -> None:
    before = perf_counter()
    trace = ChromeTrace(tmp_path / "t.json", "vector on cpu")
    begin = perf_counter()
    trace.slice("resize", begin, begin + 1.5e-6, {"node": "resize"})
    trace.write()
    (line,) = (line for line in events(tmp_path / "t.json") if line["ph"] == "X")
    assert 0 <= line["ts"] <= (begin - before) * 1e6 + 0.001
    assert line["dur"] == pytest.approx(1.5, abs=0.0011)
    assert (line["name"], line["args"]) == ("resize", {"node": "resize"})


def test_lanes_have_names_and_streams_come_first(tmp_path: Path) -> None:
    trace = ChromeTrace(tmp_path / "t.json", "vector on cpu")
    begin = perf_counter()
    trace.slice("mine", begin, begin + 1e-6, {})
    other = threading.Thread(target=trace.slice, args=("other", begin, begin + 1e-6, {}), name="worker 3")
    other.start()
    other.join()
    for index in (1, 0):
        trace.slice("run", begin, begin + 1e-6, {}, stream_lane(index, "cpu"))
    trace.write()
    lines = events(tmp_path / "t.json")
    names = {line["tid"]: line["args"]["name"] for line in lines if line["name"] == "thread_name"}
    assert [names[tid] for tid in sorted(names)] == ["stream 0 of cpu", "stream 1 of cpu", "MainThread", "worker 3"]
    assert {names[line["tid"]]: line["name"] for line in lines if line["ph"] == "X"} == {
        "stream 0 of cpu": "run", "stream 1 of cpu": "run", "MainThread": "mine", "worker 3": "other"
    }  # fmt: skip
    assert [line["args"] for line in lines if line["name"] == "process_name"] == [{"name": "vector on cpu"}]


def test_lanes_of_a_stream_stand_as_they_came_and_threads_as_people_count(tmp_path: Path) -> None:
    trace = ChromeTrace(tmp_path / "t.json", "vector on npu:0")
    begin = perf_counter()
    came = ["stream 0 of npu:0", "stream 0 of npu:0: transfer in", "stream 0 of npu:0: compute"]
    for at, (lane, name) in enumerate([(7, "gepipe-10"), (8, "gepipe-2"), *((-1, name) for name in came)]):
        trace.slice("x", begin + at * 1e-6, begin + at * 1e-6, {}, (lane, name))
    trace.write()
    names = {e["tid"]: e["args"]["name"] for e in events(tmp_path / "t.json") if e["name"] == "thread_name"}
    assert [names[tid] for tid in sorted(names)] == [*came, "gepipe-2", "gepipe-10"]


def test_a_wait_has_a_begin_and_an_end_of_one_identifier(tmp_path: Path) -> None:
    trace = ChromeTrace(tmp_path / "t.json", "t")
    begin = perf_counter()
    trace.wait("queue", 7, begin, begin + 2e-6)
    trace.write()
    first, second = (line for line in events(tmp_path / "t.json") if line["ph"] in "be")
    assert (first["ph"], second["ph"]) == ("b", "e")
    assert {(line["id"], line["cat"], line["name"]) for line in (first, second)} == {(7, "queue", "queue")}
    assert second["ts"] - first["ts"] == pytest.approx(2.0, abs=0.0011)


def test_memory_is_bounded_and_the_last_events_stay(tmp_path: Path) -> None:
    trace = ChromeTrace(tmp_path / "t.json", "t", max_events=3)
    for number in range(5):
        now = perf_counter()
        trace.slice(str(number), now, now, {})
    trace.write()
    document = json.loads((tmp_path / "t.json").read_text())
    assert [line["name"] for line in document["traceEvents"] if line["ph"] == "X"] == ["2", "3", "4"]
    assert document["otherData"]["oldest events dropped"] is True


def test_what_began_before_the_trace_is_not_in_it(tmp_path: Path) -> None:
    early = perf_counter()
    trace = ChromeTrace(tmp_path / "t.json", "t")
    trace.slice("early", early, perf_counter(), {})
    trace.write()
    assert not [line for line in events(tmp_path / "t.json") if line["ph"] == "X"]


def test_the_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text("an older trace")
    trace = ChromeTrace(file, "t")
    assert file.read_text() == "an older trace"
    trace.write()
    assert events(file)
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


@pytest.mark.parametrize("name", ["absent/t.json", "."])
def test_a_file_that_cannot_be_written_is_refused_at_once(name: str, tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match=r"cannot be written\nfix: name a file in a folder that is there"):
        ChromeTrace(tmp_path / name, "t")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="could not import 'onnx: no pipes here")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WrongUse, match="pipe cannot be written"):
        ChromeTrace(tmp_path / "pipe", "t")


def test_a_folder_that_is_gone_at_the_end_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    trace = ChromeTrace(folder / "t.json", "t")
    folder.rmdir()
    with pytest.raises(WrongUse, match=r"t.json cannot be written: No such file"):
        trace.write()
