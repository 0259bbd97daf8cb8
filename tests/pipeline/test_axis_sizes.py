from __future__ import annotations

import pytest

from ops import WrongUse
from pipeline.axis_sizes import axis_sizes, unsized


def test_each_text_gives_sizes_by_name_or_place() -> None:
    assert axis_sizes([]) == ()
    assert axis_sizes(["height=64, x.3=80", "x.3=160,height=128"]) == (
        {"height": 64, "x.3": 80},
        {"height": 128, "x.3": 160},
    )


@pytest.mark.parametrize("text", ["height", "height=", "=64", "height=0", "height=-1", "height=6.4", "height=64,", ""])
def test_what_is_no_size_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(WrongUse, match="is no size") as error:
        axis_sizes([text])
    assert error.value.fix == 'write it as "height=640,width=640"'


def test_an_axis_is_named_once_in_each_and_in_all() -> None:
    with pytest.raises(WrongUse, match="gives height twice"):
        axis_sizes(["height=64,height=80"])
    with pytest.raises(WrongUse, match="name different axes: height=64, width=80") as error:
        axis_sizes(["height=64", "width=80"])
    assert error.value.fix == "give each axis in each of them: --at height=64,width=80"


def test_all_axes_without_a_size_are_asked_for_at_once() -> None:
    error = unsized(["height", "width", "height"])
    assert error.message == "height, width vary, and their sizes are not known"
    assert error.fix == "give what the model takes, as --at height=128,width=128"
    assert unsized(["seq"]).message == "seq varies, and its size is not known"
