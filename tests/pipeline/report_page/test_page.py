from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import tiny
from browser import Chromium
from drawings import shop
from weights import ROOT, laid_out

from ops import Finding
from pipeline import Plan
from pipeline.bench import Report, Settings, sweep
from pipeline.bench.in_process import SessionTarget
from pipeline.draw.times import Mean
from pipeline.load import load
from pipeline.report_page import Content, page

SECTIONS = ["picture", "plan", "gears", "passes", "benchmark", "trace", "findings", "settings"]
BAD = '<img src="http://example.com/x.png" onerror="alert(1)"> & \'猫\''
FINDINGS = {
    "The pipeline": (
        Finding("G51", "advice", "graph.py:3", BAD, BAD),
        Finding("V17", "fails", "graph.py:4", "bad", ""),
    ),
    "An export of it": (),
}


def measured(plan: Plan, folder: Path) -> Content:
    """With a short bench, and a trace."""
    samples = tiny.vectors(4)
    kept: list[Report] = []
    with plan.session() as session:
        target = SessionTarget(session, samples, 1, 10)
        report = sweep(target, target.where, (1, 2), Settings(window_s=0.05, max_windows=3), kept.append)
        stats = session.stats()
        with session.trace(folder / "trace.json"):
            list(session.map(samples))
    trace = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
    return Content(plan, report, stats, trace, "4 samples", FINDINGS, "2 cores")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    return page(measured(tiny.vector_pipeline(folder).compile(gears=(1, 2)), folder))


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a pipeline whose picture is wider than any phone."""
    folder = tmp_path_factory.mktemp("wide")
    return page(Content(shop(folder).compile(gears=(1, 2)), findings=FINDINGS))


def test_the_page_has_every_section_with_a_sentence_of_what_it_is(whole: str) -> None:
    assert re.findall(r'<section id="(\w+)"><h2>[^<]+</h2><p class="lead">\w', whole) == SECTIONS
    assert re.findall(r'<a href="#(\w+)">', whole) == SECTIONS


def test_what_was_not_measured_has_no_section(wide: str) -> None:
    assert re.findall(r'<section id="(\w+)">', wide) == [one for one in SECTIONS if one not in ("benchmark", "trace")]


def test_what_a_finding_says_is_text_and_nothing_else(whole: str) -> None:
    assert "<img" not in whole
    assert "&lt;img src=&quot;http://example.com/x.png&quot;" in whole
    assert "<script" not in whole


def test_without_a_device_stage_there_is_a_page_too(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile()
    host = tuple(stage for stage in plan.stages if not stage.on_device)
    assert "To and from the device" not in page(Content(dataclasses.replace(plan, stages=host, built={})))


def test_nobody_learns_from_the_page_where_its_maker_keeps_files(whole: str, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile()
    found = (Finding("V17", "fails", str(tmp_path / "secret" / "graph.py:4"), "bad", ""),)
    text = page(Content(plan, findings={"The pipeline": found}))
    assert "graph.py:4" in text
    for one in (text, whole):
        assert str(tmp_path.parent) not in one
        assert str(Path(__file__).parent) not in one


def test_where_nothing_was_answered_there_is_no_latency(tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile()
    content = measured(plan, tmp_path)
    assert content.bench is not None
    assert "Median latency" in page(content)
    levels = tuple(
        dataclasses.replace(level, window=dataclasses.replace(level.window, latencies=[]))
        for level in content.bench.levels
    )
    text = page(dataclasses.replace(content, bench=dataclasses.replace(content.bench, levels=levels)))
    assert "Median latency" not in text
    assert "nan" not in text.lower()


def show(text: str, folder: Path) -> Path:
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("which", ["whole", "wide"])
def test_in_a_browser_it_is_whole_quiet_and_asks_for_nothing(
    which: str, width: int, dark: bool, request: pytest.FixtureRequest, tmp_path: Path, chromium: Chromium
) -> None:
    file = show(request.getfixturevalue(which), tmp_path)
    with chromium.page(file, width=width, dark=dark) as shown:
        assert shown.complaints() == []
        assert shown.requests() == [file.as_uri()]
        assert shown.ask("document.querySelectorAll('section h2').length") == (8 if which == "whole" else 6)
        # What is wide scrolls in its own box, and all text can be read.
        assert shown.ask("document.documentElement.scrollWidth") <= width
        assert shown.ask(FAINT) == []
        assert shown.ask(CUT) == []


# What stands out of the timeline, and names in its slices that are seen in part only.
CUT = """(() => {
    const all = document.querySelector('.timeline');
    if (!all) return [];
    const frame = all.getBoundingClientRect();
    const out = [...all.querySelectorAll('*')].filter(one => {
        const box = one.getBoundingClientRect();
        return box.width && !one.closest('b') && (box.left < frame.left - 0.5 || box.right > frame.right + 1.5);
    });
    const cut = [...all.querySelectorAll('.slice b')].filter(name => {
        const [text, slice] = [name.getBoundingClientRect(), name.parentElement.getBoundingClientRect()];
        return text.top < slice.bottom && text.right > slice.right + 0.5;
    });
    return [...out, ...cut].map(one => one.outerHTML);
})()"""


# Texts whose contrast with what is behind them is below WCAG's 4.5.
FAINT = """(() => {
    const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = parse(getComputedStyle(element).backgroundColor);
            if (colour.length === 3 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    return [...document.querySelectorAll('h1,h2,h3,p,dt,dd,small,td,th,a,b,span,code,pre,footer')]
        .filter(element => element.textContent.trim()).map(element => {
            const colours = [parse(getComputedStyle(element).color), behind(element)];
            const [a, b] = colours.map(light).sort((x, y) => y - x);
            return [element.tagName, element.className, (a + 0.05) / (b + 0.05)];
        }).filter(([, , contrast]) => contrast < 4.5);
})()"""


def test_a_browser_would_tell_of_a_request_and_of_an_error(tmp_path: Path, chromium: Chromium) -> None:
    """That the tests above can fail."""
    beside = tmp_path / "x.css"
    beside.write_text("")
    head = f'<link rel="stylesheet" href="{beside.as_uri()}"><script>console.error("oh"); missing()</script>'
    file = show(f"<!DOCTYPE html><title>t</title>{head}<p style='color:#aaa;width:2000px'>faint", tmp_path)
    with chromium.page(file, width=390) as shown:
        assert shown.requests() == [file.as_uri(), beside.as_uri()]
        assert len(shown.complaints()) == 2
        assert shown.ask("document.documentElement.scrollWidth") > 390
        assert [one[0] for one in shown.ask(FAINT)] == ["P"]


def test_the_policy_of_the_page_would_stop_a_script_and_a_request(
    whole: str, tmp_path: Path, chromium: Chromium
) -> None:
    bad = '<script>document.title = "run"</script><img src="http://127.0.0.1:9/x.png">'
    file = show(whole.replace("<main>", f"<main>{bad}"), tmp_path)
    with chromium.page(file) as shown:
        assert shown.ask("document.title") == "vector: pipeline report"
        assert all("Content Security Policy" in one or "ERR_BLOCKED_BY_CSP" in one for one in shown.complaints())
        assert len(shown.complaints()) >= 2


@pytest.mark.weights
def test_yolo11s_page_opens(tmp_path: Path, chromium: Chromium) -> None:
    laid_out("examples/yolo11/weights/yolo11n.onnx")
    plan = load(str(ROOT / "examples" / "yolo11" / "graph.py")).compile()
    file = show(page(Content(plan)), tmp_path)
    with chromium.page(file, width=390, dark=True) as shown:
        assert shown.complaints() == []
        assert shown.ask("document.querySelector('h1').textContent") == "yolo11"
        assert "YoloBoxes" in shown.ask("document.querySelector('figure svg').textContent")


def test_a_time_is_the_same_wherever_it_stands(tmp_path: Path) -> None:
    content = measured(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2)), tmp_path)
    assert content.stats is not None
    means = {row.node: Mean(row.mean_ms * 1e3, row.calls) for row in content.stats.rows}
    root = ElementTree.fromstring(svg_of(page(content)))
    seen = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "time"]
    assert sorted(filter(None, seen)) == sorted((str(means["scale"]), f"{means['run']} a run"))


def test_without_counts_the_picture_has_the_means_of_the_trace_and_says_so(tmp_path: Path) -> None:
    content = dataclasses.replace(
        measured(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2)), tmp_path), bench=None, stats=None
    )
    text = page(content)
    assert "over the trace that is shown below" in text
    assert "it may be shorter or longer than the mean under “The pipeline”" in text
    assert "Where the time goes" not in text


def svg_of(text: str) -> str:
    return text[text.index("<figure>") + 8 : text.index("</figure>")]


def test_host_and_device_have_one_colour_each_on_all_of_the_page(
    whole: str, tmp_path: Path, chromium: Chromium
) -> None:
    colour = "getComputedStyle(document.querySelector('{}')).{}"
    for dark in (False, True):
        with chromium.page(show(whole, tmp_path), dark=dark) as shown:
            for kind in ("host", "device"):
                places = [("figure rect." + kind, "stroke"), *((f"{one}.{kind}", "backgroundColor") for one in ALL)]
                assert len({shown.ask(colour.format(*place)) for place in places}) == 1


ALL = ("#picture .swatch", "#trace .swatch", ".slice", ".bar span")


def test_what_is_left_to_mend_is_told_apart_from_advice(whole: str) -> None:
    assert "<dt>Errors</dt><dd>1 <small>advice: 1</small></dd>" in whole


def test_no_heading_of_the_table_of_times_stands_there_twice(whole: str) -> None:
    headings = re.findall(r'<th scope="rowgroup"[^>]*>([^<]+)</th>', whole[whole.index("Where the time goes</h3>") :])
    assert headings == ["the whole request", "host0", "dense", "after the stages"]
