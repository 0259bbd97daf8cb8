from __future__ import annotations

import dataclasses
import io
import json

import pytest
from rich.console import Console

from pipeline import Deployment
from pipeline.tune.choose import ALL, Case, Option, StageGears
from pipeline.tune.host import Host
from pipeline.tune.memory import Memory
from pipeline.tune.report import Report, document, gear_sets, table
from pipeline.tune.search import Measured, Surface
from pipeline.tune.space import Manners, Point, Space
from pipeline.tune.traffic import Arrival, Traffic
from pipeline.tune.tuned import Tuned


def report(on_host: bool = False, host: Host | None = None, gears: StageGears | None = None) -> Report:
    """Measured: 4 rows on 2 streams, and less on one. Chosen: what is measured first."""
    point = Point(4, 2, 1 if on_host else "12|10")
    chosen = Option(point, gears or {ALL: (1, 4)}, 500, 1234.5, 6789.0, {1: 10, 3: 10})
    other = Option(point._replace(streams=1), {ALL: (4,)}, 0, 600.0, 3000.0, {4: 1})
    space = Space((1, 2, 4), (1, 2), (point.share,))
    case = Case(space, Traffic("log.csv", {1: 40}), 2, Manners(not on_host, on_host), host)
    tried = {point: Measured(1300.0, 6000.0), point._replace(streams=1): Measured(700.0, 5700.0)}
    surface = Surface(space, {tried_: seen.per_sec for tried_, seen in tried.items()})
    tuned = Tuned(case, tried, surface, 6, [chosen, other], chosen)
    memory = Memory(weights={"image": 50_000_000}, sample=100_000)
    settings = Deployment(gears=(1, 4), streams=2)
    return Report("dense", "npu:0", tuned, memory, 8000.0, settings, {"image": ("image",)})


def text(of: Report) -> list[str]:
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(table(of))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_the_table_shows_what_was_asked_how_much_was_tried_and_the_choice_among_the_others() -> None:
    lines = text(report())
    assert lines[0] == "dense on npu:0, for p99 within 8 ms; traffic: log.csv, 40 requests"
    assert lines[1] == "2 of 6 candidates measured (33%)"
    heading, chosen, other = lines[3:6]
    names = "samples/s p99 ms streams cores delay us weights MB buffers MB gears"
    assert heading.split() == names.split()
    # Weights: a copy for each stream of a graded graph; buffers: 2 * streams + 3 sets of 4 rows.
    assert chosen.split() == ["*", "1234.5", "6.79", "2", "12|10", "500", "100.0", "2.8", "1,4"]
    assert other.split() == ["600.0", "3.00", "1", "12|10", "0", "50.0", "2.0", "4"]
    (steps,) = [line for line in lines if line.startswith("a step of each gear, 2 streams busy: 1: ")]
    assert " us (expected), 4: 6,1" in steps  # 8 rows at 1300 a second are 6.15 ms
    assert steps.endswith(" us")
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
    assert found["tried"][0] == {"gear": 4, "streams": 2, "cores": "12|10", "per_sec": 1300.0, "p99_us": 6000.0}
    assert (found["candidates"], found["limit_us"], found["traffic"]) == (6, 8000.0, "log.csv")
    chosen = found["chosen"]
    assert chosen in found["options"]
    assert chosen["memory"] == {"weights": 100_000_000, "buffers": 2_800_000}
    assert chosen["pad_waste"] == pytest.approx(0.25)
    assert [(step["gear"], step["measured"]) for step in found["steps"]] == [(1, False), (4, True)]
    assert found["host"] is None
    assert Deployment.of(None, **found["deployment"]) == Deployment(gears=(1, 4), streams=2)


def note(of: Report, begins: str) -> str:
    """The line that begins so, and what of it the width has put into the next ones."""
    whole = " ".join(text(of))
    return whole[whole.index(begins) :]


def test_it_says_what_the_host_gives_at_most_and_that_more_streams_do_not_help() -> None:
    slow = Host(cores=2, before_us=1500.0, after_us=100.0, shared=False)
    said = note(report(host=slow), "host: ")
    assert said.startswith(
        "host: 1,500 us a sample before the device, 100 us behind it; it gives at most 1,250 samples/s"
    )
    assert "on 2 cores: more streams do not help" in said
    fast = Host(cores=2, before_us=100.0, after_us=100.0, shared=False)
    assert "more streams do not help" not in note(report(host=fast), "host: ")
    assert "which it shares with the device" in note(report(True, Host(2, 1500.0, 100.0, True)), "host: ")


def test_it_says_where_the_host_was_not_measured() -> None:
    assert note(report(), "host: ").startswith("host: not measured, so what it does to a sample comes on top")


def test_it_says_whether_merging_gains_anything() -> None:
    assert " times as many samples a second" in note(report(), "merging: a row takes ")
    slower = report()
    rates = {point: 100.0 / point.gear**0.2 for point in slower.case.space.points()}
    tuned = dataclasses.replace(slower.tuned, surface=Surface(slower.case.space, rates))
    said = note(dataclasses.replace(slower, tuned=tuned), "merging: ")
    assert said.split(", so it ")[1].startswith("costs throughput here")


@pytest.mark.parametrize(("per_second", "said"), [(1000, False), (2000, True)])
def test_it_says_where_more_comes_than_is_done(per_second: int, said: bool) -> None:
    arrivals = tuple(Arrival(index / per_second) for index in range(100))
    of = report()
    case = dataclasses.replace(of.case, traffic=Traffic("log.csv", {1: 100}, arrivals))
    lines = text(dataclasses.replace(of, tuned=dataclasses.replace(of.tuned, case=case)))
    warned = any(line.startswith("traffic: 2,000 samples/s come, more than the 1,234 that are done") for line in lines)
    assert warned == said


def test_it_says_when_measurements_cannot_be_trusted() -> None:
    of = report()
    assert not any(line.startswith("unsteady") for line in text(of))
    shaky = dataclasses.replace(of, tuned=dataclasses.replace(of.tuned, unsteadiness=1.5))
    assert "differed by 1.5 times; something else uses this machine" in note(shaky, "unsteady: ")
    assert document(shaky)["unsteadiness"] == 1.5


def test_stages_with_gears_of_their_own_are_named() -> None:
    own = report(gears={"image": (1, 4), "text": (4,)})
    own = dataclasses.replace(own, models={"image": ("vit",), "text": ("bert",)})
    lines = text(own)
    assert any(line.endswith("vit 1,4; bert 4") for line in lines)
    assert any(line.startswith("*") and line.endswith("% vit 1,4") for line in lines)
    assert document(own)["chosen"]["gears"] == {"vit": (1, 4), "bert": (4,)}


def test_more_gears_than_an_export_takes_are_pointed_out() -> None:
    own = report(gears={ALL: (1, 32)})
    assert "to export more than 16 sizes is refused" in note(own, "gear 32 is for this process")


def test_gear_sets_pad_the_histogram_less_with_each_gear() -> None:
    histogram = {1: 500, 2: 120, 3: 40, 8: 10}  # 940 rows
    case = Case(Space((1, 2, 3, 8), (1,)), Traffic("a histogram", histogram), 4, Manners(pads=True, on_host=False))
    option = Option(Point(8, 1, None), {ALL: (1, 8)}, 0, 1.0, 1.0, histogram)
    assert gear_sets(case, option) == [
        ((8,), (500 * 7 + 120 * 6 + 40 * 5) / 940, ()),
        ((2, 8), (500 + 40 * 5) / 940, ()),
        ((1, 3, 8), 120 / 940, ()),
        ((1, 2, 3, 8), 0, ()),
        ((1, 8), (120 * 6 + 40 * 5) / 940, [ALL]),
    ]
