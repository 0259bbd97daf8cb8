from __future__ import annotations

import pytest

from ge_engine.openvino_runtime import Port
from ops import WrongUse
from pipeline.convert.axes import batch_axis, by_name, place_of, tensors_of

IDS = Port("ids", "int64", ("batch", "length"))
IMAGE = Port("image", "float32", (None, 3, None, 8))


def test_axes_without_a_size_are_asked_for_all_at_once() -> None:
    with pytest.raises(WrongUse, match=r"length, image\.2 vary, and their sizes are not known") as error:
        tensors_of([IDS, IMAGE], {}, batch=1)
    assert error.value.fix == "give what the model takes, as --at length=128,image.2=128"


def test_an_axis_goes_by_its_name_its_place_or_what_it_seems_to_be() -> None:
    assert by_name([IDS, IMAGE], [{"ids.1": 6, "height": 5}]) == ({"length": 6, "image.2": 5},)
    from_tensorflow = Port("image", "uint8", ("unk__1", "unk__2", "unk__3", 3))
    assert by_name([from_tensorflow], [{"height": 5, "width": 6}]) == ({"image.1": 5, "image.2": 6},)
    assert place_of("length", [IMAGE, IDS]) == ("ids", 1)
    assert (batch_axis([IMAGE], {}), batch_axis([IDS], {}), batch_axis([IDS], {"batch": 4})) == ("image.0", "batch", "")


@pytest.mark.parametrize(("name", "fix"), [("lenght", "did you mean 'length'?"), ("image.3", "did you mean")])
def test_a_size_of_an_axis_that_does_not_vary_is_refused(name: str, fix: str) -> None:
    with pytest.raises(WrongUse, match=f"no axis of an input that varies is called '{name}'") as error:
        by_name([IDS, IMAGE], [{name: 6}])
    assert fix in error.value.fix
