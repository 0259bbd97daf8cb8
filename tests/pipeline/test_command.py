from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from acl_sim.fixtures import environment
from command_line import MAIN, failed, gepipe, process
from graphs import BAD, VECTOR

from ops import WrongUse
from pipeline import Deployment, cli
from pipeline.command import writing


def test_debug_shows_the_traceback(graph: Path) -> None:
    graph.write_text("x = 1 / 0\n", encoding="utf-8")
    result = process("check", "graph.py", "--debug")
    assert result.returncode == 1
    assert b"Traceback" in result.stderr
    assert b"ZeroDivisionError" in result.stderr
    for command in ("plan", "run"):
        error = gepipe(command, "graph.py", "--debug").exception
        assert error is not None
        assert isinstance(error.__cause__, ZeroDivisionError)


def test_wrong_use_is_2_with_the_near_miss(graph: Path) -> None:
    for command in ("check", "plan", "run"):
        assert "there is no file grap.py fix: did you mean 'graph.py'?" in failed(2, command, "grap.py")
        assert "graph.py has no pipeline 'pipelin' fix: did you mean 'pipeline'?" in failed(
            2, command, "graph.py:pipelin"
        )
        assert "there is no file or module nothing_here" in failed(2, command, "nothing_here")
        assert "No such option: --jsn" in failed(2, command, "graph.py", "--jsn")
        assert "'1,x' are not numbers" in failed(2, command, "graph.py", "--gears", "1,x")
    assert "Missing argument" in failed(2, "check")
    assert "No such command 'chek'" in failed(2, "chek")
    assert "there is no rule G98" in failed(2, "rule", "G98")


def test_a_wrong_input_is_2_before_anything_is_compiled(graph: Path) -> None:
    assert "no value for input 'x' fix: add -i x=[...]" in failed(2, "run", "graph.py")
    assert "there is no input 'X' fix: did you mean 'x'?" in failed(2, "run", "graph.py", "-i", "X=1")
    assert "-i x: no '='" in failed(2, "run", "graph.py", "-i", "x")
    assert "No such file" in failed(2, "run", "graph.py", "-i", "x=@nothing.npy")
    assert "there is no device 'cup'" in failed(2, "run", "graph.py", "--device", "cup", "-i", f"x={VECTOR}")


def test_a_deployment_file(graph: Path) -> None:
    file = graph.parent / "deployment.json"
    file.write_text(Deployment(gears=(1, 2), streams=2).to_json(), encoding="utf-8")
    result = gepipe("plan", "graph.py", "--deployment", "deployment.json")
    assert "gears 1,2" in result.stdout
    assert "2 streams" in result.stdout
    result = gepipe("plan", "graph.py", "--deployment", "deployment.json", "--gears", "4")
    assert "gears 4" in result.stdout
    file.write_text('{"gear": [1]}', encoding="utf-8")
    said = failed(2, "check", "graph.py", "--deployment", "deployment.json")
    assert "deployment.json: a Deployment has no field 'gear' fix: did you mean 'gears'?" in said
    assert "nothing.json cannot be read" in failed(2, "check", "graph.py", "--deployment", "nothing.json")
    file.write_bytes(b"\xff\xfe")
    assert "deployment.json cannot be read" in failed(2, "check", "graph.py", "--deployment", "deployment.json")


def test_what_is_piped_has_no_colour_and_loses_nothing(graph: Path) -> None:
    graph.write_text(BAD, encoding="utf-8")
    result = process("check", "graph.py", env={"COLUMNS": "40"})
    assert result.returncode == 1
    assert b"\x1b" not in result.stdout + result.stderr
    assert "    fix: use what it makes, name it in pipeline.output, or remove it" in result.stdout.decode().splitlines()


def test_a_narrow_terminal_loses_nothing_of_a_plan(graph: Path) -> None:
    narrow = process("plan", "graph.py", env={"COLUMNS": "40"}).stdout.decode()
    assert "top_k.labels" in narrow
    assert "weights" not in narrow
    assert "\u2026" not in narrow


def test_json_is_readable_where_the_encoding_is_not_utf8(graph: Path) -> None:
    for encoding in ("ascii", "cp1252", "utf-8"):
        words = ("run", "graph.py", "--json", "-i", f"x={VECTOR}")
        result = process(*words, env={"PYTHONIOENCODING": encoding})
        assert result.returncode == 0, result.stderr
        assert set(json.loads(result.stdout.decode(encoding))["labels"]) < {"猫", "狗", "鸟", "鱼"}


def test_text_survives_a_terminal_without_chinese(graph: Path) -> None:
    result = process("run", "graph.py", "-i", f"x={VECTOR}", env={"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert b"\\u" in result.stdout


def test_exact_is_a_setting_like_the_others(graph: Path) -> None:
    (graph.parent / "settings.json").write_text('{"gears": [2]}', encoding="utf-8")
    plan = gepipe("plan", "graph.py", "--exact", "--deployment", "settings.json").stdout
    assert "passes, exact: every byte is kept" in plan
    assert "gears 2" in plan
    for command in (["run", "--json"], ["bench", "--window-s", "0.01", "--max-windows", "3"]):
        assert gepipe(*command, "graph.py", "--exact", "-i", f"x={VECTOR}").exit_code == 0
    assert gepipe("export", "graph.py", "--exact", "-o", "models").exit_code == 0
    assert "leave out --gears, --streams, --exact" in failed(2, "bench", "localhost:1", "-m", "any", "--exact")


def test_progress_is_shown_on_a_terminal_only(graph: Path) -> None:
    piped = process("plan", "graph.py", "--gears", "1,2")
    assert b"gear" not in piped.stderr
    result, shown = on_terminal("plan", "graph.py", "--gears", "1,2", env={**os.environ, "GEPIPE_CACHE": "off"})
    assert result.returncode == 0
    assert b"dense: " in shown
    assert result.stdout == piped.stdout
    cached, shown = on_terminal("plan", "graph.py", "--gears", "1,2", env=os.environ)
    assert cached.stdout == piped.stdout
    assert b"dense" not in shown


def test_what_atc_compiles_is_shown_too(graph: Path) -> None:
    new = {**environment(), "GEPIPE_CACHE": str(graph.parent / "cache")}
    result, shown = on_terminal("run", "graph.py", "--device", "npu:0", "-i", f"x={VECTOR}", env=new)
    assert result.returncode == 0
    assert b"dense for Ascend910B4: " in shown


def test_what_atc_compiles_for_tune_is_shown_too(graph: Path) -> None:
    new = {**environment(), "GEPIPE_CACHE": str(graph.parent / "cache")}
    short = ("--largest", "1", "--streams", "1", "--seconds", "0.001", "--cores", "6|5", "-i", f"x={VECTOR}")
    result, shown = on_terminal("tune", "graph.py", "--device", "npu:0", *short, env=new)
    assert result.returncode == 0, shown
    locked = shown.partition(b"loading with cores 6|5")[2]
    assert b"dense for Ascend910B4: " in locked


def on_terminal(*words: str, env: Mapping[str, str]) -> tuple[subprocess.CompletedProcess[bytes], bytes]:
    """A command whose error output is a terminal, and what that shows."""
    import pty  # which Windows has not

    ours, theirs = pty.openpty()
    env = {**env, "TERM": "xterm", "COLUMNS": "100"}
    result = subprocess.run([*MAIN, *words], stdout=subprocess.PIPE, stderr=theirs, env=env, check=False)
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    return result, shown


def test_an_unusable_cache_is_noted_by_what_does_not_print_findings(graph: Path) -> None:
    settings = {"GEPIPE_CACHE": str(graph)}
    said = "stage 'dense' was built without the compile cache: "
    for words in (["run", "--json"], ["bench", "--window-s", "0.01", "--max-windows", "3"]):
        result = gepipe(*words, "graph.py", "-i", f"x={VECTOR}", **settings)
        assert result.exit_code == 0
        assert result.stderr.count(f"{said}{graph}: it is a file, not a folder") == 1
        assert said not in result.stdout
    planned = gepipe("plan", "graph.py", **settings)
    assert said in planned.stdout
    assert said not in planned.stderr


@pytest.mark.parametrize(("words", "reader"), [("rule", "head -1"), ("rule", "true"), ("rule --json", "true")])
def test_a_closed_pipe_is_no_error_of_ours(graph: Path, words: str, reader: str) -> None:
    command = f"{shlex.join(MAIN)} {words} | {reader}"
    result = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert result.stderr == b""


def test_a_full_disk_is_not_a_fault_to_report() -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run([*MAIN, "rule", "G01"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 1
    assert b"No space left on device" in result.stderr
    assert b"please report it" not in result.stderr


def test_a_deleted_current_folder_does_no_harm_to_absolute_paths(graph: Path) -> None:
    code = "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')"
    code += "; from pipeline.cli import main; main()"
    command = [sys.executable, "-c", code, "check", str(graph.resolve())]
    result = subprocess.run(command, capture_output=True, check=False)
    assert (result.returncode, b"no problem found" in result.stdout) == (0, True), result.stderr.decode()


WRITTEN = {  # besides draw and report, which print to "-"
    ("tune", "-o"), ("convert", "-o"), ("new", "-o"), ("inspect", "-o"), ("export", "-o"), ("run", "--trace"),
    ("run", "--dump"), ("plan", "--dump"), ("bench", "--json"), ("bench", "--csv"), ("bench", "--plot"),
    ("compare", "--csv"), ("compare", "--keep"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "option"), sorted(WRITTEN))
def test_no_file_gets_the_name_that_stands_for_the_standard_output(graph: Path, command: str, option: str) -> None:
    said = failed(2, command, "graph.py", option, "-")
    assert f"{option} is -, but this is not written to the standard output" in said
    assert f"fix: name a place: {option} " in said
    assert not (graph.parent / "-").exists()


def test_every_option_that_says_where_to_write_knows_that_name() -> None:
    found = set()
    for name in cli.COMMANDS:
        for option in cli.command(name).params:
            said = getattr(option, "help", None) or ""
            if "-o" in option.opts or (said.startswith("Write ") and option.metavar):
                found.add((name, option.opts[0], "-: " in said))
    assert found == {(*one, False) for one in WRITTEN - {("bench", "--csv"), ("bench", "--plot")}} | {
        ("draw", "-o", True), ("report", "-o", True),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.ENOSPC, "make room there, or name a place on another disk"),
        (errno.ENOTEMPTY, "something came to stand there meanwhile: remove it, or name another place"),
        (errno.EROFS, "name a file in a folder that is there, and that you may write to"),
    ],
)
def test_what_cannot_be_written_is_named_with_what_helps(number: int, fix: str) -> None:
    error = OSError(number, os.strerror(number))
    said = rf"^out\.onnx cannot be written: {os.strerror(number)}\nfix: {fix}$"
    with pytest.raises(WrongUse, match=said), writing(Path("out.onnx")):
        raise error
