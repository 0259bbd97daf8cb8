from __future__ import annotations

import pytest

from ge_engine.npu_ge.gears import Gears
from ge_engine.npu_ge.options import Options
from ge_engine.npu_ge.ports import Port
from ops import SpecError

X = Port("x", "float32", (-1, 4))
IDS = Port("ids", "int64", (-1, -1))
MASK = Port("mask", "int64", (-1, -1))
IMAGE = Port("image", "float32", (1, 3, -1, -1))


def gears(shape: str | None, dims: str | None, *inputs: Port, kind: str | None = "1") -> Gears | None:
    keys = {"ge.inputShape": shape, "ge.dynamicDims": dims, "ge.dynamicNodeType": kind}
    graph = {key: value for key, value in keys.items() if value is not None}
    return Gears.of(Options(levels={"session": {}, "graph": graph, "ge": {}}), inputs or (X,))


def test_batch_gears_are_whole_shapes() -> None:
    found = gears("x:-1,4", "1;2;4")
    assert found is not None
    assert found.shapes == (((1, 4),), ((2, 4),), ((4, 4),))
    assert found.batches() == {1, 2, 4}


def test_values_follow_the_sorted_names_and_shapes_the_models_order() -> None:
    found = gears("ids:-1,-1;mask:-1,-1", "1,52,1,26;2,52,2,26", MASK, IDS)
    assert found is not None
    assert found.shapes == (((1, 26), (1, 52)), ((2, 26), (2, 52)))


def test_size_gears_keep_the_batch() -> None:
    found = gears("image:1,3,-1,-1", "224,224;336,448", IMAGE)
    assert found is not None
    assert found.shapes == (((1, 3, 224, 224),), ((1, 3, 336, 448),))


def test_no_options_are_no_gears() -> None:
    assert gears(None, None) is None
    assert gears(None, None, kind=None) is None


@pytest.mark.parametrize(
    ("shape", "dims", "kind", "message"),
    [
        ("x:-1,4", None, "1", "gears without ge.dynamicDims"),
        (None, "1;2", "1", "gears without ge.inputShape"),
        ("x:-1,4", "1;2", None, "gears without ge.dynamicNodeType"),
        ("x:-1,4", "1;2", "0", "ge.dynamicNodeType is '0'"),
        ("x", "1;2", "1", "ge.inputShape has 'x'"),
        ("x:-1, 4", "1;2", "1", r"ge.inputShape has 'x:-1, 4'"),
        ("y:-1,4", "1;2", "1", "E10001: ge.inputShape lists y; the inputs are x"),
        ("x:-1,4,4", "1;2", "1", r"ge.inputShape has \[-1, 4, 4\] for x, the model \[-1, 4\]"),
        ("x:1,-1", "1;2", "1", r"ge.inputShape has \[1, -1\] for x, the model \[-1, 4\]"),
        ("x:-1,4", "1", "1", "E10035: ge.dynamicDims has 1 profiles, which is less than the minimum 2"),
        ("x:-1,4", ";".join(map(str, range(1, 102))), "1", "E10036: ge.dynamicDims has 101 profiles"),
        ("x:-1,4", "1;2,3", "1", "E10037: the profiles of ge.dynamicDims '1;2,3' differ in length"),
        ("x:-1,4", "0;1", "1", "E10038: ge.dynamicDims '0;1' has a size below 1"),
        ("x:-1,4", "2;2", "1", "E10039: ge.dynamicDims '2;2' has a profile twice"),
        ("x:-1,4", "1,2;2,2", "1", "E10045: a profile of ge.dynamicDims has 2 values, ge.inputShape has 1 dims of -1"),
        ("x:-1,4", "1; 2", "1", "ge.dynamicDims is '1; 2'"),
        ("x:-1,4", "1;2;", "1", "ge.dynamicDims is '1;2;'"),
    ],
)
def test_what_ge_refuses_is_refused(shape: str | None, dims: str | None, kind: str | None, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        gears(shape, dims, kind=kind)
    assert caught.value.rule == "V16"


def test_inputs_are_all_listed_and_sorted() -> None:
    with pytest.raises(SpecError, match=r"ge\.inputShape lists mask, ids; the inputs are ids, mask"):
        gears("mask:-1,-1;ids:-1,-1", "1,1,1,1;2,2,2,2", IDS, MASK)
    with pytest.raises(SpecError, match=r"ge\.inputShape lists ids; the inputs are ids, mask"):
        gears("ids:-1,-1", "1,1;2,2", IDS, MASK)


def test_a_shape_outside_the_gears_is_told_with_the_gears() -> None:
    found = gears("x:-1,4", "1;2;4")
    assert found is not None
    found.check([(2, 4)], [X])
    with pytest.raises(SpecError, match=r"E13025: The input tensor dimension \[x \[3, 4\]\] is not in the dynamic dim"):
        found.check([(3, 4)], [X])
