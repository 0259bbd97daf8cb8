from __future__ import annotations

import pytest

from pipeline.triton.config import parse
from pipeline.triton.differences import differences

X = 'input { name: "x" data_type: TYPE_FP32 dims: [ 8 ] }'
Y = 'output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }'
OLD = f"max_batch_size: 4 {X} {Y}"


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (OLD, []),
        (f"max_batch_size: 8 {X} {Y}", []),
        (f"max_batch_size: 2 {X} {Y}", ["max_batch_size was 4, is only 2"]),
        (f"{X} {Y}", ["max_batch_size was 4, is 0"]),
        (f"max_batch_size: 4 {X}", ["output 'y' is gone"]),
        (f"max_batch_size: 4 {Y}", ["input 'x' is gone"]),
        (OLD + X.replace('"x"', '"mask"'), ["input 'mask' is new"]),
        (OLD + Y.replace('"y"', '"z"'), []),  # a client may leave it out
        (OLD.replace("FP32 dims: [ 8", "INT8 dims: [ 8"), ["input 'x' was TYPE_FP32[8], is TYPE_INT8[8]"]),
        (OLD.replace("[ 4 ]", "[ 4, 1 ]"), ["output 'y' was TYPE_FP32[4], is TYPE_FP32[4,1]"]),
    ],
)
def test_what_a_client_would_stumble_over_is_said(new: str, said: list[str]) -> None:
    assert differences(parse(OLD), parse(new)) == said
