from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ops import ValidationError, WrongUse
from pipeline.load import load

ONE = "from pipeline import Pipeline\nmine = Pipeline('{name}')\n"


def write(path: Path, source: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


def test_the_only_pipeline_of_a_file_needs_no_name(project: Path) -> None:
    write(project / "graph.py", ONE.format(name="only") + "same = mine\n")
    assert load("graph.py").name == "only"
    assert load(str(project / "graph.py")).name == "only"
    assert load("graph.py:same").name == "only"


def test_of_several_the_one_called_pipeline_is_taken(project: Path) -> None:
    write(project / "graph.py", ONE.format(name="image") + "pipeline = Pipeline('both')\n")
    assert load("graph.py").name == "both"
    assert load("graph.py:mine").name == "image"


def test_several_without_one_called_pipeline_want_a_name(project: Path) -> None:
    write(project / "graph.py", ONE.format(name="a") + "other = Pipeline('b')\n")
    with pytest.raises(
        WrongUse, match=r"(?s)2 pipelines, none called 'pipeline'.*name one: graph.py:mine, graph.py:other"
    ):
        load("graph.py")


def test_a_file_without_a_pipeline_is_refused(project: Path) -> None:
    write(project / "graph.py", "x = 1\n")
    with pytest.raises(WrongUse, match=r"graph.py declares no pipeline"):
        load("graph.py")
    with pytest.raises(WrongUse, match="has no pipeline 'x'"):
        load("graph.py:x")


def test_a_module_is_found_from_the_current_folder(project: Path) -> None:
    write(project / "my_package" / "graph.py", ONE.format(name="inside"))
    assert load("my_package.graph").name == "inside"
    assert load("my_package.graph:mine").name == "inside"
    with pytest.raises(WrongUse, match=r"there is no file or module my_package.grap"):
        load("my_package.grap")


def test_a_module_that_misses_another_one_says_which(project: Path) -> None:
    write(project / "broken_module.py", "import nothing_of_that_name\n")
    with pytest.raises(ValidationError, match=r"broken_module.py:1: .*nothing_of_that_name"):
        load("broken_module")


def test_a_file_sees_its_neighbours_as_python_would_show_them(project: Path) -> None:
    write(project / "deep" / "neighbour_of_graph.py", "from pipeline import Pipeline\nseen = Pipeline('seen')\n")
    write(project / "deep" / "graph.py", "from neighbour_of_graph import seen\n")
    assert load("deep/graph.py").name == "seen"


def test_a_file_may_have_the_name_of_a_module(project: Path) -> None:
    for name in ("json.py", "ops.py", "pipeline.py"):
        write(project / "named" / name, ONE.format(name="fine"))
        assert load(f"named/{name}").name == "fine"
    import json

    assert hasattr(json, "loads")


def test_two_files_of_one_name_do_not_mix(project: Path) -> None:
    write(project / "a" / "graph.py", ONE.format(name="a"))
    write(project / "b" / "graph.py", ONE.format(name="b"))
    assert [load("a/graph.py").name, load("b/graph.py").name] == ["a", "b"]


def test_a_file_that_failed_can_be_loaded_again(project: Path) -> None:
    write(project / "again.py", "1 / 0\n")
    with pytest.raises(ValidationError, match=r"G24 refused  again.py:1: ZeroDivisionError"):
        load("again.py")
    assert "again" not in sys.modules
    write(project / "again.py", ONE.format(name="mended"))
    assert load("again.py").name == "mended"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("grap.py", "there is no file grap.py\nfix: did you mean 'graph.py'"),
        ("deep/graph.py", "there is no file deep/graph.py, nor a folder deep"),
        ("deep/graph", "there is no file deep/graph, nor a folder deep"),
        ("weights", "weights is a folder\nfix: give graph.py"),
        (".", ". is a folder\nfix: use graph.py"),
        ("weights/dense.onnx", "is not a Python file"),
        ("graph-1", "graph-1 is neither a file nor a module"),
        ("", "neither a file nor a module"),
        ("no_such.module", "there is no file or module no_such.module"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_with_the_near_miss(target: str, message: str, project: Path) -> None:
    write(project / "graph.py", ONE.format(name="there"))
    with pytest.raises(WrongUse) as error:
        load(target)
    assert message in str(error.value)


def test_the_colon_of_a_drive_is_no_name(project: Path) -> None:
    with pytest.raises(WrongUse, match=r"there is no file C:/graph.py"):
        load("C:/graph.py")


def test_what_a_file_prints_is_no_answer(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project / "graph.py", "print('hello')\n" + ONE.format(name="loud"))
    load("graph.py")
    assert capsys.readouterr() == ("", "hello\n")


def test_the_place_of_an_error_is_the_users_innermost_line(project: Path) -> None:
    write(project / "inner.py", "import json\n\n\ndef f():\n    json.loads('{')\n")
    write(project / "graph.py", "import inner\ninner.f()\n")
    with pytest.raises(ValidationError) as error:
        load("graph.py")
    assert error.value.findings[0].where == "inner.py:5"
    os.unlink("inner.py")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("ops.Normalise(mean=(0,), std=(1,))", "Normalize"),
        ("ge_engine.Modle('m.onnx')", "Model"),
        ("pipeline.Pipelin('p')", "Pipeline"),
        ("Pipelin('p')", "Pipeline"),
        ("ops.Normalize(maen=(0,), std=(1,))", "mean"),
        ("ops.nms.Detections(0, 0, 0).score", "scores"),
    ],
)
def test_a_name_that_is_not_there_brings_the_one_that_was_meant(project: Path, line: str, meant: str) -> None:
    write(project / "graph.py", f"import ge_engine, ops, pipeline\nfrom pipeline import Pipeline\n{line}\n")
    with pytest.raises(ValidationError) as caught:
        load("graph.py")
    (finding,) = caught.value.findings
    assert (finding.rule, finding.where, finding.fix) == ("G24", "graph.py:3", f"did you mean '{meant}'?")


def test_of_several_values_in_one_it_is_said_what_they_are(project: Path) -> None:
    write(project / "graph.py", "import ops\nops.nms.Detections(0, 0, 0).score\n")
    with pytest.raises(ValidationError, match="'Detections' object has no attribute 'score'; it holds boxes, "):
        load("graph.py")
