from __future__ import annotations

import math

import numpy as np
import pytest

from pipeline.tune.space import Point, Space
from pipeline.tune.surface import Surface

SPACE = Space((1, 2, 4, 8), (1, 2, 4), (1, 2))


def rate(point: Point) -> float:
    return point.gear * point.streams * 1e6 / (500 + 200 * point.gear * point.streams)


def test_what_was_measured_is_what_it_says_and_what_lies_between_is_near() -> None:
    seen = {point: rate(point) for point in SPACE.points() if point.gear != 4}
    surface = Surface(SPACE, seen)
    mean, deviation = surface.log_per_sec(list(seen))
    np.testing.assert_allclose(np.exp(mean), list(seen.values()), rtol=0.02)
    unseen = [point for point in SPACE.points() if point.gear == 4]
    between, unsure = surface.log_per_sec(unseen)
    np.testing.assert_allclose(np.exp(between), [rate(point) for point in unseen], rtol=0.05)
    assert unsure.min() > deviation.max()


def test_a_step_lasts_as_long_as_so_many_rows_on_so_many_streams_need() -> None:
    surface = Surface(SPACE, {point: rate(point) for point in SPACE.points()})
    assert surface.step_us(4, 2, 1) == pytest.approx(500 + 200 * 8, rel=0.02)
    assert surface.step_us(3, 2, 1) == pytest.approx(500 + 200 * 6, rel=0.05)  # no candidate


def test_with_two_lanes_a_stream_each_step_lasts_twice_as_long() -> None:
    space = Space(SPACE.gears, SPACE.streams, SPACE.shares, lanes=2)
    surface = Surface(space, {point: rate(point) for point in SPACE.points()})
    assert surface.step_us(4, 2, 1) == pytest.approx(2 * (500 + 200 * 8), rel=0.02)


def test_one_measurement_is_enough_to_begin_with() -> None:
    mean, deviation = Surface(SPACE, {Point(1, 1, 1): 100.0}).log_per_sec([Point(1, 1, 1), Point(8, 4, 2)])
    assert mean[0] == pytest.approx(math.log(100))
    assert deviation[1] > deviation[0]
