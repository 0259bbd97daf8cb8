from __future__ import annotations

import itertools

import numpy as np
import pytest

from ge_engine.devices.cpu import usable_cores
from pipeline import Deployment
from pipeline.tune.space import Manners, Point, Space, ladder, part_locks, with_share

CPU, NPU = Manners(pads=False, on_host=True), Manners(pads=True, on_host=False, cards=2, in_flight=2)


@pytest.mark.parametrize("largest", range(1, 70))
def test_a_ladder_ends_at_the_largest_and_steps_by_a_half_at_most(largest: int) -> None:
    sizes = ladder(largest)
    assert (sizes[0], sizes[-1]) == (1, largest)
    assert all(low < high <= max(low + 1, 1.5 * low) for low, high in itertools.pairwise(sizes))


def test_a_cpu_is_tried_with_one_thread_a_stream_up_to_all_cores() -> None:
    space = Space.of((1, 2), CPU)
    assert space.shares[0] == 1
    assert space.shares[-1] == usable_cores()
    assert max(space.streams) >= usable_cores()


def test_an_npu_is_tried_with_one_to_eight_streams_and_the_locks_that_are_named() -> None:
    space = Space.of((1, 2, 4), NPU, ("12|10",))
    assert space == Space((1, 2, 4), tuple(range(1, 9)), (None, "12|10"), lanes=4)
    assert len(space.points()) == 3 * 8 * 2
    assert space.points()[-1] == Point(4, 8, "12|10")


def test_coordinates_go_from_0_to_1_by_the_logarithm() -> None:
    space = Space((1, 2, 4), (3,), (None, "24|20", "12|10"))
    at = space.coordinates([Point(1, 3, None), Point(2, 3, "24|20"), Point(4, 3, "12|10")])
    np.testing.assert_allclose(at, [[0, 0, 0], [0.5, 0, 0.5], [1, 0, 1]])


def test_a_share_is_threads_or_a_core_lock_of_a_deployment() -> None:
    base = Deployment(threads=7, cores="24|48", exact=True)
    assert with_share(base, 3, 2) == Deployment.of(base, streams=3, threads=2)
    assert with_share(base, 3, "12|10") == Deployment.of(base, streams=3, cores="12|10")


def test_next_to_each_other_are_points_that_differ_by_one_step_of_one_setting() -> None:
    space = Space((1, 2, 4), (1, 2), (None, "12|10"))
    beside = {point for point in space.points() if space.are_next(point, Point(2, 1, None))}
    assert beside == {Point(1, 1, None), Point(4, 1, None), Point(2, 2, None), Point(2, 1, "12|10")}


def test_three_quarters_and_half_of_a_chips_cores_are_locks_to_try() -> None:
    assert part_locks("Ascend910B4") == ("15|30", "10|20")  # of 20 and 40
    assert part_locks("Ascend310P3") == ("6|", "4|")  # of 8, of one kind
    assert part_locks("Ascend999") == ()
    for chip in ("Ascend910B1", "Ascend310P1", "Ascend950PR"):
        assert all(Deployment(cores=lock) for lock in part_locks(chip))


def test_more_streams_may_be_tried_or_fewer() -> None:
    assert Space.of((1,), NPU, most_streams=3).streams == (1, 2, 3)
    assert Space.of((1,), NPU, most_streams=20).streams == (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)
    assert Space.of((1,), CPU, most_streams=2).streams == (1, 2)
