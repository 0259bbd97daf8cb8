from __future__ import annotations

import pytest

from ops import WrongUse
from pipeline.tune.timing import CN_CLIP, FITTED_ON, Series, TimingModel


@pytest.mark.parametrize("cores", [None, "12|10"])
def test_fitted_on_three_of_the_published_numbers_of_streams_it_predicts_the_other_five(cores: str | None) -> None:
    model = TimingModel.fit(CN_CLIP, FITTED_ON)
    errors = model.errors(cores)
    assert list(errors) == [3, 4, 5, 6, 7]
    assert model.fitted_on[cores] == (1, 2, 8)
    assert all(abs(error) <= 0.15 for error in errors.values())


@pytest.mark.parametrize(("cores", "fixed_us", "stream_us"), [(None, 3420, 1170), ("12|10", 3150, 720)])
def test_fitted_on_all_of_them_it_is_the_line_that_was_worked_out_by_hand(
    cores: str | None, fixed_us: float, stream_us: float
) -> None:
    line = TimingModel.fit(CN_CLIP).lines[cores]
    assert line.fixed_us == pytest.approx(fixed_us, rel=0.01)
    assert line.stream_us == pytest.approx(stream_us, rel=0.01)


def test_a_series_that_is_a_line_is_met_exactly() -> None:
    rates = {n: n * 1e6 / (3000 + 500 * n) for n in (1, 4, 6)}
    model = TimingModel.fit(Series("a card", {"6|5": rates}))
    inside, outside = model.predict(2, "6|5"), model.predict(8, "6|5")
    assert inside.latency_us == pytest.approx(4000)
    assert inside.infer_per_sec == pytest.approx(500)
    assert not inside.outside
    assert outside.latency_us == pytest.approx(7000)
    assert outside.outside
    assert model.errors("6|5") == pytest.approx({1: 0, 4: 0, 6: 0})


def test_cores_that_it_was_not_fitted_on_are_refused() -> None:
    with pytest.raises(WrongUse, match=r"nothing of cores 6\|5; it was fitted on no core lock, cores 12\|10") as caught:
        TimingModel.fit(CN_CLIP).predict(1, "6|5")
    assert "--what-if-from" in caught.value.fix


def test_one_number_of_streams_makes_no_line() -> None:
    with pytest.raises(WrongUse, match="a card: no core lock: 1 number of streams, and a line needs two"):
        TimingModel.fit(Series("a card", {None: {2: 100.0}}))


def test_a_line_that_would_need_negative_time_is_refused() -> None:
    with pytest.raises(WrongUse, match=r"a round of n streams would take -2,000 us \+ n \* 3,000 us"):
        TimingModel.fit(Series("a card", {None: {1: 1000.0, 2: 500.0}}))
