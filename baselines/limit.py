"""The limit of a pipeline: cores / (the CPU time that its bare kernels take for a sample).

Each kernel is a direct call of OpenCV, numpy or ONNX Runtime on memory that is there already. One process a core, bound
to it, all of them at work at the same time, so that caches and memory are shared as in the real thing.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from . import orientation, yolo11
from .runtime import open_session

Array = np.ndarray[Any, np.dtype[Any]]
Kernels = Mapping[str, Callable[[], object]]
BATCHES = (1, 2, 4, 8)
_READY_S = 120  # for the slowest of the processes to be ready


class Limit(NamedTuple):
    """cpu_ms: of each kernel, for a sample, the mean over the processes."""

    cores: int
    cpu_ms: dict[str, float]

    @property
    def per_second(self) -> float:
        """Samples a second, if nothing but the kernels took time."""
        return self.cores / sum(self.cpu_ms.values()) * 1e3


def measure(kernels: Callable[[Path, bytes], Kernels], model: Path, data: bytes, seconds: float) -> Limit:
    """kernels: a function of this module; each process makes its own of it.

    Errors: BrokenProcessPool when a process dies, BrokenBarrierError when they do not get ready together.
    """
    cores = sorted(os.sched_getaffinity(0))
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(len(cores), timeout=_READY_S)
    with ProcessPoolExecutor(len(cores), context, _begin_with, (start,)) as pool:
        running = [pool.submit(_work, core, kernels, model, data, seconds) for core in cores]
        found = [future.result() for future in running]
    return Limit(len(cores), {name: sum(row[name] for row in found) / len(found) for name in found[0]})


def orientation_kernels(model: Path, jpeg: bytes) -> Kernels:
    """Decode, resize, crop and convert, run: the model in the batch size that costs least."""
    data = np.frombuffer(jpeg, np.uint8)
    image = _decode(data)
    height, width = orientation.shorter_side(*image.shape[:2])
    resized = cv2.resize(image, (width, height))
    size = orientation.SIZE
    top, left = (height - size) // 2, (width - size) // 2
    crop = resized[top : top + size, left : left + size]
    rows = np.empty((BATCHES[-1], 3, size, size), np.float32)
    return {
        "decode": lambda: _decode(data),
        "resize": lambda: cv2.resize(image, (width, height), dst=resized),
        "convert": lambda: _convert(crop, rows[0], orientation.MEAN, orientation.STD),
        **_runs(model, "x", rows),
    }


def yolo11_kernels(model: Path, jpeg: bytes) -> Kernels:
    """Decode, letterbox and convert, run, find the boxes. Larger batches of this model cost more a row, not less."""
    data = np.frombuffer(jpeg, np.uint8)
    image = _decode(data)
    x, ratio, left, top = yolo11.letterbox(image)
    framed = np.full((yolo11.SIZE, yolo11.SIZE, 3), yolo11.FILL[0], np.uint8)
    width, height = round(image.shape[1] * ratio), round(image.shape[0] * ratio)
    inside = framed[top : top + height, left : left + width]
    zero, one = np.zeros(3, np.float32), np.ones(3, np.float32)
    (head,) = open_session(model, 1).run(None, {"images": x})
    return {
        "decode": lambda: _decode(data),
        "letterbox": lambda: cv2.resize(image, (width, height), dst=inside),
        "convert": lambda: _convert(framed, x[0], zero, one),
        **_runs(model, "images", np.concatenate([x] * 2)),
        "boxes": lambda: yolo11.detections(head[0], ratio, left, top),
    }


def _decode(data: Array) -> Array:
    image = cv2.imdecode(data, cv2.IMREAD_COLOR_RGB)
    assert image is not None
    return image


def _convert(image: Array, out: Array, mean: Array, std: Array) -> None:
    """(x / 255 - mean) / std, channels first: a pass for the scale, and one for the shift where there is one."""
    scale, shift = 1 / (255 * std), mean / std
    np.multiply(image.transpose(2, 0, 1), scale.reshape(3, 1, 1), out=out, dtype=np.float32)
    if shift.any():
        np.subtract(out, shift.reshape(3, 1, 1), out=out)


def _runs(model: Path, name: str, rows: Array) -> dict[str, Callable[[], object]]:
    """A run of each batch size, on memory that is bound once; "run/8" is one of 8 rows."""
    session = open_session(model, 1)
    (output,) = session.get_outputs()
    runs: dict[str, Callable[[], object]] = {}
    for batch in (size for size in BATCHES if size <= len(rows)):
        (made,) = session.run(None, {name: rows[:batch]})
        binding = session.io_binding()
        binding.bind_input(name, "cpu", 0, np.float32, (batch, *rows.shape[1:]), rows.ctypes.data)
        binding.bind_output(output.name, "cpu", 0, np.float32, made.shape, made.ctypes.data)
        runs[f"run/{batch}"] = _Run(session, binding, rows, made).run
    return runs


class _Run(NamedTuple):
    """rows, made: the memory of input and output, which the binding does not hold."""

    session: Any
    binding: Any
    rows: Array
    made: Array

    def run(self) -> None:
        self.session.run_with_iobinding(self.binding)


_start: threading.Barrier  # of this process, once it is one of the pool's


def _begin_with(start: threading.Barrier) -> None:
    global _start
    _start = start


def _work(
    core: int, kernels: Callable[[Path, bytes], Kernels], model: Path, data: bytes, seconds: float
) -> dict[str, float]:
    os.sched_setaffinity(0, {core})
    cv2.setNumThreads(1)
    made = kernels(model, data)
    for kernel in made.values():
        kernel()
    _start.wait()
    return _least(_times_ms(made, seconds))


def _times_ms(kernels: Kernels, seconds: float) -> dict[str, float]:
    """The median CPU time of each kernel: all of them in turn, again and again, until the time is up."""
    times: dict[str, list[float]] = {name: [] for name in kernels}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[next(iter(times))]) < 3:
        for name, kernel in kernels.items():
            before = time.process_time()
            kernel()
            times[name].append((time.process_time() - before) * 1e3)
    return {name: float(np.median(values)) for name, values in times.items()}


def _least(times_ms: dict[str, float]) -> dict[str, float]:
    """One "run" for a sample: that of the batch size which costs least."""
    runs = {name: value / int(name.partition("/")[2]) for name, value in times_ms.items() if "/" in name}
    rest = {name: value for name, value in times_ms.items() if "/" not in name}
    return {**rest, "run": min(runs.values())}
