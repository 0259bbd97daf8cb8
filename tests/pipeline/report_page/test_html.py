from __future__ import annotations

from xml.etree import ElementTree

from pipeline.report_page.html import Column, Html, element, joined, safe, table

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
