from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from pipeline import Deployment
from pipeline.tune.choose import Case, Option
from pipeline.tune.manners import Manners
from pipeline.tune.memory import Memory
from pipeline.tune.report import Report, document, table
from pipeline.tune.search import Measured
from pipeline.tune.space import Point, Space
from pipeline.tune.traffic import Traffic
from pipeline.tune.tuned import Tuned


def report(on_host: bool = False) -> Report:
    point = Point(4, 2, 1 if on_host else "12|10")
    chosen = Option(point, (1, 4), 500, 1234.5, 6789.0, {1: 10, 3: 10})
    other = Option(point._replace(streams=1), (4,), 0, 600.0, 3000.0, {4: 1})
    space = Space((1, 2, 4), (1, 2), (point.share,))
    case = Case(space, Traffic("log.csv", {1: 40}), 2, Manners(not on_host, on_host))
    tuned = Tuned({point: Measured(1300.0, 6000.0)}, 6, [chosen, other], chosen, {1: 900.0, 4: 6500.0}, (1,))
    memory = Memory(weights=50_000_000, sample=100_000)
    return Report("dense", "npu:0", case, tuned, memory, 8000.0, Deployment(gears=(1, 4), streams=2))


def text(of: Report) -> list[str]:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(table(of))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_the_table_shows_what_was_asked_how_much_was_tried_and_the_choice_among_the_others() -> None:
    lines = text(report())
    assert lines[0] == "dense on npu:0, for p99 within 8 ms; traffic: log.csv, 40 requests"
    assert lines[1].startswith("1 of 6 candidates measured (17%); device stages only")
    heading, chosen, other = lines[3:6]
    names = "samples/s p99 ms streams cores delay us weights MB buffers MB gears"
    assert heading.split() == names.split()
    # Weights: a copy for each stream of a graded graph; buffers: 2 * streams + 3 sets of 4 rows.
    assert chosen.split() == ["*", "1234.5", "6.79", "2", "12|10", "500", "100.0", "2.8", "1,4"]
    assert other.split() == ["600.0", "3.00", "1", "12|10", "0", "50.0", "2.0", "4"]
    assert "a step of each gear, 2 streams busy: 1: 900 us (expected), 4: 6,500 us" in lines
    assert all(len(line) <= 100 for line in lines)


def test_the_pad_waste_of_each_set_is_there() -> None:
    rows = [line.split() for line in text(report())]
    assert ["0.0%", "1"] in rows  # all 40 requests have one sample
    assert ["*", "25.0%", "1,4"] in rows  # of the batches that were formed: 10 rows pad 40


def test_on_a_cpu_weights_are_there_once_and_the_share_is_threads() -> None:
    lines = text(report(on_host=True))
    assert "threads" in lines[3]
    assert lines[4].split()[5:8] == ["500", "50.0", "2.8"]
    assert any(line.startswith("weights: once, whatever the streams") for line in lines)


def test_the_document_holds_all_of_it() -> None:
    found = json.loads(json.dumps(document(report())))
    assert found["tried"] == [{"gear": 4, "streams": 2, "cores": "12|10", "per_sec": 1300.0, "p99_us": 6000.0}]
    assert (found["candidates"], found["limit_us"], found["traffic"]) == (6, 8000.0, "log.csv")
    chosen = found["chosen"]
    assert chosen in found["options"]
    assert chosen["memory"] == {"weights": 100_000_000, "buffers": 2_800_000}
    assert chosen["pad_waste"] == pytest.approx(0.25)
    assert found["steps"][0] == {"gear": 1, "step_us": 900.0, "measured": False}
    assert Deployment.of(None, **found["deployment"]) == Deployment(gears=(1, 4), streams=2)
