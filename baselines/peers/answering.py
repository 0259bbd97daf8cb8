"""What every peer's script does: answer once, then measure whenever it is told to.

A script runs in the environment of its library, beside the suite's process, and is idle until it is told. It takes the
model, the picture and the seconds of a measurement, and prints a line of JSON for each line that it reads.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence


def answering(call: Callable[[], Sequence[float]], span_s: float, samples: int = 1) -> None:
    """call: one inference, to its answer as numbers; of so many samples, each like the other."""
    _say({"answer": [float(value) for value in call()]})
    for _ in sys.stdin:
        count, begin = 0, time.perf_counter()
        while count == 0 or time.perf_counter() < begin + span_s:
            call()
            count += 1
        _say({"us": (time.perf_counter() - begin) / count / samples * 1e6})


def _say(document: dict[str, object]) -> None:
    print("\n" + json.dumps(document), flush=True)  # some libraries print an unfinished line
