from __future__ import annotations

import numpy as np

from ge_engine.npu_ge.room import Room


def test_a_smaller_need_is_the_same_memory() -> None:
    room = Room()
    large = room.of("x", "float32", (4, 3))
    small = room.of("x", "float32", (2, 3))
    assert small.__array_interface__["data"] == large.__array_interface__["data"]
    assert (small.shape, small.dtype, small.flags.c_contiguous) == ((2, 3), np.float32, True)


def test_a_larger_need_leaves_what_was_given_alone() -> None:
    room = Room()
    small = room.of("x", "int8", (2,))
    small[:] = 7
    large = room.of("x", "int8", (200,))
    assert not np.shares_memory(small, large)
    assert small.tolist() == [7, 7]


def test_names_do_not_share_memory() -> None:
    room = Room()
    assert not np.shares_memory(room.of("x", "bool", (8,)), room.of("y", "bool", (8,)))


def test_nothing_is_a_shape_too() -> None:
    assert Room().of("x", "float32", (0, 4)).shape == (0, 4)
