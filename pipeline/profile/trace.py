"""Trace: every slice of what a session does, from now until it is stopped; then it is a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter as clock
from types import TracebackType

from ge_engine.devices import Watch

from .chrome_trace import ChromeTrace, Lane, stream_lane
from .parts import CHECK, QUEUE, Level, Part


class Trace:
    """Made by `session.trace(file)`; it begins at once, and ends with `stop` or at the end of a `with`.

    In ui.perfetto.dev: a lane for each stream, with the runs of the device stages; one for each thread, with the ops of
    each sample; the waits in the queue, one a sample; counters of what waits, and of the rows of a run. Memory is
    bounded: of a very long trace the last part is kept.
    """

    def __init__(
        self, file: str | os.PathLike[str], title: str, device: str, levels: Sequence[Level], end: Callable[[], None]
    ) -> None:
        self._chrome = ChromeTrace(file, title)
        self._device = device
        self._levels = levels
        self._end = end
        self._stopped = False

    def stop(self) -> None:
        """Write the file. Later calls do nothing.

        Errors: WrongUse for a file that cannot be written.
        """
        if not self._stopped:
            self._stopped = True
            self._end()
            self._chrome.write()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is not None:
            self._chrome.instant(type(error).__name__, {"error": str(error)})
        self.stop()

    def request(self, samples: int, failed: int, came: float, started: float, checked: float) -> None:
        """A call on this thread is answered just now."""
        self._chrome.slice("request", came, clock(), {"samples": samples, "failed": failed})
        self._chrome.slice(QUEUE.node, came, started, {})
        self._chrome.slice(CHECK.node, started, checked, {})

    def queue(self, number: int, begin: float, end: float) -> None:
        """Sample `number` has waited to be put into a batch."""
        self._chrome.wait(QUEUE.node, number, begin, end)

    def pending(self, count: int) -> None:
        """So many samples wait, as of now."""
        self._chrome.count("pending", clock(), {"samples": count})

    def host(
        self, depth: int, number: int, times: Sequence[float], sizes: Sequence[int], error: Exception | None = None
    ) -> None:
        """Sample `number` has passed the host's parts of a level, or those before the one where it failed.

        times: the start, and the end of each part that is done. sizes: the bytes that each of them made.
        """
        parts = self._levels[depth].host
        for part, begin, end, nbytes in zip(parts, times, times[1:], sizes):
            if part.kind == "step":
                self._chrome.slice(part.node, begin, end, {**_step(part, number), "bytes": nbytes})
            else:
                self.copy(part, number, begin, end, nbytes)
        if error is not None:
            part = parts[len(times) - 1]
            self._chrome.slice(part.node, times[-1], clock(), {**_step(part, number), "error": str(error)})

    def copy(self, part: Part, number: int, begin: float, end: float, nbytes: int) -> None:
        """Bytes of sample `number` have been copied, perhaps none."""
        if nbytes:
            self._chrome.slice(part.node, begin, end, {"sample": number, "bytes": nbytes})

    def run(
        self, depth: int, marks: Sequence[float], stream: int, gears: Iterable[object], error: Exception | None = None
    ) -> None:
        """The device's parts of a level are over for some rows, or those before the one that failed.

        marks: rows; when a stream was asked for, and taken; the end of each stage's run. gears: of each stage.
        """
        rows, asked, begin, *ends = marks
        wait, *parts = self._levels[depth].device
        self._chrome.slice(wait.node, asked, begin, {"rows": int(rows)})
        if error is not None:
            ends.append(clock())
        for index, (part, gear, end) in enumerate(zip(parts, gears, ends)):
            args: dict[str, object] = {"stage": part.stage, "gear": str(gear), "rows": int(rows)}
            if error is not None and index == len(ends) - 1:
                args["error"] = str(error)
            self._chrome.slice(part.stage, begin, end, args, self._lane(stream))
            self._chrome.count(f"rows of {part.stage}", begin, {"rows": int(rows)})
            begin = end

    def watch(self, stream: int) -> Watch:
        """For a device that tells what it does within a run, as a transfer.

        Each kind has a lane of its own: of a run of several stages, one is transferred while another computes.
        """
        return lambda what, begin, end: self._chrome.slice(what, begin, end, {}, self._lane(stream, f": {what}"))

    def _lane(self, stream: int, of: str = "") -> Lane:
        return stream_lane(stream, f"{self._device}{of}")


def _step(part: Part, number: int) -> dict[str, object]:
    return {"node": part.node, "op": part.op, "line": part.where, "sample": number}
