from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

import pytest
from drawings import made_up, shop

from pipeline.draw import Drawing
from pipeline.draw.drawing import Box, Frame, Wire
from pipeline.draw.layout import Layout, Placed, PlacedFrame, layout, separated
from pipeline.draw.paper import FRAME, LINE, told

SEEDS = range(40)
Rectangle = tuple[float, float, float, float]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Drawing:
    return Drawing.of(shop(tmp_path_factory.mktemp("models")).compile(gears=(1, 2)))


@pytest.fixture(scope="module", params=[None, *SEEDS])
def drawn(request: pytest.FixtureRequest, real: Drawing) -> tuple[Drawing, Layout]:
    drawing = real if request.param is None else made_up(request.param)
    return drawing, layout(drawing)


def rectangle(item: Placed | PlacedFrame) -> Rectangle:
    width, height = (item.width, item.height) if isinstance(item, PlacedFrame) else (item.item.width, item.item.height)
    return item.x, item.y, item.x + width, item.y + height


def apart(a: Rectangle, b: Rectangle) -> bool:
    slack = 1e-6
    return a[2] <= b[0] + slack or b[2] <= a[0] + slack or a[3] <= b[1] + slack or b[3] <= a[1] + slack


def visible(placed: Layout) -> list[Placed]:
    return [item for item in placed.items if item.item.box is not None or item.item.lines]


def test_every_box_and_value_is_there(drawn: tuple[Drawing, Layout]) -> None:
    drawing, placed = drawn
    assert {item.item.box.id for item in placed.items if item.item.box} == {box.id for box in drawing.boxes}
    labels = [item.item.lines[0] for item in placed.items if item.item.lines]
    assert {wire.label for wire in drawing.wires} <= set(labels)
    arrows = sum(path.arrow for path in placed.paths)
    assert arrows == sum(len(wire.targets) for wire in drawing.wires)


def test_no_box_or_label_hides_another_and_none_leaves_the_paper(drawn: tuple[Drawing, Layout]) -> None:
    _, placed = drawn
    rectangles = [rectangle(item) for item in visible(placed)]
    assert all(apart(a, b) for a, b in combinations(rectangles, 2))
    paper = (0, 0, placed.width, placed.height)
    assert all(inside(part, paper) for part in (*rectangles, *map(rectangle, placed.frames)))


def inside(part: Rectangle, whole: Rectangle) -> bool:
    return part[0] >= whole[0] and part[1] >= whole[1] and part[2] <= whole[2] and part[3] <= whole[3]


def test_a_frame_holds_its_own_boxes_and_no_others(drawn: tuple[Drawing, Layout]) -> None:
    _, placed = drawn
    for frame in placed.frames:
        for item in placed.items:
            if item.item.box is None:
                continue
            if item.item.box.frame == frame.frame.name:
                assert inside(rectangle(item), rectangle(frame))
            else:
                assert apart(rectangle(item), rectangle(frame))
    assert all(apart(rectangle(a), rectangle(b)) for a, b in combinations(placed.frames, 2))


def test_a_wire_goes_down_and_past_all_boxes_and_labels(drawn: tuple[Drawing, Layout]) -> None:
    _, placed = drawn
    for path in placed.paths:
        assert path.start[1] <= path.bend[0] <= path.bend[1] <= path.end[1]
        for piece in pieces(path.start, path.bend, path.end):
            for item in visible(placed):
                x0, y0, x1, y1 = rectangle(item)
                assert apart(piece, (x0 + 1, y0 + 1, x1 - 1, y1 - 1))


def pieces(start: tuple[float, float], bend: tuple[float, float], end: tuple[float, float]) -> Iterator[Rectangle]:
    """The straight ends, and the room of the bow between."""
    yield start[0], start[1], start[0], bend[0]
    yield min(start[0], end[0]), bend[0], max(start[0], end[0]), bend[1]
    yield end[0], bend[1], end[0], end[1]


def chain(*names: str) -> Drawing:
    boxes = [Box(name, "host", name, name) for name in names]
    wires = [Wire(a.id, a.id, (b.id,), "float32[1]", "") for a, b in pairwise(boxes)]
    return Drawing("chain", "chain", tuple(boxes), tuple(wires))


def test_a_chain_is_straight_and_its_boxes_one_below_the_other() -> None:
    placed = layout(chain("a", "a_much_longer_name", "b", "c"))
    middles = {round(item.x + item.item.width / 2, 6) for item in placed.items}
    assert len(middles) == 1
    assert all(path.start[0] == pytest.approx(path.end[0]) for path in placed.paths)


@pytest.mark.parametrize("gears", [1, 30])
def test_a_frame_is_as_high_as_what_is_said_of_its_stage(gears: int) -> None:
    lines = ("device", f"gears {','.join(f'{n}x1280x{n}' for n in range(gears))}", "63 ms a run")
    box = Box("a", "device", "Model", "a", frame="s")
    (frame,) = layout(Drawing("t", "t", (box,), (), (Frame("s", "device", 1, lines),))).frames
    assert frame.height >= FRAME + (1 + len(told(frame.frame))) * LINE


def test_of_many_gears_the_first_are_told_and_the_time_still_is() -> None:
    frame = Frame("s", "device", 1, ("device", f"gears {','.join(map(str, range(100, 200)))}", "63 ms a run"))
    assert told(frame) == [
        "device", "gears 100,101,", "102,103,104,105,", "106,107,108,109,", "110,111,112,113,", "114,115,116,117,",
        "…", "63 ms a run",
    ]  # fmt: skip


def test_wires_that_need_not_cross_do_not() -> None:
    sides = [Box(f"{side}{n}", "host", side, side) for n in range(4) for side in "xy"]
    wires = [Wire(f"{a.id}{b.id}", a.id, (b.id,), "uint8[1]", "") for a, b in zip(sides, sides[2:])]
    placed = layout(Drawing("ladder", "ladder", tuple(sides), tuple(reversed(wires))))
    at = {item.item.box.id: item.x for item in placed.items if item.item.box}
    assert len({at[f"x{n}"] < at[f"y{n}"] for n in range(4)}) == 1


@pytest.mark.parametrize(
    ("wanted", "gaps", "places"),
    [
        ([0, 10], [4], [0, 10]),
        ([5, 5], [4], [3, 7]),
        ([10, 0], [4], [3, 7]),
        ([0, 0, 0], [2, 2], [-2, 0, 2]),
    ],
)
def test_places_are_the_nearest_that_keep_the_gaps(wanted: list[float], gaps: list[float], places: list[float]) -> None:
    assert separated(wanted, gaps) == pytest.approx(places)


def test_a_drawing_is_the_same_each_time(real: Drawing) -> None:
    seen: Callable[[Layout], list[Rectangle]] = lambda placed: [rectangle(item) for item in placed.items]  # noqa: E731
    assert seen(layout(real)) == seen(layout(real))
