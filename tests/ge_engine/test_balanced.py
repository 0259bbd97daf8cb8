from __future__ import annotations

import threading

import pytest

from ge_engine.balanced import Balanced
from ops import DeviceError

LANES = [(card, queue, lane) for lane in range(2) for queue in range(2) for card in range(2)]


def pool() -> Balanced[tuple[int, int, int]]:
    return Balanced(LANES, lambda thing: thing[:2])


def test_cards_are_filled_evenly_and_on_each_its_queues() -> None:
    lanes = pool()
    taken = [lanes.take() for _ in LANES]
    assert [len({card for card, _, _ in taken[i : i + 2]}) for i in (0, 2, 4, 6)] == [2, 2, 2, 2]
    assert len({lane[:2] for lane in taken[:4]}) == 4
    assert sorted(taken) == sorted(LANES)


def test_what_is_given_back_counts_no_more() -> None:
    lanes = pool()
    taken = [lanes.take() for _ in range(6)]
    free = next(lane for lane in taken if lane[0] == 1)
    for lane in taken:
        if lane[0] == 1:
            lanes.give(lane)
    assert lanes.take()[0] == free[0]


def test_the_last_one_given_back_is_taken_among_equals() -> None:
    lanes = Balanced(range(4), lambda thing: ())
    assert lanes.take() == 3
    lanes.give(3)
    assert lanes.take() == 3


def test_none_free_is_waited_for_or_refused_and_none_comes_from_a_closed_one() -> None:
    lanes = Balanced([1], lambda thing: "a")
    lane = lanes.take()
    with pytest.raises(DeviceError, match="holds all execution contexts"):
        lanes.take(wait=False)
    got: list[int] = []
    waiter = threading.Thread(target=lambda: got.append(lanes.take()))
    waiter.start()
    lanes.give(lane)
    waiter.join()
    assert got == [1]
    lanes.give(1)
    lanes.close()
    with pytest.raises(DeviceError, match="closed"):
        lanes.take()
