from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ops import ModelError, WrongUse
from pipeline.convert.child import run


def test_what_a_program_prints_is_returned() -> None:
    assert run(sys.executable, ["-c", "print(6 * 7)"]).strip() == "42"


def failure(code: str) -> ModelError | WrongUse:
    with pytest.raises((ModelError, WrongUse)) as error:
        run(sys.executable, ["-c", code])
    assert isinstance(error.value, (ModelError, WrongUse))
    return error.value


@pytest.mark.parametrize(
    ("module", "fix"),
    [
        ("tf2onnx.convert", 'pip install "gepipe[tensorflow]"'),
        ("no_such_framework", "pip install no_such_framework"),
    ],
)
def test_a_module_that_is_not_installed_is_named_with_the_extra(module: str, fix: str) -> None:
    error = failure(f"raise ModuleNotFoundError(\"No module named '{module}'\")")
    assert error.message == f"{sys.executable} has no module {module.partition('.')[0]}"
    assert error.fix == f"{fix}; or name an interpreter that has it: --python"


def test_a_failure_is_told_in_the_programs_own_last_words() -> None:
    assert failure("import sys; sys.exit('gepipe: there is no file net.py')").message == "there is no file net.py"
    error = failure("import sys; sys.exit('gepipe: there is no file net.py\\nfix: name another')")
    assert (error.message, error.fix) == ("there is no file net.py", "name another")
    ops = "Counter({'Foo': 2})"
    assert failure(f'raise SystemExit("Unsupported ops: {ops}")').message == "tf2onnx has no ONNX for {'Foo': 2}"
    message = failure("import sys; print('W0 noise', file=sys.stderr); raise ValueError('shapes differ')").message
    assert message.startswith("the conversion failed:\n  ")
    assert message.endswith("ValueError: shapes differ")
    assert "noise" not in message
    assert failure("import sys; sys.exit(3)").message.endswith("it ended with 3, and printed nothing")
    assert failure("import os; os.abort()").message.endswith("it was ended by signal 6, and printed nothing")


def test_a_module_that_a_program_did_without_is_not_what_failed() -> None:
    said = "print(\"No module named 'tensorrt'\", flush=True)"
    assert failure(f"{said}; raise ValueError('bad weights')").message.endswith("ValueError: bad weights")


def test_a_program_is_not_waited_for_that_asks_something() -> None:
    assert failure("input()").message.endswith("EOFError: EOF when reading a line")


def test_an_interpreter_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="does not run: No such file"):
        run(str(tmp_path / "python"), [])
