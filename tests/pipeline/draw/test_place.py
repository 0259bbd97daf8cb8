from __future__ import annotations

import random
from itertools import product

import pytest
from drawings import made_up

from pipeline.draw.paper import Paper
from pipeline.draw.place import Program, place

Rule = tuple[int, int, int, int]  # left, right, the least distance, and what a pixel of it costs


def cost(rules: list[Rule], places: dict[int, float]) -> float:
    return sum(price * (places[right] - places[left]) for left, right, _, price in rules)


@pytest.mark.parametrize("seed", range(30))
def test_no_other_places_cost_less(seed: int) -> None:
    choose = random.Random(seed)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4) if choose.random() < 0.6] or [(0, 1)]
    rules = [(a, b, choose.randint(-2, 2), choose.randint(0, 3)) for a, b in pairs]
    program = Program()
    for left, right, gap, price in rules:
        program.keep(left, right, gap, price)
    found = program.solved()
    assert all(found[right] - found[left] >= gap for left, right, gap, _ in rules)
    names = sorted(found)
    all_places = (dict(zip(names, places)) for places in product(range(9), repeat=len(names)))
    fit = (one for one in all_places if all(one[b] - one[a] >= gap for a, b, gap, _ in rules))
    assert cost(rules, found) == min(cost(rules, one) for one in fit)


def test_what_is_kept_twice_is_kept_apart_by_the_larger_gap() -> None:
    program = Program()
    program.keep("a", "b", 2.5, 1)
    program.keep("a", "b", 1.0, 1)
    found = program.solved()
    assert found["b"] - found["a"] == 2.5


def test_every_item_keeps_its_order() -> None:
    paper = Paper(made_up(2))
    for row in paper.all_rows():
        for at, item in enumerate(row):
            item.x = 7.0 * at
    place(paper)
    for row in paper.all_rows():
        assert [item.x for item in row] == sorted(item.x for item in row)
