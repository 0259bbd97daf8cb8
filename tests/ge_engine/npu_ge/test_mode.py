from __future__ import annotations

from collections.abc import Sequence

import pytest

from ge_engine.npu_ge.mode import Mode, mode_of, takes_any_batch
from ge_engine.npu_ge.ports import Port, Ports

NONE = Ports((), ())
Dims = Sequence[Sequence[int]]


def ports(inputs: Dims, outputs: Dims, names: Sequence[str] = ()) -> Ports:
    """names: what each input calls its first dim."""
    firsts = names or ("",) * len(inputs)
    return Ports(
        tuple(
            Port(f"x{i}", "float32", tuple(dims), (first, *("",) * (len(dims) - 1)))
            for i, (dims, first) in enumerate(zip(inputs, firsts))
        ),
        tuple(Port(f"y{i}", "float32", tuple(dims)) for i, dims in enumerate(outputs)),
    )


@pytest.mark.parametrize(
    ("max_batch_size", "config", "mode"),
    [
        (8, ports([[3, 4]], [[5]]), "MAX_BATCH"),
        (8, ports([[3, -1]], [[5]]), "MAX_BATCH"),
        (8, ports([[3, 4]], [[-1]]), "MAX_BATCH_HAVE_UNKNOW_DIM"),
        (0, ports([[1, 4], [2, 4]], [[5, 5]]), "NO_MAX_BATCH_FIRST_NOT_SAME"),
        (0, ports([[1, 4], [-1, 4]], [[5, 5]]), "NO_MAX_BATCH_FIRST_NOT_SAME"),
        (0, ports([[1, 4], [2, 4]], [[-1, 5]]), "NO_MAX_BATCH_FIRST_NOT_SAME_EXIST_NEGATIVE"),
        (0, ports([[-1, 4]], [[-1, 5]]), "NO_MAX_BATCH_FIRST_SAME_NEGATIVE_ONE"),
        (0, ports([[-1, -1]], [[-1, 5]]), "NO_MAX_BATCH_FIRST_SAME_NEGATIVE_ONE"),
        (0, ports([[-1, -1]], [[-1, -1]]), "NO_MAX_BATCH_FIRST_SAME_NEGATIVE_ONE_HAVE_UNKNOW_DIM"),
        (0, ports([[1, 4]], [[1, 5]]), "NO_MAX_BATCH_FIRST_SAME_NOT_NEGATIVE_ONE"),
        (0, ports([[1, -1]], [[1, -1]]), "NO_MAX_BATCH_FIRST_SAME_NOT_NEGATIVE_ONE_HAVE_UNKNOW_DIM"),
        (0, NONE, "TENSOR_ZERO"),
    ],
)
def test_the_mode_is_that_of_the_table(max_batch_size: int, config: Ports, mode: str) -> None:
    assert mode_of(max_batch_size, config, config) is Mode(mode)


def test_a_model_that_is_not_configured_is_sorted_by_its_file() -> None:
    assert mode_of(8, NONE, ports([[-1, 4]], [[-1, 5]])) is Mode.MAX_BATCH
    assert mode_of(8, NONE, ports([[-1, 4]], [[-1, -1]])) is Mode.MAX_BATCH_HAVE_UNKNOW_DIM
    assert mode_of(0, NONE, ports([[1, 4]], [[1, 5]])) is Mode.FIXED_BATCH


def test_first_dims_of_other_names_are_not_the_same() -> None:
    model = ports([[-1, 4], [-1, 4]], [[-1, 5]], names=("rows", "texts"))
    assert mode_of(0, model, model) is Mode.FIRST_NOT_SAME_NEGATIVE
    model = ports([[-1, 4], [-1, 4]], [[-1, 5]], names=("rows", "rows"))
    assert mode_of(0, model, model) is Mode.ANY_BATCH


def test_any_batch_asks_every_input_and_output() -> None:
    assert takes_any_batch(ports([[-1, 4]], [[-1]]))
    assert not takes_any_batch(ports([[-1, 4]], [[1]]))
    assert not takes_any_batch(ports([[-1, 4], [2]], [[-1]]))
