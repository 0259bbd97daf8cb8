from __future__ import annotations

import pytest

from ge_engine.dims import Expression, law

SIZES = [{"H": 640, "W": 640}, {"H": 640, "W": 480}, {"H": 321, "W": 322}]


@pytest.mark.parametrize(
    ("values", "declared", "found"),
    [
        ((409600, 307200, 103362), (), "H*W"),
        ((640, 480, 322), (), "W"),
        ((20, 15, 10), (), "W/32"),
        ((84, 84, 84), (), "84"),
        ((320, 320, 161), (), "(H+1)/2"),
        ((638, 638, 319), (), "H-2"),
        ((1281, 1281, 643), (), "2*H+1"),
        ((320 * 320, 320 * 240, 161 * 161), (), "((H+1)/2)*(W/2)"),
        ((322 * 320, 322 * 240, 162 * 161), (), "(H/4+1)*W"),
        ((320, 320, 160), ("(H-1)/2+1", "nonsense(", "other", "16/(H-H)", "H/2"), "H/2"),
    ],
)
def test_the_law_gives_each_size_its_value(values: tuple[int, ...], declared: tuple[str, ...], found: str) -> None:
    assert law(values, SIZES, declared) == found
    assert [Expression(found).value(size) for size in SIZES] == list(values)


def test_the_anchors_of_yolo_follow_from_the_pixels() -> None:
    sizes = [{"H": 640, "W": 640}, {"H": 640, "W": 480}, {"H": 320, "W": 320}]
    assert law((8400, 6300, 2100), sizes) == "H*W*21/1024"  # strides 8, 16 and 32


def test_there_is_not_always_a_law() -> None:
    assert law((1, 2, 7), SIZES) is None


def test_no_number_on_the_way_is_too_large_for_an_int() -> None:
    sizes = [{"H": 65536, "W": 32768}, {"H": 32768, "W": 32768}]
    assert law((65536 * 32, 32768 * 32), sizes) == "H*32"
