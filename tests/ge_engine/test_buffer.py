from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_engine.buffer import ALIGNMENT, Buffer
from ge_engine.gears import Gear
from ops import Counted, DeviceError, TensorSpec

DTYPES = st.sampled_from(["uint8", "float32", "int64", "float16"])
SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)


@given(st.lists(st.tuples(DTYPES, SHAPES), min_size=1, max_size=4), st.integers(1, 5))
def test_tensors_are_aligned_zeroed_and_apart(tensors: list[tuple[str, tuple[int, ...]]], batch: int) -> None:
    specs = [(f"t{i}", TensorSpec(dtype, shape)) for i, (dtype, shape) in enumerate(tensors)]
    buffer = Buffer(specs, Gear(batch))
    assert buffer.nbytes < 1 << 20
    for mark, (name, spec) in enumerate(specs, 1):
        array = buffer.arrays[name]
        assert array.shape == (batch, *spec.shape)
        assert array.ctypes.data % ALIGNMENT == 0
        assert not array.any()
        array.fill(mark)
    assert all((buffer.arrays[name] == mark).all() for mark, (name, _) in enumerate(specs, 1))


def test_a_row_is_a_view_of_the_block() -> None:
    buffer = Buffer([("x", TensorSpec("float32", (3,))), ("n", TensorSpec("int32", (Counted("k", 5),)))], Gear(2))
    buffer.rows[1]["x"][:] = 7
    assert buffer.arrays["x"].tolist() == [[0, 0, 0], [7, 7, 7]]
    assert buffer.arrays["n"].shape == (2, 5)


@pytest.mark.parametrize("batch", [2**31 - 1, 2**62])
def test_a_buffer_larger_than_the_memory_says_how_large(batch: int) -> None:
    with pytest.raises(DeviceError, match=r"no memory for a buffer of [\d,]{20,} bytes") as error:
        Buffer([("x", TensorSpec("float32", (2**31 - 1,)))], Gear(batch))
    assert error.value.fix == "use smaller gears, or fewer streams"
