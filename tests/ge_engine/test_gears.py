from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_engine import Gear, Gears
from ge_engine.gears import pick
from ops import Graded, SpecError, TensorSpec

BATCHES = st.sets(st.integers(1, 64), min_size=1, max_size=6).map(tuple)


def test_pick_returns_the_smallest_gear_that_fits() -> None:
    gears = Gears.of_batches((8, 1, 4, 2))
    assert [pick(gears.batches, n) for n in range(1, 9)] == [1, 2, 4, 4, 8, 8, 8, 8]


@given(BATCHES, st.data())
def test_no_smaller_gear_holds_what_pick_picked(batches: tuple[int, ...], data: st.DataObject) -> None:
    gears = Gears.of_batches(batches)
    n = data.draw(st.integers(1, max(batches)))
    picked = pick(gears.batches, n)
    assert picked >= n
    assert not any(n <= batch < picked for batch in batches)


@given(st.sets(st.integers(1, 6), min_size=1, max_size=3).map(tuple), st.integers(0, 7), st.data())
def test_a_split_costs_no_more_than_any_other(batches: tuple[int, ...], n: int, data: st.DataObject) -> None:
    costs = {batch: float(data.draw(st.integers(1, 50))) for batch in batches}
    gears = Gears.of_batches(batches)
    split = gears.split(n, costs)
    assert sum(split) == n
    total = sum(costs[pick(gears.batches, rows)] for rows in split)
    others = (
        steps
        for count in range(n + 1)
        for steps in itertools.combinations_with_replacement(range(1, max(batches) + 1), count)
        if sum(steps) == n
    )
    assert total <= min(sum(costs[pick(gears.batches, rows)] for rows in steps) for steps in others)


@pytest.mark.parametrize(
    ("text", "gears"),
    [("1,2,4,8", ["1", "2", "4", "8"]), ("8", ["8"]), ("224,224;336,336", ["224x224", "336x336"])],
)
def test_text_is_parsed_as_batch_sizes_or_sizes(text: str, gears: list[str]) -> None:
    assert [str(gear) for gear in Gears.parse(text)] == gears


@given(st.text(max_size=20))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        assert len(Gears.parse(text)) >= 1
    except SpecError as error:
        assert error.fix  # noqa: PT017  # either outcome is right


@pytest.mark.parametrize("batches", [(), (0,), (-1, 2), (1, 1), (True,), (1.5,), ("1",)])
def test_batch_sizes_that_are_none_are_refused(batches: tuple[int, ...]) -> None:
    with pytest.raises(SpecError, match="are not distinct batch sizes"):
        Gears.of_batches(batches)


@pytest.mark.parametrize("sizes", [(), ((640,),), ((640, 0),), ((640, 480), (640, 480))])
def test_sizes_that_are_none_are_refused(sizes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(SpecError, match="are not distinct values of H, W"):
        Gears.of_sizes(sizes)


def test_a_stage_with_graded_inputs_has_size_gears_of_batch_1() -> None:
    spec = TensorSpec("uint8", (Graded("H", (64, 32)), Graded("W", (48, 32)), 3))
    gears = Gears.of_specs([spec, TensorSpec("float32", (4,))], (1, 2))
    assert list(gears) == [Gear(1, (("H", 64), ("W", 48))), Gear(1, (("H", 32), ("W", 32)))]
    assert next(iter(gears)).shape(spec) == (1, 64, 48, 3)


def test_sizes_that_do_not_belong_together_are_refused() -> None:
    a = TensorSpec("uint8", (Graded("H", (64, 32)),))
    b = TensorSpec("uint8", (Graded("H", (64, 16)),))
    with pytest.raises(SpecError, match="H has the sizes"):
        Gears.of_specs([a, b], (1,))
    c = TensorSpec("uint8", (Graded("W", (64, 16, 8)),))
    with pytest.raises(SpecError, match="do not pair up"):
        Gears.of_specs([a, c], (1,))


def test_a_batch_that_no_axis_can_have_is_refused() -> None:
    with pytest.raises(SpecError, match="not distinct batch sizes") as error:
        Gears.of_batches((1, 10**30))
    assert error.value.fix == "give whole numbers from 1 to 2147483647, each once"
