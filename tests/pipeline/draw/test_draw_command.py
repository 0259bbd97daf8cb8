from __future__ import annotations

from pathlib import Path

from command_line import failed, gepipe


def test_the_picture_has_the_name_of_the_pipeline(graph: Path) -> None:
    result = gepipe("draw", "graph.py")
    assert result.exit_code == 0, result.output
    (file,) = graph.parent.glob("*.svg")
    assert result.stderr.splitlines()[-1] == file.name
    assert file.read_text(encoding="utf-8").startswith("<svg ")


def test_mermaid_is_printed_or_written(graph: Path) -> None:
    result = gepipe("draw", "graph.py", "-o", "-")
    assert result.stdout.startswith("flowchart TD\n")
    assert gepipe("draw", "graph.py", "-o", "a.mmd").exit_code == 0
    assert (graph.parent / "a.mmd").read_text(encoding="utf-8") == result.stdout
    assert "subgraph" not in gepipe("draw", "graph.py", "-o", "-", "--stages").stdout


def test_gears_are_those_that_were_asked_for(graph: Path) -> None:
    assert "gears 1,2" in gepipe("draw", "graph.py", "-o", "-", "--gears", "1,2").stdout


def test_a_picture_of_no_known_kind_is_refused(graph: Path) -> None:
    assert "a.png is neither .svg nor .mmd" in failed(2, "draw", "graph.py", "-o", "a.png")


def test_a_file_that_cannot_be_written_is_refused(graph: Path) -> None:
    assert "cannot be written: No such file or directory" in failed(2, "draw", "graph.py", "-o", "no/a.svg")


def test_a_trace_of_something_else_is_refused(graph: Path) -> None:
    (graph.parent / "t.json").write_text('{"traceEvents": []}')
    assert "t.json has no times of this pipeline" in failed(2, "draw", "graph.py", "--trace", "t.json")
