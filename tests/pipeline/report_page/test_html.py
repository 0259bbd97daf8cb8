from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pipeline.report_page.html import Column, Html, element, joined, prose, safe, table

NASTY = '<script>alert("猫 & co")</script>'


def test_a_text_is_escaped_once_and_html_is_left_alone() -> None:
    assert safe(NASTY) == "&lt;script&gt;alert(&quot;猫 &amp; co&quot;)&lt;/script&gt;"
    assert safe(safe(NASTY)) == safe(NASTY)
    assert element("p", NASTY, 'a" b') == f'<p class="a&quot; b">{safe(NASTY)}</p>'
    assert joined((NASTY, Html("<br>"))) == f"{safe(NASTY)}<br>"


def test_a_table_gives_back_its_cells() -> None:
    root = ElementTree.fromstring(table([Column("a"), Column("b", "number")], [("stage",), (NASTY, "1"), ("x", "2")]))
    assert [head.text for head in root.iter("th")] == ["a", "b", "stage"]
    assert [cell.text for cell in root.iter("td")] == [NASTY, "1", "x", "2"]
    assert [cell.get("class") for cell in root.iter("td")] == ["text", "number"] * 2


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a mean of -0.48, and 1e-06", ["-0.48,", "1e-06"]),
        ("(-1, 2)", ["-1,"]),
        ("from -3.4e+38 up", ["-3.4e+38"]),
        ("rows 1-4 of a-1, x-2.onnx", []),
        ("<b> & -1", ["-1"]),
        ("inspect a-b.onnx --at x=1 --fix -o out", ["--at", "--fix", "-o"]),
    ],
)
def test_a_line_never_ends_at_the_sign_of_a_number(text: str, whole: list[str]) -> None:
    root = ElementTree.fromstring(f"<p>{prose(text)}</p>")
    assert "".join(root.itertext()) == text
    assert [span.text for span in root.iter("span")] == whole
