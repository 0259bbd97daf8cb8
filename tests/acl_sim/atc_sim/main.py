"""The command: what it prints, and its exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from . import flags as command_line
from .convert import convert
from .errors import AtcError
from .flags import UnknownFlag

CANN = "8.5.0"


def main(arguments: Sequence[str]) -> int:
    """ATC_SIM, JSON: {"cann": of this atc, "fail": the text of an error that each run ends with, "log": a file that
    gets a line of JSON for each run}."""
    settings = json.loads(os.environ.get("ATC_SIM", "{}"))
    if "log" in settings:
        with open(settings["log"], "a", encoding="utf-8") as log:
            log.write(json.dumps(list(arguments)) + "\n")
    print("ATC start working now, please wait for a moment.", flush=True)
    try:
        if "fail" in settings:
            return _failed(settings["fail"])
        given = command_line.read(arguments)
        command_line.check(given)
        convert(given, settings.get("cann", CANN))
    except (AtcError, UnknownFlag) as error:
        return _failed(str(error))
    print("ATC run success, welcome to the next use.")
    return 0


def _failed(text: str) -> int:
    print("ATC run failed, Please check the detail log, Try 'atc --help' for more information")
    print(text, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
