"""Exported pipelines on a real server, and what a client asks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from offline import batch_of
from photos import scene
from weights import ROOT, laid_out

import ops
from ge_engine import Model
from pipeline import Batching, Pipeline, Plan
from pipeline.load import load
from pipeline.triton.server import Server

Array = np.ndarray[Any, np.dtype[Any]]
Sample = Mapping[str, Any]


@dataclass(frozen=True)
class Served:
    """An exported pipeline: its plan, and samples for it."""

    plan: Plan
    samples: tuple[Sample, ...]

    @property
    def name(self) -> str:
        return self.plan.graph.name


@dataclass(frozen=True)
class Exported:
    """Both examples in one repository, and a server of each release on it, started when it is first asked for."""

    root: Path
    yolo11: Served
    cnclip: Served
    server: Callable[[str], Server]


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    root = tmp_path_factory.mktemp("examples") / "models"
    served = Served(_yolo11(), _pictures()), Served(_cnclip(), _pairs())
    for one in served:
        one.plan.export(root, samples=one.samples[:2])
    with ExitStack() as stack:
        yield Exported(root, *served, cache(lambda target: stack.enter_context(Server(root, target=target))))


def ask(url: str, model: str, tensors: Mapping[str, Array], outputs: Sequence[str] = ()) -> dict[str, Array]:
    """The outputs of one request, all or those that are named."""
    import tritonclient.http  # not everywhere that these tests are collected
    from tritonclient.utils import np_to_triton_dtype

    inputs = []
    for name, array in tensors.items():
        inputs.append(tritonclient.http.InferInput(name, array.shape, np_to_triton_dtype(array.dtype)))
        inputs[-1].set_data_from_numpy(array)
    wanted = [tritonclient.http.InferRequestedOutput(name) for name in outputs] or None
    with tritonclient.http.InferenceServerClient(url, network_timeout=120) as client:  # open, it would delay the stop
        result = client.infer(model, inputs, outputs=wanted)
    return {output["name"]: result.as_numpy(output["name"]) for output in result.get_response()["outputs"]}


def batch(served: Served, numbers: Iterable[int]) -> dict[str, Array]:
    """One request of those samples."""
    return batch_of([dict(served.samples[number]) for number in numbers], batched=True)


def in_process(served: Served, count: int) -> list[dict[str, Array]]:
    """The answers to the first samples, run in one batch."""
    with served.plan.session() as session:
        answers = session.run_batch(served.samples[:count])
    assert all(isinstance(answer, dict) for answer in answers), answers
    return answers  # type: ignore[return-value]


def on_the_wire(answers: Sequence[Mapping[str, Array]], got: Mapping[str, Array]) -> dict[str, Array]:
    """Answers as a server sends them: one block an output, the counted ones padded with zeros, and their count."""
    wire = {name: np.zeros(array.shape, array.dtype) for name, array in got.items()}
    for row, answer in enumerate(answers):
        for name, value in answer.items():
            if name in wire:
                wire[name][row][: len(value)] = value
        if "num_detections" in wire:
            wire["num_detections"][row] = len(answer["boxes"])
    return wire


def _yolo11() -> Plan:
    """The example at 320 x 320: a quarter of the work."""
    weights = laid_out("examples/yolo11/weights/yolo11n.onnx")
    pipeline = Pipeline("yolo11")
    pixels = ops.DecodeImage(color="RGB")(pipeline.input("image", ops.ENCODED_IMAGE))
    image, transform = ops.Letterbox(height=320, width=320)(pixels)
    x = ops.Normalize(mean=(0, 0, 0), std=(1, 1, 1))(image)
    boxes, scores, classes = ops.YoloBoxes(conf_threshold=0.25, iou_threshold=0.45)(Model(weights)(x), transform)
    pipeline.output(boxes=boxes, scores=scores, classes=classes)
    return pipeline.compile(gears=(1, 2, 4, 8), streams=2, batching=Batching(max_delay_us=2000))


def _cnclip() -> Plan:
    graph = load(str(ROOT / "examples/cnclip/graph.py"))
    return graph.compile(gears=(1, 2, 4, 8), batching=Batching(max_delay_us=2000))


def _pictures() -> tuple[Sample, ...]:
    """Eight; the third and the last have nothing on them."""
    empty = cv2.imencode(".png", np.full((90, 120, 3), 128, np.uint8))[1].tobytes()
    made = [cv2.imencode(".jpg", scene(200 + 10 * seed, 300, seed))[1].tobytes() for seed in range(3)]
    bus, zidane = (laid_out(f"examples/yolo11/weights/{name}.jpg").read_bytes() for name in ("bus", "zidane"))
    return tuple({"image": data} for data in (bus, zidane, empty, *made, bus, empty))


def _pairs() -> tuple[Sample, ...]:
    sentences = ("一只猫", "一杯咖啡", "摩托车", "", "火箭发射", "a cat", "网页", "公共汽车")
    return tuple({**picture, "text": text} for picture, text in zip(_pictures(), sentences))
