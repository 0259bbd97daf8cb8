from __future__ import annotations

from pipeline.draw import Drawing
from pipeline.draw.drawing import Box, Wire
from pipeline.draw.paper import Paper
from pipeline.draw.straight import straighten


def test_a_chain_stands_in_line_above_what_it_leads_to_and_others_stay() -> None:
    boxes = tuple(Box(name, "host", name, name) for name in ("a", "b", "c", "beside"))
    wires = (Wire("a", "a", ("b",), "uint8[1]", ""), Wire("b", "b", ("c",), "uint8[1]", ""))
    paper = Paper(Drawing("t", "s", boxes, wires))
    for at, item in enumerate(paper.items.values()):
        item.x = 10.0 * at
    beside = paper.items["beside"]
    beside.x = 500.0
    straighten(paper)
    assert len({item.x for item in paper.all_items() if item is not beside}) == 1
    assert beside.x == 500.0


def test_a_chain_that_a_neighbour_is_in_the_way_of_stays_on_its_side() -> None:
    boxes = tuple(Box(name, "host", name, name) for name in ("a", "b", "beside"))
    paper = Paper(Drawing("t", "s", boxes, (Wire("a", "a", ("b",), "uint8[1]", ""),)))
    a, b, beside = (paper.items[name] for name in ("a", "b", "beside"))
    a.x, beside.x, b.x = 0.0, 100.0, 400.0
    straighten(paper)
    assert a.x + a.width / 2 < beside.x - beside.width / 2
