from __future__ import annotations

import pytest

from ge_engine.inspect.axis_names import proposed, shape_at
from ge_engine.inspect.file_facts import Port

IMAGE = Port("x", "float32", ("", 3, "h.1", "width"), "NCHW")
TOKENS = Port("ids", "int64", ("batch", ""), "tokens")
OTHER = Port("2nd", "float32", ("", 4, ""))
TORCHS = Port("x", "float32", ("x_dynamic_axes_1", 3, "x_dynamic_axes_2", "Padx_dim_3"), "NCHW")


@pytest.mark.parametrize(
    ("port", "axis", "name"),
    [
        (IMAGE, 0, "batch"),
        (IMAGE, 2, "height"),
        (IMAGE, 3, "width"),
        (TOKENS, 0, "batch"),
        (TOKENS, 1, "seq"),
        (OTHER, 2, "nd_2"),
        (TORCHS, 0, "batch"),
        (TORCHS, 2, "height"),
        (TORCHS, 3, "width"),
    ],
)
def test_a_name_is_its_own_or_what_the_axis_probably_is(port: Port, axis: int, name: str) -> None:
    assert proposed(port, axis) == name


def test_sizes_go_by_name_by_what_the_axis_probably_is_and_by_place() -> None:
    for sizes in ({"h.1": 8, "width": 6}, {"height": 8, "width": 6}, {"x.2": 8, "x.3": 6}):
        assert shape_at(IMAGE, 4, sizes) == ((4, 3, 8, 6), ())
    assert shape_at(TORCHS, 4, {"x_dynamic_axes_2": 8, "width": 6}) == ((4, 3, 8, 6), ())
    assert shape_at(IMAGE, 4, {"width": 6}) == ((4, 3, "h.1", 6), ("h.1",))
    assert shape_at(TOKENS, 2, {}) == ((2, None), ("ids.1",))


def test_a_declared_size_gives_way_only_where_it_is_free() -> None:
    port = Port("x", "float32", (10, 3, 32, 32), "NCHW")
    assert shape_at(port, 1, {"x.2": 64}) == ((10, 3, 32, 32), ())
    assert shape_at(port, 1, {"x.2": 64}, free=(0, 2, 3)) == ((1, 3, 64, 32), ())
