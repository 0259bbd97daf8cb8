from __future__ import annotations

from pathlib import Path

import pytest

from ops import WrongUse
from pipeline.tune.traffic import Arrival, Traffic, busiest, parse_histogram, read_log


def log(folder: Path, text: str) -> Path:
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_histogram_is_sizes_and_counts() -> None:
    assert parse_histogram(" 1:500, 2 : 120,8:1").histogram == {1: 500, 2: 120, 8: 1}


@pytest.mark.parametrize("text", ["", "1", "1:", ":3", "0:3", "1:0", "1:-2", "1:2,", "a:1", "1.5:2", "1:2;2:1", "²:1"])
def test_what_is_no_size_and_count_is_refused(text: str) -> None:
    with pytest.raises(WrongUse, match="is no size and count") as caught:
        parse_histogram(text)
    assert "1:500,2:120" in caught.value.fix


def test_a_size_given_twice_is_refused() -> None:
    with pytest.raises(WrongUse, match=r"'1:2,01:3' has the size 1 twice"):
        parse_histogram("1:2,01:3")


def test_a_log_is_read_in_order_of_time_and_other_columns_are_left_alone(tmp_path: Path) -> None:
    path = log(tmp_path, "path,time_s,batch\n/a,10.5,2\n/b,9,1\n/c,1e1,2\n")
    assert read_log(path) == Traffic(str(path), {1: 1, 2: 2}, (Arrival(9, 1), Arrival(10, 2), Arrival(10.5, 2)))


def test_without_a_batch_column_each_request_is_one_sample(tmp_path: Path) -> None:
    assert read_log(log(tmp_path, "\ufefftime_s\n1\n2\n")).histogram == {1: 2}


def test_times_may_be_iso_8601_with_and_without_a_zone(tmp_path: Path) -> None:
    text = "time\n2026-03-01T12:00:00.250Z\n2026-03-01T13:00:01+01:00\n2026-03-01 12:00:02\n"
    first, second, third = read_log(log(tmp_path, text)).arrivals
    assert second.time_s - first.time_s == pytest.approx(0.75)
    assert third.time_s - second.time_s == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the heading has no column time_s or time, but nothing"),
        ("times_s,batch\n1,1\n", 1, "no column time_s or time, but times_s, batch"),
        ("time_s,time\n1,1\n", 1, "the heading has both time_s and time"),
        ("time_s\n1\nsoon\n", 3, "time_s is 'soon'"),
        ("time_s\nnan\n", 2, "time_s is 'nan'"),
        ("time_s,batch\n,1\n", 2, "time_s is ''"),
        ("time\n2026-13-01\n", 2, "time is '2026-13-01'"),
        ("time_s,batch\n1,2\n2,0\n", 3, "batch is '0'"),
        ("time_s,batch\n1\n", 2, "batch is ''"),
        ("time_s,batch\n1,99999999999\n", 2, "batch is '99999999999'"),
        ("time_s,batch\n1,10001\n", 2, "batch is '10001'"),
        ("time_s,batch\n1,2.0\n", 2, "batch is '2.0'"),
        ("time_s,batch\n1,-2\n", 2, "batch is '-2'"),
        ("time_s,time_s\n1,1\n", 1, "the heading has time_s twice"),
    ],
)
def test_what_is_wrong_with_a_log_is_said_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = log(tmp_path, text)
    with pytest.raises(WrongUse, match=message) as caught:
        read_log(path)
    assert caught.value.where == f"{path}:{line}"
    assert caught.value.fix


def test_a_heading_that_is_nearly_right_is_pointed_out(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="did you mean 'times_s' to be it"):
        read_log(log(tmp_path, "times_s\n1\n"))


def test_a_log_without_requests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="there is nothing below the heading"):
        read_log(log(tmp_path, "time_s\n"))


def test_a_log_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="cannot be read"):
        read_log(tmp_path / "none.csv")
    (tmp_path / "log.csv").write_bytes(b"time_s\n\xff\n")
    with pytest.raises(WrongUse, match="cannot be read"):
        read_log(tmp_path / "log.csv")


def test_the_busiest_stretch_is_where_so_many_came_soonest() -> None:
    times = (0.0, 5.0, 10.0, 10.5, 11.0, 20.0)
    traffic = Traffic("a log", {1: 6}, tuple(map(Arrival, times)))
    assert [arrival.time_s for arrival in busiest(traffic.arrivals, 3)] == [10.0, 10.5, 11.0]
    assert traffic.busiest == busiest(traffic.arrivals, 6) == traffic.arrivals


def test_a_stretch_of_large_requests_is_shorter() -> None:
    arrivals = tuple(Arrival(float(time), 40) for time in range(6))
    assert len(busiest(arrivals, most_samples=100)) == 2
    assert len(busiest(arrivals, most_samples=10)) == 1  # never none


def test_lines_may_end_as_on_windows_and_be_blank(tmp_path: Path) -> None:
    assert read_log(log(tmp_path, "time_s,batch\r\n2,3\r\n\r\n1,4\r\n")).arrivals == (Arrival(1, 4), Arrival(2, 3))
