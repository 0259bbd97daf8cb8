"""Exported examples answer as they do in-process, byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from offline import batch_of
from served import Exported, Served, ask, batch, in_process, on_the_wire

from ops import Array
from pipeline.triton.releases import DEFAULT_TARGET, TARGETS

InferenceServerException = pytest.importorskip("tritonclient.utils").InferenceServerException
pytestmark = [pytest.mark.triton, pytest.mark.weights]
targets = pytest.mark.parametrize("target", TARGETS)
examples = pytest.mark.parametrize("example", ["yolo11", "cnclip"])


def digests(tensors: Mapping[str, Array]) -> dict[str, str]:
    return {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in tensors.items()}


@targets
@examples
@pytest.mark.parametrize("count", range(1, 9))
def test_every_output_of_a_request_has_the_bytes_of_the_in_process_answer(
    target: str, example: str, count: int, exported: Exported
) -> None:
    served: Served = getattr(exported, example)
    got = ask(exported.server(target).url, example, batch(served, range(count)))
    want = on_the_wire(in_process(served, count), got)
    assert len(want) == len(served.plan.graph.outputs) + (example == "yolo11")
    assert digests(got) == digests(want)


def test_nothing_found_is_an_answer_of_zeros(exported: Exported) -> None:
    got = ask(exported.server(DEFAULT_TARGET).url, "yolo11", batch(exported.yolo11, (2, 7)))
    assert got["num_detections"].tolist() == [[0], [0]]
    assert not any(array.any() for array in got.values())


@targets
@examples
def test_each_output_can_be_asked_for_alone(target: str, example: str, exported: Exported) -> None:
    url, tensors = exported.server(target).url, batch(getattr(exported, example), (0, 1))
    together = ask(url, example, tensors)
    for name, array in together.items():
        alone = ask(url, example, tensors, [name])
        assert list(alone) == [name]
        assert alone[name].tobytes() == array.tobytes()


@targets
@examples
def test_16_clients_at_once_get_the_bytes_of_the_in_process_answers(
    target: str, example: str, exported: Exported
) -> None:
    served: Served = getattr(exported, example)
    server = exported.server(target)
    before = batches_of_more_than_one(exported, target, example)
    together = Barrier(16)

    def client(number: int) -> list[dict[str, Array]]:
        together.wait()
        return [ask(server.url, example, batch(served, [(number + turn) % 8])) for turn in range(4)]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(client, range(16)))
    want = [on_the_wire([answer], answers[0][0]) for answer in in_process(served, 8)]
    for number, found in enumerate(answers):
        for turn, got in enumerate(found):
            assert digests(got) == digests(want[(number + turn) % 8])
    assert batches_of_more_than_one(exported, target, example) > before


def batches_of_more_than_one(exported: Exported, target: str, example: str) -> int:
    """How many runs of the device models had more than one sample, since the server started."""
    served: Served = getattr(exported, example)
    models = [f"{example}_1_{stage.name}" for stage in served.plan.stages if stage.on_device]
    statistics = [exported.server(target).rest.statistics(model) for model in models]
    return sum(
        row["compute_infer"]["count"] for one in statistics for row in one["batch_stats"] if row["batch_size"] > 1
    )


def test_of_64_requests_at_once_the_one_with_a_truncated_picture_fails_alone(exported: Exported) -> None:
    url = exported.server(DEFAULT_TARGET).url
    whole = exported.yolo11.samples[0]["image"]
    tensors = [batch_of([{"image": whole if number != 41 else whole[:5000]}], batched=True) for number in range(64)]
    together = Barrier(64)

    def client(number: int) -> dict[str, Array] | Exception:
        together.wait()
        try:
            return ask(url, "yolo11", tensors[number])
        except InferenceServerException as error:
            return error

    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(client, range(64)))
    failed = [number for number, answer in enumerate(answers) if isinstance(answer, InferenceServerException)]
    assert failed == [41]
    assert "in ensemble 'yolo11', pipeline 'yolo11': node 'decode_image' (DecodeImage, " in str(answers[41])
    (want,) = in_process(exported.yolo11, 1)
    for answer in answers:
        if isinstance(answer, dict):
            assert digests(answer) == digests(on_the_wire([want], answer))


def test_a_wrong_input_is_refused_in_the_servers_words(exported: Exported) -> None:
    url = exported.server(DEFAULT_TARGET).url
    with pytest.raises(InferenceServerException, match="batch-size must be <= 8"):
        ask(url, "yolo11", batch(exported.yolo11, [*range(8), 0]))
    with pytest.raises(InferenceServerException, match=r"\[400\].*the data is empty"):
        ask(url, "yolo11", {"image": np.array([[b""]], object)})
