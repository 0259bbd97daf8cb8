"""What a server's log says went wrong."""

from __future__ import annotations

import json
import re

_RECORD = re.compile(r"^(?P<level>[IWEF])\d{4} [\d:.]+ +\d+ +\S+\.\w+:\d+\] +(?P<text>.*)$")
_OTHER = re.compile(r"^(?:\[libprotobuf ERROR [^\]]*\]|error:) (?P<text>.*)$")
_END = re.compile(r"^(\+--|\[libprotobuf|error:)")
_NOISE = re.compile(
    r"CUDA|Cuda|NVML|DCGM"  # there is no GPU, and need be none
    r"|^ERROR: Failed to create instance"  # "failed to load" says it again
    r"|created_time:"  # gRPC's own words; the server's follow
)
_MAX_LINES = 8  # of one message: a traceback is in the log, whole


def reasons(log: str) -> list[str]:
    """The errors of a log, without the noise of a machine that has no GPU; each once, in their order."""
    found: dict[str, None] = {}
    lines = log.splitlines()
    for number, line in enumerate(lines):
        record = _RECORD.match(line)
        other = _OTHER.match(line)
        if record and record["level"] in "EF":
            text = "\n".join([_unquoted(record["text"]), *_continued(lines[number + 1 :])])
        elif other:
            text = other["text"]
        else:
            continue
        if not _NOISE.search(text):
            shown = [part for part in text.splitlines() if part.strip()][:_MAX_LINES]
            found["\n".join(shown)] = None
    return list(found)


def _continued(lines: list[str]) -> list[str]:
    """The lines up to the next record."""
    for number, line in enumerate(lines[: 2 * _MAX_LINES]):
        if _RECORD.match(line) or _END.match(line):
            return lines[:number]
    return lines[: 2 * _MAX_LINES]


def _unquoted(text: str) -> str:
    """Newer servers write each message as a JSON string."""
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            pass
    return text
