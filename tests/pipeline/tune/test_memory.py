from __future__ import annotations

from pathlib import Path

import tiny

from pipeline.tune.memory import Memory


def test_weights_are_counted_once_and_a_sample_by_what_goes_in_and_out(tmp_path: Path) -> None:
    memory = Memory.of(tiny.vector_pipeline(tmp_path).compile(gears=(1, 2, 4)))
    assert memory == Memory(weights={"dense": 8 * 4 * 4}, sample=8 * 4 + 4 * 4)


def test_npu_ge_has_a_copy_for_each_stream_where_there_are_gears() -> None:
    memory = Memory(weights={"vit": 1000, "bert": 100}, sample=10)
    assert memory.weights_on_npu(streams=8, num_gears={"vit": 4, "bert": 2}) == 8800
    assert memory.weights_on_npu(streams=8, num_gears={"vit": 4, "bert": 1}) == 8100


def test_buffers_are_those_of_a_session() -> None:
    assert Memory(weights={}, sample=10).buffers(streams=2, largest=8) == (3 + 4) * 8 * 10
