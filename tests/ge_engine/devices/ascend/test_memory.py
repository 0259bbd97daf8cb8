from __future__ import annotations

from ge_engine.buffer import place, room
from ge_engine.devices.ascend.memory import spans
from ge_engine.gears import Gear
from ops import TensorSpec

SMALL = ("s", TensorSpec("float32", (6,)))
IDS = ("ids", TensorSpec("int64", (52,)))
PICTURE = ("x", TensorSpec("float32", (3, 224, 224)))
LARGE = ("y", TensorSpec("float32", (3, 320, 320)))
FULL = Gear(8)


def test_small_tensors_and_a_large_one_are_one_transfer_of_little_more_than_their_rows() -> None:
    tensors = (PICTURE, SMALL, IDS)
    places = place(tensors, (FULL,))
    ((offset, nbytes),) = spans(tensors, Gear(1), places)
    assert offset == 0
    assert nbytes - 3 * 224 * 224 * 4 == room(8 * 24) + room(8 * 52 * 8)


def test_what_a_smaller_gear_leaves_out_is_not_copied_where_it_is_large() -> None:
    tensors = (PICTURE, LARGE)
    places = place(tensors, (FULL,))
    assert spans(tensors, Gear(1), places) == ((0, 3 * 224 * 224 * 4), (places["y"], 3 * 320 * 320 * 4))
    assert len(spans(tensors, FULL, places)) == 1


def test_tensors_keep_the_distance_that_a_card_wants() -> None:
    tensors = (PICTURE, SMALL, IDS, LARGE)
    places = sorted(place(tensors, (FULL,)).values())
    assert all(offset % 64 == 0 for offset in places)
    assert [room(1), room(32), room(33), room(96)] == [64, 64, 128, 128]
