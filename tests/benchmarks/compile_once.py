"""Compile YOLO11n with these gears and print the seconds: `compile_once.py 1,2,4`."""

from __future__ import annotations

import sys
import time

import tasks


def main(gears: tuple[int, ...]) -> float:
    """From the declaration on."""
    start = time.perf_counter()
    tasks.yolo11().compile(gears=gears)
    return time.perf_counter() - start


if __name__ == "__main__":
    print(main(tuple(int(word) for word in sys.argv[1].split(","))))
