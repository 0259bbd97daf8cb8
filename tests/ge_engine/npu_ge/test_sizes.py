from __future__ import annotations

from collections.abc import Sequence

import pytest

from ge_engine.npu_ge.gears import Gears
from ge_engine.npu_ge.mode import mode_of
from ge_engine.npu_ge.ports import Port, Ports
from ge_engine.npu_ge.sizes import Sizes
from ops import SpecError


def port(name: str, *dims: int | str) -> Port:
    whole = tuple(dim if isinstance(dim, int) else -1 for dim in dims)
    return Port(name, "float32", whole, tuple(dim if isinstance(dim, str) else "" for dim in dims))


def sizes(inputs: Sequence[Port], *outputs: Port, max_batch_size: int = 0, gears: Gears | None = None) -> Sizes:
    model = Ports(tuple(inputs), outputs)
    config = model
    if max_batch_size:
        config = Ports(*(tuple(one._replace(dims=one.dims[1:]) for one in side) for side in model))
    return Sizes.of(mode_of(max_batch_size, config, model), config.outputs, model, gears)


def test_a_batch_is_as_long_as_the_input() -> None:
    found = sizes([port("x", "batch", 4)], port("y", "batch", 5), max_batch_size=8)
    assert found.shapes([(3, 4)]) == [(3, 5)]
    found = sizes([port("x", "batch", 4)], port("y", "batch", 5))
    assert found.shapes([(3, 4)]) == [(3, 5)]


def test_fixed_outputs_are_what_config_pbtxt_says() -> None:
    assert sizes([port("x", 1, 4)], port("y", 1, 5)).shapes([(1, 4)]) == [(1, 5)]
    assert sizes([port("a", 1, 4), port("b", 2)], port("y", 7)).shapes([(1, 4), (2,)]) == [(7,)]


def test_open_dims_are_computed_from_the_inputs() -> None:
    image = port("image", "batch", 3, "height", "width")
    found = sizes([image], port("boxes", "batch", "height/16*(width/16)", 4))
    assert found.shapes([(2, 3, 64, 48)]) == [(2, 12, 4)]


def test_a_name_means_the_first_input_that_has_it() -> None:
    found = sizes([port("ids", 1, "length"), port("mask", 1, "length")], port("y", 1, "length*2"))
    assert found.shapes([(1, 5), (1, 9)]) == [(1, 10)]


def test_the_first_dim_of_a_free_batch_has_no_name() -> None:
    with pytest.raises(SpecError, match="output 'y', dim 'batch': batch have not find"):
        sizes([port("x", "batch", 4)], port("y", "batch", "batch"))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (port("y", 1, -1), "output 'y': -1 dim has no name"),
        (port("y", 1, "floor(length/2)"), "output 'y': dim 'floor.length/2.' is no expression that npu_ge reads"),
        (port("y", 1, "rows*2"), "output 'y', dim 'rows\\*2': rows have not find"),
        (port("y", 1, "length_max*2"), "npu_ge replaces 'length' inside 'length_max'"),
        (port("y", 1, "length_max/length"), "npu_ge replaces 'length' inside 'length_max'"),
        (port("y", 1, "16/length"), "'16/length' divides by what may be 0"),
        (port("y", 1, "length/(4-4)"), "'length/.4-4.' divides by what may be 0"),
    ],
)
def test_a_dim_that_npu_ge_cannot_compute_is_refused(output: Port, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        sizes([port("x", 1, "length", "length_max")], output)
    assert caught.value.rule == "V14"


def test_a_divisor_that_no_gear_makes_zero_is_taken() -> None:
    x, y = port("x", 1, "length"), port("y", 1, "16/(length-2)")
    assert sizes([x], y, gears=Gears((((1, 3),), ((1, 4),)))).shapes([(1, 4)]) == [(1, 8)]
    with pytest.raises(SpecError, match="divides by what may be 0"):
        sizes([x], y, gears=Gears((((1, 2),), ((1, 4),))))


def test_a_size_below_zero_is_an_error_of_the_request() -> None:
    found = sizes([port("x", 1, "length")], port("y", 1, "length-8"))
    assert found.shapes([(1, 9)]) == [(1, 1)]
    with pytest.raises(SpecError, match=r"an output would be \[1, -3\]"):
        found.shapes([(1, 5)])
