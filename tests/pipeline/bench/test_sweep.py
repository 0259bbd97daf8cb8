from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from ops import ServerError, WrongUse
from pipeline.bench import Client, Counters, Files, Report, Settings, concurrencies, sweep
from pipeline.bench.report import csv_text


@pytest.mark.parametrize(
    ("text", "clients"),
    [("4", (4,)), ("1,4,16", (1, 4, 16)), ("1:16:4", (1, 5, 9, 13)), ("4:16:4", (4, 8, 12, 16)), ("2:4", (2, 3, 4))],
)
def test_numbers_of_clients_are_read(text: str, clients: tuple[int, ...]) -> None:
    assert concurrencies(text) == clients


@pytest.mark.parametrize("text", ["", "0", "-1", "a", "1,,2", "4:1", "1:8:0", "1:8:2:2", "1:", "100000", "1.5"])
def test_what_is_no_number_of_clients_is_refused(text: str) -> None:
    with pytest.raises(WrongUse, match="is no number of clients"):
        concurrencies(text)


def test_a_folder_that_is_not_there_is_found_before_the_measurement(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="results is no folder"):
        Files(json=tmp_path / "results" / "bench.json").check()
    Files(json=tmp_path / "bench.json", csv=tmp_path / "bench.csv").check()


class Mortal:
    """Answers at once, so often, and is gone."""

    name = "mortal"
    rows = 1

    def __init__(self, answers: int) -> None:
        self.left = itertools.repeat(None, answers)

    def client(self) -> Client:
        return self

    def request(self) -> None:
        if next(self.left, self) is self:
            raise ServerError("gone")

    def close(self) -> None: ...

    def counters(self) -> dict[str, Counters]:
        return {}


def test_what_was_measured_before_an_error_is_kept(tmp_path: Path) -> None:
    files = Files(json=tmp_path / "bench.json", csv=tmp_path / "bench.csv")
    done: list[Report] = []
    said: list[str] = []
    quick = Settings(window_s=0.01, max_windows=3)

    def keep(report: Report) -> None:
        done.append(report)
        files.write(report)

    class Second(Mortal):
        def client(self) -> Client:
            self.made = getattr(self, "made", 0) + 1
            return self if self.made == 1 else Mortal(0)

    with pytest.raises(ServerError, match="gone"):
        sweep(Second(10**9), "here", (1, 2), quick, keep, say=said.append)
    (report,) = done
    assert [level.concurrency for level in report.levels] == [1]
    assert json.loads((tmp_path / "bench.json").read_text())["levels"][0]["windows"] == 3
    assert (tmp_path / "bench.csv").read_text() == csv_text(report)
    assert said[1].startswith("measuring with 2 clients")


def test_where_nothing_was_measured_there_is_nothing_to_keep() -> None:
    done: list[Report] = []
    with pytest.raises(ServerError, match="gone"):
        sweep(Mortal(0), "here", (1,), Settings(), done.append)
    assert not done
