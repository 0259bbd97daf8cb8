from __future__ import annotations

from typing import Any

from ge_engine.npu_ge.known import Known
from ge_engine.npu_ge.options import Options
from ge_engine.npu_ge.ports import Port, Ports

X, Y = Port("x", "float32", (-1, 4), ("batch", "")), Port("y", "float32", (-1, 2), ("batch", ""))


def known(batch: int, x: list[int], y: list[int], preferred: tuple[int, ...] = (), static: bool = False) -> Known:
    config: dict[str, Any] = {
        "name": "m",
        "max_batch_size": batch,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": x}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": y}],
        "dynamic_batching": {"preferred_batch_size": list(preferred)},
    }
    return Known.of(config, Ports((X,), (Y,)), Options(static_model=static))


def test_requests_are_merged_with_preferred_sizes_and_fixed_outputs_only() -> None:
    assert known(8, [4], [2], preferred=(4,)).combines
    assert not known(8, [4], [2]).combines
    assert not known(8, [4], [-1], preferred=(4,)).combines
    assert not known(0, [-1, 4], [-1, 2], preferred=(4,)).combines


def test_a_graph_whose_dims_are_all_written_is_static_by_itself() -> None:
    assert known(0, [2, 4], [2, 2]).fixed
    assert not known(0, [-1, 4], [-1, 2]).fixed
    assert not known(8, [4], [2]).fixed


def test_a_static_graph_of_a_batch_runs_row_by_row() -> None:
    assert known(8, [4], [2], static=True).row_by_row
    assert known(0, [-1, 4], [-1, 2], static=True).row_by_row
    assert not known(0, [2, 4], [2, 2]).row_by_row
    assert not known(8, [4], [2]).row_by_row
