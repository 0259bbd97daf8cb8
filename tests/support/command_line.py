"""The command line, asked in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import typer.testing
from click.testing import Result

from pipeline.cli import app

MAIN = (sys.executable, "-c", "from pipeline.cli import main; main()")


def gepipe(*words: str, **environment: str) -> Result:
    """In this process."""
    return typer.testing.CliRunner().invoke(app, list(words), env=environment)


def failed(code: int, *words: str) -> str:
    """What is said on stderr, without a traceback; stdout stays empty."""
    result = gepipe(*words)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    return " ".join(result.stderr.split())


def process(*words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """In a process of its own."""
    env = {**os.environ, **more.pop("env", {})}
    return subprocess.run([*MAIN, *words], capture_output=True, env=env, check=False, **more)
