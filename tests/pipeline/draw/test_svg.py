from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser import Chromium
from drawings import NASTY, made_up, shop

from pipeline.draw import Drawing, svg
from pipeline.draw.drawing import Box, Frame, Wire

SVG = "{http://www.w3.org/2000/svg}"


def test_any_name_is_written_so_that_xml_gives_it_back() -> None:
    root = ElementTree.fromstring(svg(made_up(3)))
    assert root.findtext(f"{SVG}title") == NASTY
    assert root.findtext(f"{SVG}desc") == NASTY
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert root.get("aria-labelledby") == " ".join(map(str, ids))


def test_what_xml_cannot_hold_is_replaced() -> None:
    box = Box("a", "host", "O\x00p\ud800", "na\x1bme")
    root = ElementTree.fromstring(svg(Drawing("t", "s", (box,), ())))
    assert [text.text for text in root.iter(f"{SVG}text")] == ["O\ufffdp\ufffd", "na\ufffdme"]


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = svg(made_up(3))
    assert text.count("http") == 1  # the namespace
    assert "<script" not in text
    assert "url(" not in text


def test_a_box_says_where_it_was_declared(tmp_path: Path) -> None:
    root = ElementTree.fromstring(svg(Drawing.of(shop(tmp_path).compile())))
    assert any("'letterbox' drawings.py:" in str(title.text) for title in root.iter(f"{SVG}title"))


# For each text of the picture: itself, and how far it stands out of the paper, or of the box or frame it is in.
TOO_WIDE = """[...document.querySelectorAll('text')].map(text => {
    const rect = text.closest('g') ? text.closest('g').querySelector('rect') : document.querySelector('rect.paper');
    const a = text.getBBox(), b = rect.getBBox();
    const [left, above] = [b.x - a.x, b.y - a.y];
    return [text.textContent, Math.max(left, a.width - left - b.width, above, a.height - above - b.height)];
}).filter(([, over]) => over > 0)"""

# The labels that a browser draws over each other.
OVERLAPS = """(() => {
    const boxes = [...document.querySelectorAll('text')].map(text => [text.textContent, text.getBBox()]);
    return boxes.flatMap(([one, a], at) => boxes.slice(at + 1).filter(([, b]) =>
        a.x < b.x + b.width && b.x < a.x + a.width && a.y + 2 < b.y + b.height && b.y + 2 < a.y + a.height
    ).map(([other]) => [one, other]));
})()"""


# Names that are long, or written from right to left, or in letters of several parts.
NAMES = (
    "x" * 200,
    "W" * 34,
    "\u0645\u062b\u0627\u0644 \u0639\u0631\u0628\u064a" * 4,
    "猫" * 100,
    "एक नाम" * 9,
    "\u202eabc",
    "a\nb",
)
HARD = Drawing(
    "hard",
    "names",
    tuple(Box(name, "device", name, name, name, frame=name, band=1 + at) for at, name in enumerate(NAMES)),
    tuple(Wire(a, a, (b,), "float32[1]", "") for a, b in pairwise(NAMES)),
    tuple(Frame(name, "device", 1 + at, ("device", "63 ms a run")) for at, name in enumerate(NAMES)),
)


@pytest.mark.parametrize("dark", [False, True])
def test_in_a_browser_no_text_is_cut_or_hidden(tmp_path: Path, chromium: Chromium, dark: bool) -> None:
    drawings = [Drawing.of(shop(tmp_path).compile(gears=range(1, 40))), made_up(1), made_up(5), HARD]
    for index, drawing in enumerate(drawings):
        file = tmp_path / f"{index}.svg"
        file.write_text(svg(drawing), encoding="utf-8")
        with chromium.page(file, dark=dark) as page:
            assert page.ask(TOO_WIDE) == []
            assert page.ask(OVERLAPS) == []
            assert page.complaints() == []
            assert page.requests() == [file.as_uri()]


def test_the_paper_is_light_or_dark_as_the_screen_is(tmp_path: Path, chromium: Chromium) -> None:
    file = tmp_path / "a.svg"
    file.write_text(svg(made_up(1)), encoding="utf-8")
    colours = []
    for dark in (False, True):
        with chromium.page(file, dark=dark) as page:
            colours.append(page.ask("getComputedStyle(document.querySelector('.paper')).fill"))
    assert colours == ["rgb(255, 255, 255)", "rgb(20, 24, 31)"]
