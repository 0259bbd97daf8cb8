from __future__ import annotations

import io
import re
import time
from pathlib import Path

import pytest
import tiny
from rich.console import Console

from ops import OpError
from pipeline.bars import answering, compiling


def a_terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system=None, width=100)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("samples", [[1, 2, 3], (number for number in (1, 2, 3))], ids=["list", "generator"])
def test_answers_are_counted_on_the_error_output(samples: object, capsys: pytest.CaptureFixture[str]) -> None:
    answers = (answer for answer in (10, 20, 30))
    assert list(answering(answers, samples)) == [10, 20, 30]  # type: ignore[arg-type]
    output = capsys.readouterr()
    assert output.out == ""
    assert ("3/3" if isinstance(samples, list) else "3/?") in output.err
    assert "failed" not in output.err


def test_the_rate_is_what_was_answered_by_the_time_that_it_took(capsys: pytest.CaptureFixture[str]) -> None:
    for number, _ in enumerate(answering((answer for answer in range(6)), range(6))):
        begin = time.perf_counter()
        while not number and time.perf_counter() < begin + 0.1:  # the others come in a burst behind it
            pass
    rate = re.search(r"6/6 ([\d.]+)/s", capsys.readouterr().err)
    assert rate is not None
    assert 0 < float(rate[1]) <= 60


def test_those_that_failed_are_counted_too(capsys: pytest.CaptureFixture[str]) -> None:
    answers = (OpError("no") if number % 3 else number for number in range(9))
    assert len(list(answering(answers, range(9)))) == 9
    assert "6 failed" in capsys.readouterr().err


def test_what_compiles_is_shown_on_a_terminal_from_the_first_that_is_not_done() -> None:
    console = a_terminal()
    with compiling(console) as show:
        show("dense: from the cache", 3, 3)
        assert shown(console) == ""
        show("heads: gear 1", 0, 3)
        show("heads: gear 2", 1, 3)
    assert "heads: gear" in shown(console)


def test_between_what_compiles_nothing_is_shown() -> None:
    console = a_terminal()

    def bars() -> int:
        hidden, shown_again = ("\x1b[?25l", "\x1b[?25h")  # the cursor, while there is a bar
        return shown(console).count(hidden) - shown(console).count(shown_again)

    with compiling(console) as show:
        for stage in ("dense", "heads"):
            show(f"{stage}: gear 1", 0, 1)
            assert bars() == 1
            show(f"{stage}: built", 1, 1)
            assert bars() == 0
    assert "dense: " in shown(console)
    assert "heads: " in shown(console)


def test_elsewhere_nothing_is_shown() -> None:
    console = Console(file=io.StringIO())
    with compiling(console) as show:
        show("dense: gear 1", 0, 3)
    assert shown(console) == ""


def test_compile_shows_the_bar_and_nothing_for_what_is_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the error output for a terminal
    pipeline = tiny.vector_pipeline(tmp_path)
    pipeline.compile(progress=True)
    first = capsys.readouterr()
    assert first.out == ""
    assert "dense: " in first.err
    pipeline.compile(progress=True)
    pipeline.compile(progress=False, cache=False)
    assert capsys.readouterr() == ("", "")
