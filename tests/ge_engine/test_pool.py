from __future__ import annotations

import threading

import pytest

from ge_engine.pool import Pool
from ops import DeviceError


def test_the_last_thing_given_back_is_the_next_one_taken() -> None:
    pool = Pool([1, 2, 3])
    first, second = pool.take(), pool.take()
    pool.give(first)
    assert pool.take() == first
    assert second != first


def test_take_waits_until_something_is_given_back() -> None:
    pool = Pool([1])
    thing = pool.take()
    taken: list[int] = []
    waiter = threading.Thread(target=lambda: taken.append(pool.take()))
    waiter.start()
    assert not taken
    pool.give(thing)
    waiter.join(30)
    assert taken == [1]


def test_close_waits_for_what_is_out_and_refuses_new_takers() -> None:
    pool = Pool([1, 2])
    thing = pool.take()
    closer = threading.Thread(target=pool.close)
    closer.start()
    with pytest.raises(DeviceError, match="the session is closed"):  # noqa: PT012  # until close has begun
        while True:
            pool.give(pool.take())
    assert closer.is_alive()
    pool.give(thing)
    closer.join(30)
    assert not closer.is_alive()


def test_close_wakes_those_who_wait() -> None:
    pool = Pool([1])
    thing = pool.take()
    errors: list[DeviceError] = []

    def wait() -> None:
        try:
            pool.take()
        except DeviceError as error:
            errors.append(error)

    waiter, closer = threading.Thread(target=wait), threading.Thread(target=pool.close)
    waiter.start()
    closer.start()
    waiter.join(30)
    pool.give(thing)
    closer.join(30)
    assert len(errors) == 1


def test_take_without_waiting_says_that_nothing_is_free() -> None:
    pool: Pool[int] = Pool([])
    with pytest.raises(DeviceError, match="holds all execution contexts"):
        pool.take(wait=False)
