"""What gepipe means to reach: each claim with its target. Suites give the figures, the page shows both."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """target: the figure is to be at most that, or at least."""

    id: str
    suite: str
    text: str
    target: float
    unit: str
    at_most: bool = False

    def holds(self, figure: float) -> bool:
        return figure <= self.target if self.at_most else figure >= self.target


def _most(id: str, text: str, target: float, unit: str) -> Claim:
    return Claim(id, id.partition(".")[0], text, target, unit, at_most=True)


def _least(id: str, text: str, target: float, unit: str = "x") -> Claim:
    return Claim(id, id.partition(".")[0], text, target, unit)


CLAIMS = {
    claim.id: claim
    for claim in (
        _most("overhead.run", "5 nodes on the null device, `run`: a request", 40, "us"),
        _most("overhead.batch", "the same, `run_batch` of 8: a sample", 15, "us"),
        _most("overhead.submit", "the same, `submit` and wait: a request", 150, "us"),
        _most("chain.resize_first", "1080p array to a small model: time, of the loop that resizes first", 0.5, "x"),
        _most("chain.convert_first", "the same: time, of the loop that converts first", 0.2, "x"),
        _most("chain.blob", "the same: time, of cv2.dnn.blobFromImage", 1.0, "x"),
        _most("peers.mmdeploy", "the same: time, of mmdeploy-runtime", 0.6, "x"),
        _least("light.limit", "light model from JPEG: rate, of the limit", 0.92),
        _least("light.loop", "the same: rate, of the OpenCV loop", 1.8),
        _least("light.pillow", "the same: rate, of the Pillow loop", 2.8),
        _least("light.threads", "the same: rate, of the OpenCV loop in a thread pool", 1.0),
        _least("yolo11.limit", "YOLO11n from JPEG: rate, of the limit", 0.95),
        _least("yolo11.loop", "the same: rate, of the loop with two threads a run", 1.2),
        _least("yolo11.threads", "the same: rate, of the best thread pool", 1.0),
        _most("gears.vit_memory", "ViT-B/16: memory of eight gears, of the largest alone", 1.15, "x"),
        _most("gears.vit_latency", "the same: slowest gear, of a session for that gear alone", 1.03, "x"),
        _most("gears.yolo11_memory", "YOLO11n: memory of eight gears, of the largest alone", 1.15, "x"),
        _most("gears.yolo11_latency", "the same: slowest gear, of a session for that gear alone", 1.03, "x"),
        _least("batching.bound", "64 callers, a + b * n a batch, gears up to 32: rate, of the bound", 0.95),
        _most("batching.wait", "the same: p99 of the wait, of max_delay_us + one batch", 1.0, "x"),
        _least("served.light", "light model served: rate, of the hand-written ensemble", 1.8),
        _least("served.light_in_process", "the same: rate, of in-process", 0.7),
        _least("served.yolo11_in_process", "YOLO11n served: rate, of in-process", 0.85),
        _least("wire.jpeg", "a JPEG of 3600 x 3600 sent as it is: rate, of a client that preprocesses", 5.0),
        _most("map.cost", "`map` over 10,000 samples: time of the second half, of the first", 1.1, "x"),
        _most("map.memory", "the same: resident memory at the end, of that after 500", 1.05, "x"),
        _least("compile.cache", "second compile, from the cache: times faster", 10.0),
        _least("compile.together", "processes that compile the same at once and succeed, of 2", 2, ""),
    )
}
