from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import failed, gepipe


def sections(file: Path) -> list[str]:
    return re.findall(r'<section id="(\w+)">', file.read_text(encoding="utf-8"))


def test_a_report_needs_a_pipeline_and_nothing_else(graph: Path) -> None:
    result = gepipe("report", "graph.py")
    assert result.exit_code == 0, result.output
    (file,) = graph.parent.glob("*.html")
    assert result.stderr.splitlines()[-1] == file.name
    assert sections(file) == ["picture", "plan", "gears", "passes", "findings", "settings"]


def test_a_report_measures_where_it_is_told_to(graph: Path) -> None:
    result = gepipe("report", "graph.py", "-o", "r.html", "--bench", "0.2s", "--concurrency", "1,2", "--gears", "1,2")
    assert result.exit_code == 0, result.output
    assert {"benchmark", "trace"} <= set(sections(graph.parent / "r.html"))


def test_a_report_can_be_printed(graph: Path) -> None:
    result = gepipe("report", "graph.py", "-o", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("<!DOCTYPE html>")
    assert result.stdout.endswith("</html>\n")
    assert not (graph.parent / "-").exists()


def test_what_was_counted_is_of_the_first_level_and_so_are_the_times_of_the_picture(graph: Path) -> None:
    result = gepipe("report", "graph.py", "-o", "r.html", "--bench", "0.1", "--concurrency", "2,1")
    assert result.exit_code == 0, result.output
    text = (graph.parent / "r.html").read_text(encoding="utf-8")
    assert len(re.findall(r"<td class=\"number\">[12]</td>", text)) >= 2  # both levels are there
    (counted,) = re.findall(r"Of ([\d,]+ samples with 2 clients)", text)
    assert f"over {counted}, as under “Where the time goes”" in text


def test_a_report_shows_a_trace_of_the_same_pipeline(graph: Path) -> None:
    (graph.parent / "t.json").write_text('{"traceEvents": []}')
    assert "t.json has no times of this pipeline" in failed(2, "report", "graph.py", "--trace", "t.json")


@pytest.mark.parametrize("seconds", ["soon", "0", "5m", "99999"])
def test_a_time_that_is_none_is_refused(graph: Path, seconds: str) -> None:
    assert f"--bench is '{seconds}'" in failed(2, "report", "graph.py", "--bench", seconds)


@pytest.mark.parametrize(
    ("file", "reason"),
    [("no/r.html", "No such file"), ("r.html", "it is not a file"), ("/proc/r.html", "No such file")],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    graph: Path, file: str, reason: str
) -> None:
    (graph.parent / "r.html").mkdir()
    said = failed(2, "report", "graph.py", "-o", file, "--bench", "60")
    assert f"{file} cannot be written: {reason}" in said
    assert "measuring" not in said


def test_a_report_is_not_written_over_what_it_is_about(graph: Path) -> None:
    before = graph.read_bytes()
    assert "graph.py is what is read: it would be lost" in failed(2, "report", "graph.py:pipeline", "-o", "graph.py")
    assert graph.read_bytes() == before
