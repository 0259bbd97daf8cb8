from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pipeline.report_page.plots import Line, bar, line_plot, nice, number, ticks

CLIENTS = [1, 2, 4]
LINES = [Line("p50 <ms>", "a", [1.0, 2.0, 3.0]), Line("p99", "b", [2.0, 4.0, 3.0], frozenset([1]))]


def plot() -> ElementTree.Element:
    return ElementTree.fromstring(line_plot("Latency & more", "clients", "ms", CLIENTS, LINES))


def test_every_point_stands_at_its_height() -> None:
    heights = {}
    for circle in plot().iter("circle"):
        heights[circle.findtext("title")] = float(circle.get("cy", ""))
    assert list(heights) == [
        "p50 <ms>: 1 at 1",
        "p50 <ms>: 2 at 2",
        "p50 <ms>: 3 at 4",
        "p99: 2 at 1",
        "p99: 4 at 2",
        "p99: 3 at 4",
    ]
    values = [1, 2, 3, 2, 4, 3]
    for (name, height), value in zip(heights.items(), values):
        assert height == pytest.approx(206 - 192 * value / 4, abs=0.06), name  # 0 at 206, the largest, 4, at 14


def test_what_is_doubtful_is_hollow() -> None:
    looks = [circle.get("class") for circle in plot().iter("circle")]
    assert looks == ["dot a", "dot a", "dot a", "dot b", "hollow b", "dot b"]


def test_names_at_the_ends_do_not_hide_each_other() -> None:
    ends = {text.text: float(text.get("y", "0")) for text in plot().iter("text") if text.text in ("p50 <ms>", "p99")}
    assert abs(ends["p50 <ms>"] - ends["p99"]) >= 14


def test_lines_at_zero_have_a_plot_too() -> None:
    ElementTree.fromstring(line_plot("t", "x", "y", [1, 2], [Line("a", "a", [0.0, 0.0])]))


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.0, 1), (0.011, 0.02), (0.4, 0.4), (1, 1), (4.1, 5), (6, 10), (99, 100), (101, 200)]
)
def test_an_axis_ends_at_the_next_round_number(value: float, rounded: float) -> None:
    assert nice(value) == pytest.approx(rounded)


def test_ticks_are_round_and_few() -> None:
    assert list(ticks(0.95, 5)) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert len(list(ticks(7321, 6))) <= 7


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (0.01234, "0.0123"), (12.345, "12.3"), (123.4, "123")])
def test_a_number_has_three_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("share", "width"), [(-1.0, "0.0%"), (0.25, "25.0%"), (2.0, "100.0%")])
def test_a_bar_stays_in_its_frame(share: float, width: str) -> None:
    assert f"width:{width}" in bar(share, "host")
