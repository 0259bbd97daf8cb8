from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import command_line
import pytest
import tiny
from click.testing import Result

from ge_engine.cache import Cache
from ge_engine.cache.folders import IN_USE


def gepipe(*words: str) -> Result:
    return command_line.gepipe("cache", *words)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """The compile cache with the stages of two pipelines in it: dense, used lately, and wide, long ago."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GEPIPE_CACHE", str(folder))
    monkeypatch.setenv("COLUMNS", "200")
    tiny.vector_pipeline(tmp_path).compile(gears=(1, 4))
    cache = Cache(folder)
    (dense,) = cache.entries()
    pipeline = tiny.Pipeline("wide")
    x = pipeline.input("x", tiny.TensorSpec("float32", (2000,)))
    pipeline.output(y=tiny.Model(tiny.vector_model(tmp_path, name="wide", size=2000))(x))
    pipeline.compile()
    (wide,) = (entry for entry in cache.entries() if entry.key != dense.key)
    os.utime(wide.path / IN_USE, (1e9, 1e9))
    return cache


def test_list_shows_what_there_is_the_last_used_first(cache: Cache) -> None:
    result = gepipe("list")
    assert result.exit_code == 0
    heading, first, second, total = result.stdout.splitlines()
    assert heading.split() == ["name", "stage", "gears", "models", "size", "last", "used"]
    assert first.split()[1:4] == ["dense", "1,4", "dense.onnx"]
    assert second.split()[1:4] == ["wide", "1", "wide.onnx"]
    assert "2001-09-0" in second
    assert total.startswith(f"{cache.folder}: 2 stages, 0.")
    assert total.endswith(" MB of 10.0 GB")


def test_list_as_json_holds_the_numbers(cache: Cache, tmp_path: Path) -> None:
    document = json.loads(gepipe("list", "--json").stdout)
    assert document["folder"] == str(cache.folder)
    assert document["most_nbytes"] == 10**10
    dense, wide = document["entries"]
    assert document["nbytes"] == dense["nbytes"] + wide["nbytes"]
    assert (dense["stage"], dense["gears"], dense["models"]) == ("dense", ["1", "4"], [str(tmp_path / "dense.onnx")])
    assert wide["last_used_s"] == 1e9
    assert wide["nbytes"] > 2000 * 4 * 4


def test_an_empty_cache_is_said_to_be_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "none"))
    result = gepipe("list")
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'none'}: 0 stages, 0.0 MB of 10.0 GB\n")


def test_clear_removes_what_is_old_or_all_of_it(cache: Cache) -> None:
    assert "1 stage, 0." in gepipe("clear", "--older-than", "30d").stdout
    assert [entry.about.stage for entry in cache.entries() if entry.about] == ["dense"]
    removed = json.loads(gepipe("clear", "--json").stdout)["removed"]
    assert [entry["stage"] for entry in removed] == ["dense"]
    assert cache.entries() == []


@pytest.mark.parametrize("time", ["30", "d", "-1d", "a week"])
def test_a_time_without_a_unit_is_wrong_use(time: str, cache: Cache) -> None:
    result = gepipe("clear", f"--older-than={time}")
    assert result.exit_code == 2
    assert f"'{time}' is not a time" in result.stderr
    assert 'fix: write a number and its unit, as "90m", "12h" or "30d"' in result.stderr
    assert len(cache.entries()) == 2


def test_check_fails_for_what_is_damaged_and_removes_it(cache: Cache) -> None:
    sound = gepipe("check")
    assert sound.exit_code == 0
    assert sound.stdout.startswith(f"{cache.folder}: 2 stages, 0.")
    assert sound.stdout.endswith(" MB sound, 0 damaged\n")
    _, wide = cache.entries()
    weights = wide.path / "wide.weights"
    data = bytearray(weights.read_bytes())
    data[100] ^= 1
    weights.write_bytes(data)
    result = gepipe("check", "--json")
    assert result.exit_code == 1
    (damaged,) = json.loads(result.stdout)["damaged"]
    assert (damaged["stage"], damaged["reason"]) == ("wide", "wide.weights is not as it was written")
    assert damaged["removed"] is True
    assert gepipe("check").exit_code == 0
    assert len(cache.entries()) == 1


def test_check_says_what_it_removed_and_counts_it_apart(cache: Cache) -> None:
    _, wide = cache.entries()
    (wide.path / "wide.weights").write_bytes(b"")
    first, total = gepipe("check").stdout.splitlines()
    assert first == f"{wide.name}: wide.weights has 0 bytes, {2000 * 4 * 4} were written: removed"
    assert total.startswith(f"{cache.folder}: 1 stage, 0.")
    assert total.endswith(" MB sound, 1 damaged")


def test_clear_says_what_it_could_not_remove_and_fails(cache: Cache) -> None:
    (cache.folder / "building").rmdir()
    (cache.folder / "building").touch()  # nothing can be put aside there
    result = gepipe("clear")
    assert result.exit_code == 1
    assert result.stdout == f"{cache.folder}: 0 stages, 0.0 MB removed\n"
    for entry in cache.entries():
        assert f"{entry.name} stays: {cache.folder / 'building'}: File exists" in result.stderr


def test_clear_leaves_what_a_process_uses_and_says_so(cache: Cache, tmp_path: Path) -> None:
    plan = tiny.vector_pipeline(tmp_path).compile(gears=(1, 4))
    result = gepipe("clear")
    assert result.exit_code == 0
    (entry,) = cache.entries()
    assert f"{entry.name} stays: a running process uses it" in result.stderr
    del plan


AS_ANOTHER = """
import os, sys
from pipeline.cli import app
if os.getuid() == 0:  # who may read all
    os.setgid(65534)
    os.setuid(65534)
app(["cache", sys.argv[1]])
"""


@pytest.mark.parametrize("command", ["list", "check", "clear"])
def test_entries_that_may_not_be_read_are_skipped_and_named(command: str, cache: Cache, tmp_path: Path) -> None:
    _, wide = cache.entries()
    with tempfile.TemporaryDirectory() as shared:  # not below tmp_path, which is this user's alone
        folder = Path(shared) / "cache"
        shutil.copytree(cache.folder, folder)
        closed = folder / "entries" / wide.key
        for path, mode in ((Path(shared), 0o755), (folder, 0o755), (closed, 0)):
            path.chmod(mode)
        environment = {**os.environ, "GEPIPE_CACHE": str(folder)}
        words = [sys.executable, "-c", AS_ANOTHER, command]
        result = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        closed.chmod(0o700)
        assert re.search(f"{wide.name} is skipped: it is .*'s, and cannot be read", result.stderr), result.stderr
        assert result.returncode == 0
        assert closed.exists()


def test_a_file_in_place_of_the_cache_is_wrong_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GEPIPE_CACHE", str(tmp_path / "file"))
    result = gepipe("list")
    assert result.exit_code == 2
    assert f"GEPIPE_CACHE names {tmp_path / 'file'}, which is a file\nfix: name a folder, or off" in result.stderr


@pytest.mark.parametrize("columns", ["80", "60"])
def test_list_has_a_line_an_entry_however_long_the_names(
    columns: str, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "a_model_of_which_the_name_is_longer_than_a_line_of_a_usual_terminal_and_says_very_little_of_what_it_does"
    pipeline = tiny.Pipeline("long")
    x = pipeline.input("x", tiny.VECTOR)
    pipeline.output(y=tiny.Model(tiny.vector_model(tmp_path, name=name))(x))
    pipeline.compile()
    told = command_line.process("cache", "list", env={"COLUMNS": columns})  # which is read when a process begins
    lines = told.stdout.decode().splitlines()
    assert len(lines) == 5, lines
    assert max(map(len, lines[:4])) <= int(columns), lines
    assert lines[1].split()[0] in {entry.name for entry in cache.entries()}
    assert re.search(r" \d+\.\d MB +\d{4}-\d\d-\d\d \d\d:\d\d", lines[1])


def test_an_entry_without_a_sound_manifest_is_listed_as_damaged(cache: Cache) -> None:
    (cache.entries()[0].path / "manifest.json").write_text("{")
    assert gepipe("list").stdout.splitlines()[1].split()[1] == "damaged"
    assert json.loads(gepipe("list", "--json").stdout)["entries"][0]["stage"] is None
    result = gepipe("check")
    assert result.exit_code == 1
    assert "manifest.json cannot be read" in result.stdout


@pytest.mark.parametrize("command", ["list", "clear", "check"])
def test_a_cache_that_is_off_cannot_be_looked_at(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEPIPE_CACHE", "off")
    result = gepipe(command)
    assert result.exit_code == 2
    assert "the compile cache is off: GEPIPE_CACHE is off\nfix: unset GEPIPE_CACHE" in result.stderr
