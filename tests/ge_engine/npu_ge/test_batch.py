from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from npu_ge_models import gears, program, table_model, tanh_model

from ge_engine.npu_ge.batch import Batcher, Work
from ops import DeviceError, GepipeError, SpecError

Arrays = dict[str, np.ndarray]


def requests(*counts: int) -> list[Arrays]:
    return [
        {"x": np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)}
        for seed, count in enumerate(counts)
    ]


def ids(*rows: int) -> Arrays:
    return {"ids": np.int64([[0, row, 1] for row in rows])}


def good(answers: list[Arrays | GepipeError]) -> list[Arrays]:
    assert not any(isinstance(answer, GepipeError) for answer in answers)
    return answers  # type: ignore[return-value]


def test_merged_requests_get_their_own_rows(tmp_path: Path) -> None:
    path = tanh_model(tmp_path / "m.onnx")
    batcher = Batcher(program(path, max_batch_size=8, preferred=True))
    asked = requests(2, 1, 3)
    answers = good(batcher.answer(asked))
    together = onnxruntime.InferenceSession(path).run(None, {"x": np.concatenate([r["x"] for r in asked])})[0]
    assert np.concatenate([answer["y"] for answer in answers]).tobytes() == together.tobytes()
    assert [len(answer["y"]) for answer in answers] == [2, 1, 3]
    assert batcher.work == Work(requests=3, failed=0, runs=1, nbytes_in=6 * 8 * 4, nbytes_out=0)


def test_one_request_is_not_copied(tmp_path: Path) -> None:
    batcher = Batcher(program(tanh_model(tmp_path / "m.onnx"), max_batch_size=8, preferred=True))
    good(batcher.answer(requests(5)))
    assert batcher.work == Work(requests=1, failed=0, runs=1, nbytes_in=0, nbytes_out=0)


def test_without_merging_each_request_runs_and_keeps_its_answer(tmp_path: Path) -> None:
    path = tanh_model(tmp_path / "m.onnx")
    batcher = Batcher(program(path, max_batch_size=8))
    asked = requests(2, 1, 3)
    answers = good(batcher.answer(asked))
    plain = onnxruntime.InferenceSession(path)
    for answer, request in zip(answers, asked):
        assert answer["y"].tobytes() == plain.run(None, request)[0].tobytes()
    assert batcher.work == Work(requests=3, failed=0, runs=3, nbytes_in=0, nbytes_out=6 * 4 * 4)


def test_a_failing_request_of_a_merged_batch_fails_alone(tmp_path: Path) -> None:
    batcher = Batcher(program(table_model(tmp_path / "m.onnx"), max_batch_size=8, preferred=True))
    first, second, third = batcher.answer([ids(3), ids(4, 99), ids(5)])
    assert isinstance(second, DeviceError)
    alone = Batcher(program(table_model(tmp_path / "n.onnx"), max_batch_size=8))
    for answer, row in ((first, 3), (third, 5)):
        (expected,) = good(alone.answer([ids(row)]))
        assert isinstance(answer, dict)
        assert answer["y"].tobytes() == expected["y"].tobytes()
    assert (batcher.work.requests, batcher.work.failed, batcher.work.runs) == (3, 1, 2)


def test_fifty_failures_take_nothing_away(tmp_path: Path) -> None:
    batcher = Batcher(program(table_model(tmp_path / "m.onnx"), max_batch_size=4, preferred=True))
    for _ in range(50):
        (answer,) = batcher.answer([ids(99)])
        assert isinstance(answer, DeviceError)
    good(batcher.answer([ids(1), ids(2)]))


def test_a_batch_outside_the_gears_fails_alone(tmp_path: Path) -> None:
    path = tanh_model(tmp_path / "m.onnx")
    batcher = Batcher(program(path, max_batch_size=4, **gears("x:-1,8", "1;2;4")))
    first, second = batcher.answer(requests(3, 2))
    assert isinstance(first, SpecError)
    assert isinstance(second, dict)


def test_the_work_is_told_in_a_line() -> None:
    assert str(Work(4, 1, 2, 4000, 800)) == (
        "4 requests (1 failed) in 2 runs; bytes copied for each: 1000 to merge inputs, 200 to keep outputs"
    )
