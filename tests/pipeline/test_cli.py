from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from pipeline.cli import COMMANDS, command

HOME = Path(pipeline.__file__).parent
LIBRARIES = {"cv2", "google.protobuf", "networkx", "numpy", "onnx", "onnxruntime", "rich", "typer"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_its_docstring(name: str) -> None:
    assert " ".join(command(name).help.split()) == COMMANDS[name][1]


def test_no_module_of_commands_is_left_out() -> None:
    files = (*HOME.rglob("*_command.py"), *HOME.rglob("*commands.py"))
    found = {".".join(file.relative_to(HOME).with_suffix("").parts) for file in files}
    assert found == {module for module, _ in COMMANDS.values()}


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("sys.argv[1:] = ['--help']; from pipeline.cli import main; main()", {"rich", "typer"}),
        ("import ops; from pipeline import Pipeline", {"cv2", "numpy"}),
        ("sys.argv[1:] = ['check', 'graph.py']; from pipeline.cli import main; main()", LIBRARIES - {"networkx"}),
    ],
)
def test_what_is_not_needed_is_not_imported(code: str, needed: set[str], graph: Path) -> None:
    watch = f"atexit.register(lambda: print(*{LIBRARIES} & set(sys.modules), file=sys.stderr))"
    command = [sys.executable, "-c", f"import atexit, sys; {watch}; {code}"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert set(done.stderr.decode().splitlines()[-1].split()) <= needed


def test_the_command_line_imports_nothing_posix_only(project: Path) -> None:
    absent = ("fcntl", "termios", "pwd", "grp", "resource", "pty", "tty")
    imports = "from pipeline.cli import COMMANDS, command; list(map(command, COMMANDS))"
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); {imports}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert result.returncode == 0, result.stderr.decode()
